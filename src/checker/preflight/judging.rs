//! What all containers are judged with.

use super::super::facts::ImageFacts;
use super::super::request::ImageRequest;
use super::super::state::Checker;
use super::super::subject::Subject;
use super::schedule::Schedule;
use crate::error::Result;
use crate::targets::nodes::NodeClass;
use crate::workload::{Container, Workload};

/// A container by the position of its workload and its own.
pub(super) type Place = (usize, usize);

/// Hands over the image of a reference for an architecture, which is empty for the default.
pub(crate) type ReadImage<'r> = dyn Fn(&str, &str) -> Result<(ImageFacts, Subject)> + Sync + 'r;

/// What all containers are judged with.
pub(super) struct Judging<'j> {
    pub checker: &'j Checker,
    /// Limits, cancellation and day.
    pub settings: &'j ImageRequest,
    pub read: &'j ReadImage<'j>,
    /// The classes of the cluster; `None` if no nodes are known.
    pub classes: Option<&'j [NodeClass]>,
    pub workloads: &'j [Workload],
    /// Whether findings point at lines of manifests. What a cluster is asked to store has none.
    pub locates: bool,
}

impl Judging<'_> {
    pub fn container(&self, (workload, index): Place) -> &Container {
        &self.workloads[workload].containers[index]
    }

    /// The classes that the scheduler may choose.
    pub fn schedule(&self, container: &Container) -> Option<Schedule<'_>> {
        self.classes.map(|classes| Schedule::of(container, classes))
    }
}
