//! The machines that the images must run on, as the command line gives them.

use clap::Args;

use crate::error::Result;
use crate::targets::{Misread, Target};

/// One target: all its GPUs have the same driver. Several are for the configuration file.
#[derive(Debug, Args)]
pub struct TargetArguments {
    /// A GPU that the image must run on, as nvidia-smi names it or by its architecture: h100, "rtx 4090", sm_90, 9.0; several
    /// with commas or by repeating the option
    #[arg(long, value_name = "GPU", env = "IMGCHECK_GPU", value_delimiter = ',')]
    gpu: Vec<String>,
    /// The driver of the machines that the image must run on, as nvidia-smi prints it: 535.183.06
    #[arg(long, value_name = "VERSION", env = "IMGCHECK_DRIVER")]
    driver: Option<String>,
}

impl TargetArguments {
    /// The target that is asked for; none if neither GPU nor driver is named.
    ///
    /// # Errors
    /// A GPU is not known, or the driver is no version; with what was probably meant.
    pub fn targets(&self) -> Result<Vec<Target>> {
        if self.gpu.is_empty() && self.driver.is_none() {
            return Ok(Vec::new());
        }
        let target = Target {
            name: String::new(),
            gpus: self.gpu.clone(),
            driver: self.driver.clone(),
        };
        target.check().map_err(Misread::usage)?;
        Ok(vec![target])
    }
}
