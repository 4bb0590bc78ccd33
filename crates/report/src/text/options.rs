//! What of a report the text for people shows.

use crate::{ImageReport, Verdict};
use imgcheck_model::finding::{Finding, Severity};

/// How much the text shows.
///
/// ```
/// assert_eq!(imgcheck::TextLevel::default(), imgcheck::TextLevel::Normal);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextLevel {
    /// Only problems: what does not pass, and its findings.
    Quiet,
    /// What is claimed and found, the findings and gaps.
    #[default]
    Normal,
    /// Also why: each claim, all evidence, ignored findings, rules that lack a fact.
    Verbose,
}

/// What the text of a report shows. It changes neither verdicts nor other formats.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
/// use imgcheck::{Checker, ImageRequest, TextLevel, TextOptions};
///
/// let checker = Checker::builder().build()?;
/// let honest = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
/// let report = checker.check(&[ImageRequest::new(honest)]);
/// let options = TextOptions { level: TextLevel::Quiet, ..TextOptions::default() };
/// assert_eq!(report.text(&options), "");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct TextOptions {
    /// Width of the terminal in columns; without it no line is wrapped.
    pub width: Option<u16>,
    /// How much is shown.
    pub level: TextLevel,
    /// The least severity of the findings that are shown: by default, if the level is quiet, a warning or what fails; or else a note.
    pub severity: Option<Severity>,
}

impl TextOptions {
    /// The default for a terminal of this width.
    pub fn wide(width: Option<u16>) -> Self {
        TextOptions {
            width,
            ..TextOptions::default()
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.level == TextLevel::Quiet
    }

    pub(super) fn is_verbose(&self) -> bool {
        self.level == TextLevel::Verbose
    }

    /// The findings that are shown.
    pub(super) fn shown<'f>(&self, findings: &'f [Finding]) -> impl Iterator<Item = &'f Finding> {
        let least = self.least();
        findings.iter().filter(move |it| it.severity >= least)
    }

    /// Whether an image or file is shown at all.
    pub(super) fn shows(&self, verdict: Verdict, findings: &[Finding]) -> bool {
        !self.is_quiet() || verdict != Verdict::Pass || self.shown(findings).next().is_some()
    }

    /// How many findings are not shown.
    pub(super) fn hidden(&self, image: &ImageReport) -> usize {
        image.findings.len() - self.shown(&image.findings).count()
    }

    fn least(&self) -> Severity {
        let default = match self.is_quiet() {
            true => Severity::Warning,
            false => Severity::Note,
        };
        self.severity.unwrap_or(default)
    }
}
