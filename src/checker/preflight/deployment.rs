//! Judges one object that a cluster is asked to store, from facts that the caller has.

use std::slice;

use chrono::NaiveDate;

use super::super::report::Report;
use super::super::request::ImageRequest;
use super::super::state::Checker;
use super::judging::{Judging, ReadImage, schedules};
use super::schedule::Schedule;
use crate::cancellation::Cancellation;
use crate::targets::nodes::NodeClass;
use crate::workload::{Container, Workload};

/// An object, and what is judged with it.
pub(crate) struct Deployment<'d> {
    /// Its containers.
    pub workload: &'d Workload,
    /// The classes of nodes; `None` if no nodes are known.
    pub classes: Option<&'d [NodeClass]>,
    /// The day that decides whether an ignore has expired.
    pub day: NaiveDate,
    /// Ends the judgement early.
    pub cancellation: Cancellation,
}

/// What of these classes decides how a container is judged, as a digest.
pub(crate) fn schedule_digest(container: &Container, classes: &[NodeClass]) -> String {
    Schedule::of(container, classes).digest()
}

impl Checker {
    /// Judges an object as [`preflight`](Self::preflight) does. `read` hands over the images.
    pub(crate) fn deployed(&self, deployment: &Deployment, read: &ReadImage) -> Report {
        let mut report = Report::new(self);
        report.is_preflight = true;
        let settings = ImageRequest::new("")
            .day(deployment.day)
            .cancellation(deployment.cancellation.clone());
        let workloads = slice::from_ref(deployment.workload);
        let judging = Judging {
            checker: self,
            settings: &settings,
            read,
            workloads,
            schedules: deployment.classes.map(|it| schedules(workloads, it)),
            locates: false,
        };
        judging.report(&mut report);
        report
    }
}
