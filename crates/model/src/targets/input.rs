//! What of an image decides where it runs.

use crate::process::LoaderFacts;
use crate::stack::{self, Component, ContainerToolkit, DriverFloor};
use imgcheck_elf::Depth;

/// The facts of an image that decide.
#[derive(Debug, Clone, Copy)]
pub struct TargetInput<'i> {
    /// How much of each file was read.
    pub depth: Depth,
    /// GPU code of its files.
    pub gpu: &'i stack::Gpu,
    /// The loader model of the image.
    pub loader: Option<&'i LoaderFacts>,
    /// The components of the image.
    pub stack: &'i [Component],
    /// The driver that it requires.
    pub driver: Option<&'i DriverFloor>,
    /// What it requests from the container toolkit; `None` if that is unknown.
    pub toolkit: Option<&'i ContainerToolkit>,
}
