//! What the report of a workload says.

use super::{ContainerReport, FileReport, Verdict, WorkloadReport};
use imgcheck_lint::workload::Workload;
use imgcheck_model::finding::{Finding, IgnoredFinding, Severity};

impl WorkloadReport {
    /// The report of containers that were judged, without gaps.
    pub fn of(workload: &Workload, containers: Vec<ContainerReport>) -> Self {
        WorkloadReport {
            file: workload.file.clone(),
            kind: workload.kind.clone(),
            namespace: workload.namespace.clone(),
            name: workload.name.clone(),
            title: workload.title(),
            containers,
            gaps: Vec::new(),
            acknowledged: Vec::new(),
            verdict: Verdict::Pass,
        }
    }

    /// What could not be judged, as a file with gaps, for formats that know images and files only; `None` without gaps.
    pub fn as_file(&self) -> Option<FileReport> {
        (!self.gaps.is_empty()).then(|| FileReport {
            file: format!("{} ({})", self.title, self.file),
            kind: String::new(),
            verdict: self.verdict,
            findings: Vec::new(),
            ignored: Vec::new(),
            gaps: self.gaps.clone(),
        })
    }
}

impl ContainerReport {
    /// The findings that count, the worst first.
    pub fn findings(&self) -> &[Finding] {
        match &self.judged {
            Some(image) => &image.findings,
            None => &self.findings,
        }
    }

    /// The findings that the configuration or the baseline suppresses.
    pub fn ignored(&self) -> &[IgnoredFinding] {
        match &self.judged {
            Some(image) => &image.ignored,
            None => &self.ignored,
        }
    }

    /// The verdict; an image that could not be read has not passed.
    pub fn verdict(&self, fail_on: Option<Severity>) -> Verdict {
        match &self.judged {
            Some(image) => image.verdict,
            None => Verdict::of(&self.findings, fail_on).max(Verdict::Incomplete),
        }
    }

    /// The container as a file with findings, for formats that know images and files only.
    pub fn as_file(&self) -> FileReport {
        FileReport {
            file: self.title.clone(),
            kind: String::new(),
            verdict: Verdict::Incomplete,
            findings: self.findings.clone(),
            ignored: self.ignored.clone(),
            gaps: Vec::new(),
        }
    }
}
