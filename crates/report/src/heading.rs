//! The word above the findings of an image or file.

use imgcheck_model::finding::Severity;

use super::{FileReport, Subject, Verdict};

impl FileReport {
    /// The word above its findings: that of its verdict. The configuration passes no check, so its heading is the severity of its worst finding.
    pub fn heading(&self) -> &'static str {
        let is_configuration = self.kind.is_empty() && self.verdict == Verdict::Pass;
        let worst = self.findings.iter().map(|it| it.severity).max();
        match worst.filter(|_| is_configuration) {
            Some(Severity::Warning) => "WARNING",
            Some(Severity::Note) => "NOTE",
            Some(Severity::Error) | None => self.verdict.above(&self.findings),
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
