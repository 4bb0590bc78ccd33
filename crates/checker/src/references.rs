//! What references promise; no image is needed.

use chrono::NaiveDate;

use super::analyze::parsed_reference;
use super::report::Report;
use super::state::Checker;
use imgcheck_base::error::Result;
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_lint::lint::FileKind;
use imgcheck_model::finding::Severity;
use imgcheck_report::{ReferenceReport, one_line};
use imgcheck_rules::rules::{Facts, TypedName};

impl Checker {
    /// Reads what references promise, and judges the promises: whether such an image was ever published, whether its versions go
    /// together. No image is read. A text that is not a reference has an error in its report.
    ///
    /// ```
    /// # fn main() -> imgcheck::Result<()> {
    /// use imgcheck::{Checker, Day};
    ///
    /// let checker = Checker::builder().build()?;
    /// let day = Day::from_ymd_opt(2026, 11, 22).unwrap();
    /// let report = checker.claims(&["pytorch/pytorch:2.8.0-cuda11.8-cudnn9-runtime"], day)?;
    /// let claims = &report.references[0].claims;
    /// assert!(claims.iter().any(|claim| claim.subject == "cuda" && claim.version == "11.8"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A rule of the user cannot be evaluated.
    pub fn claims<S: AsRef<str>>(&self, references: &[S], day: NaiveDate) -> Result<Report> {
        let mut report = Report::new(self);
        for written in references {
            let written = written.as_ref();
            // skopeo and Singularity write a reference like this.
            let reference = written.strip_prefix("docker://").unwrap_or(written);
            let read = self.reference(reference)?;
            let judged = self.policy.apply(read.findings, written, day);
            report.references.push(ReferenceReport {
                reference: written.to_owned(),
                findings: judged.findings,
                ignored: judged.ignored,
                ..read
            });
        }
        Ok(report)
    }

    /// One reference, without policy.
    pub(crate) fn reference(&self, reference: &str) -> Result<ReferenceReport> {
        let (claims, error) = match self.knowledge.grammar.claims(reference) {
            Ok(claims) => (claims, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let findings = match error {
            None => {
                let image = parsed_reference(Some(reference));
                let facts = Facts {
                    typed: TypedName::of_reference(reference),
                    ..Facts::of_reference(image, claims.clone())
                };
                self.rules.evaluate(&facts, &self.limits.into())?
            }
            Some(_) => Vec::new(),
        };
        Ok(ReferenceReport {
            reference: reference.to_owned(),
            claims,
            findings,
            ignored: Vec::new(),
            error,
        })
    }

    /// Advice on the images that could not be read: that such a tag was never published, and which were; that a file is one for
    /// [`lint`](Self::lint). Each is a text for a terminal.
    pub fn advice(&self, report: &Report) -> Vec<String> {
        let requests = report.errors.iter().filter_map(|it| it.request.as_ref());
        requests
            .filter_map(|it| self.advice_on(&it.target))
            .collect()
    }

    fn advice_on(&self, target: &ImageReference) -> Option<String> {
        match target {
            ImageReference::Path(path) => {
                let path = one_line(&path.display().to_string());
                FileKind::of_name(&path)?;
                Some(format!(
                    "this looks like a file that images are built from; check it with: imgcheck lint {path}\n"
                ))
            }
            ImageReference::Reference(reference) | ImageReference::Remote(_, reference) => {
                let read = self.reference(reference).ok()?;
                let is_wrong = read.findings.iter().any(|it| it.severity > Severity::Note);
                is_wrong.then(|| imgcheck_report::text::claims(&[read], None))
            }
            _ => None,
        }
    }
}
