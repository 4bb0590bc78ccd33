//! Judges one object of an admission request, from facts that the caller provides.

use std::slice;
use std::sync::Arc;

use chrono::NaiveDate;

use super::super::report::Report;
use super::super::request::ImageRequest;
use super::super::state::Checker;
use super::judging::{Judging, ReadImage};
use super::schedule::Schedule;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_lint::workload::Workload;

/// An object, and what is judged with it.
pub struct Deployment<'d> {
    /// The containers of the object.
    pub workload: &'d Workload,
    /// What the scheduler may choose for each container; `None` if no nodes are known.
    pub schedules: Option<Vec<Arc<Schedule>>>,
    /// The day that decides whether an ignore has expired.
    pub day: NaiveDate,
    /// Ends the judgement early.
    pub cancellation: Cancellation,
}

impl Checker {
    /// Judges an object as [`preflight`](Self::preflight) does. `read` hands over the images.
    pub fn deployed(&self, deployment: Deployment, read: &ReadImage) -> Report {
        let mut report = Report::new(self);
        report.is_preflight = true;
        let settings = ImageRequest::new("")
            .day(deployment.day)
            .cancellation(deployment.cancellation);
        let workloads = slice::from_ref(deployment.workload);
        let judging = Judging {
            checker: self,
            settings: &settings,
            read,
            workloads,
            schedules: deployment.schedules.map(|it| vec![it]),
            locates: false,
        };
        judging.report(&mut report);
        report
    }
}
