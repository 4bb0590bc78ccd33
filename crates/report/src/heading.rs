//! The word above the findings of an image or file.

use imgcheck_model::finding::Severity;

use super::{ContainerReport, FileReport, Subject, Verdict, WARNING};

impl FileReport {
    /// The word above its findings: that of its verdict. The configuration passes no check, so its heading is the severity of its worst finding.
    pub fn heading(&self) -> &'static str {
        let is_configuration = self.kind.is_empty() && self.verdict == Verdict::Pass;
        let worst = self.findings.iter().map(|it| it.severity).max();
        match worst.filter(|_| is_configuration) {
            Some(Severity::Warning) => WARNING,
            Some(Severity::Note) => "NOTE",
            Some(Severity::Error) | None => self.verdict.above(&self.findings),
        }
    }
}

impl ContainerReport {
    /// The word above its findings: no pass if the scheduler can choose none of the nodes.
    pub fn heading(&self, fail_on: Option<Severity>) -> &'static str {
        let verdict = self.verdict(fail_on);
        match verdict.above(self.findings()) {
            "PASS" if self.knows_nodes && self.classes.is_empty() => WARNING,
            heading => heading,
        }
    }
}

impl Subject<'_> {
    /// The word above its findings.
    pub fn heading(&self) -> &'static str {
        match self {
            Subject::Image(image) => image.verdict.above(&image.findings),
            Subject::File(file) => file.heading(),
        }
    }
}
