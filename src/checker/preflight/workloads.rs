//! Judges all workloads.

use std::collections::BTreeSet;
use std::convert::Infallible;

use super::super::report::Report;
use super::judging::Judging;
use crate::parallel;
use crate::report::WorkloadReport;

impl Judging<'_> {
    /// Reads the images of all workloads, and judges these. Returns the indexes of the ignores that findings matched.
    pub fn report(&self, report: &mut Report) -> BTreeSet<usize> {
        let analyzed = self.analyze();
        let judge = |at: usize| Ok::<_, Infallible>(self.judge(at, &analyzed));
        let Ok(judged) = parallel::map(parallel::cores(), self.workloads.len(), judge);
        let mut used_ignores = BTreeSet::new();
        for (workload, containers) in self.workloads.iter().zip(judged) {
            let mut reports = Vec::new();
            for container in containers {
                used_ignores.extend(container.used);
                report.errors.extend(container.error);
                reports.push(container.report);
            }
            report.workloads.push(WorkloadReport::of(workload, reports));
        }
        report.errors.extend(analyzed.into_errors());
        used_ignores
    }
}
