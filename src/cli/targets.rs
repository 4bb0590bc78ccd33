//! The machines that the images must run on, as the command line gives them.

use clap::Args;

use imgcheck::internals::error::{Error, Result};
use imgcheck::internals::targets::Target;

/// One target, whose GPUs all have the same driver; it stands above those of the configuration file.
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
    /// Puts what is asked for above the targets of the configuration: GPUs in place of all of them, and a driver alone in place of
    /// the driver of each, so that their GPUs are still judged.
    ///
    /// # Errors
    /// A GPU is not known, or the driver is no version; with what was probably meant.
    pub fn put_above(&self, targets: &mut Vec<Target>) -> Result<()> {
        if self.gpu.is_empty() && self.driver.is_none() {
            return Ok(());
        }
        let asked = Target {
            name: String::new(),
            gpus: self.gpu.clone(),
            driver: self.driver.clone(),
        };
        asked.check().map_err(Error::misread)?;
        if self.gpu.is_empty() && !targets.is_empty() {
            for target in targets {
                target.driver.clone_from(&self.driver);
            }
        } else {
            *targets = vec![asked];
        }
        Ok(())
    }
}
