//! What all containers are judged with.

use std::sync::Arc;

use super::super::facts::ImageFacts;
use super::super::request::ImageRequest;
use super::super::state::Checker;
use super::super::subject::Subject;
use super::schedule::Schedule;
use imgcheck_base::error::Result;
use imgcheck_lint::workload::{Container, Workload};
use imgcheck_model::targets::nodes::NodeClass;

/// A container by the position of its workload and its own.
pub(super) type Place = (usize, usize);

/// Hands over the image of a reference for an architecture, which is empty for the default.
pub type ReadImage<'r> = dyn Fn(&str, &str) -> Result<(ImageFacts, Subject)> + Sync + 'r;

/// What the scheduler may choose, for each container of each workload.
pub(super) type Schedules = Vec<Vec<Arc<Schedule>>>;

/// What the scheduler may choose of some classes for the containers of workloads.
pub(super) fn schedules(workloads: &[Workload], classes: &[Arc<NodeClass>]) -> Schedules {
    let of = |it: &Workload| {
        let containers = it.containers.iter();
        let schedules = containers.map(|it| Schedule::of(it, classes));
        schedules.map(Arc::new).collect()
    };
    workloads.iter().map(of).collect()
}

/// What all containers are judged with.
pub(super) struct Judging<'j> {
    pub checker: &'j Checker,
    /// Limits, cancellation and day.
    pub settings: &'j ImageRequest,
    pub read: &'j ReadImage<'j>,
    pub workloads: &'j [Workload],
    /// What the scheduler may choose for each container; `None` if no nodes are known.
    pub schedules: Option<Schedules>,
    /// Whether findings point at lines of manifests. What a cluster is asked to store has none.
    pub locates: bool,
}

impl Judging<'_> {
    pub fn container(&self, (workload, index): Place) -> &Container {
        &self.workloads[workload].containers[index]
    }

    /// The classes that the scheduler may choose; `None` if no nodes are known.
    pub fn schedule(&self, (workload, index): Place) -> Option<&Schedule> {
        Some(&self.schedules.as_ref()?[workload][index])
    }
}
