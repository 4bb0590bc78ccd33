//! What an image needs of a machine: GPUs, driver, architecture.

mod kubernetes;
mod needs;
mod nfd;
mod runpod;
mod skypilot;
mod slurm;
mod text;

pub use kubernetes::kubernetes;
pub(crate) use needs::Requirements;
pub use nfd::nfd;
pub use runpod::runpod;
pub use skypilot::skypilot;
pub use slurm::slurm;
pub use text::text;
