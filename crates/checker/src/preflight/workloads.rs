//! Judges all workloads.

use std::collections::BTreeSet;
use std::convert::Infallible;

use super::super::report::Report;
use super::judging::Judging;
use super::not_understood;
use imgcheck_base::parallel;
use imgcheck_lint::workload::Workload;
use imgcheck_report::{Verdict, WorkloadReport};

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
            let mut judged = WorkloadReport::of(workload, reports);
            used_ignores.extend(self.add_gaps(workload, &mut judged));
            report.workloads.push(judged);
        }
        report.errors.extend(analyzed.into_errors());
        used_ignores
    }

    /// Names what was not understood. Returns the indexes of the ignores that acknowledge it.
    fn add_gaps(&self, workload: &Workload, report: &mut WorkloadReport) -> BTreeSet<usize> {
        let policy = &self.checker.policy;
        let day = self.settings.day;
        let gaps = not_understood::gaps(workload);
        let coverage = policy.acknowledge(&gaps, &workload.file, day);
        report.verdict = Verdict::Pass.unless_incomplete(&coverage.gaps, policy.strict);
        report.gaps = coverage.gaps;
        report.acknowledged = coverage.acknowledged;
        coverage.used
    }
}
