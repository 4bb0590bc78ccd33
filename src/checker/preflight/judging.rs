//! What all containers are judged with.

use std::collections::BTreeMap;

use super::super::state::Checker;
use super::request::PreflightRequest;
use super::schedule::Schedule;
use crate::targets::nodes::NodeClass;
use crate::workload::{Container, Workload};

/// A container by the position of its workload and its own.
pub(super) type Place = (usize, usize);

/// What all containers are judged with.
pub(super) struct Judging<'j> {
    pub checker: &'j Checker,
    pub request: &'j PreflightRequest,
    /// Sources of images by reference.
    pub sources: &'j BTreeMap<String, String>,
    /// The classes of the cluster; `None` if no nodes are known.
    pub classes: Option<&'j [NodeClass]>,
    pub workloads: &'j [Workload],
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
