//! The machines that the images must run on, as the command line gives them.

use clap::Args;

use crate::error::Result;
use crate::targets::{Misread, Target};

/// One target, in place of those of the configuration file: all its GPUs have the same driver.
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
    /// Puts the target that is asked for in place of those of the configuration; if neither GPU nor driver is named, they stay.
    ///
    /// # Errors
    /// A GPU is not known, or the driver is no version; with what was probably meant.
    pub fn replace(&self, targets: &mut Vec<Target>) -> Result<()> {
        if self.gpu.is_empty() && self.driver.is_none() {
            return Ok(());
        }
        let target = Target {
            name: String::new(),
            gpus: self.gpu.clone(),
            driver: self.driver.clone(),
        };
        target.check().map_err(Misread::usage)?;
        *targets = vec![target];
        Ok(())
    }
}
