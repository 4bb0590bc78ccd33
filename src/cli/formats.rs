//! The formats of a report, in one place: their names, and how each is rendered.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::ser::Error as _;

use super::output::{self, OutputArguments, ReportFormat};
use imgcheck::internals::error::Result;
use imgcheck::internals::finding::Severity;
use imgcheck::internals::report::{self, Inspection, Report, UnreadImage, one_line};

/// A format of the report of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// For people
    Text,
    /// For programs: everything
    Json,
    /// SARIF 2.1.0, for GitHub code scanning and editors
    Sarif,
    /// JUnit XML, for the test reports of CI systems
    Junit,
    /// Annotations of GitHub Actions, and the step's summary
    Github,
    /// Code quality report of GitLab
    Gitlab,
    /// A comment on a pull request
    Markdown,
    /// CycloneDX 1.6: the GPU stack as a bill of materials
    Cyclonedx,
    /// A page for people, with the loader's graph as a picture
    Html,
}

impl Renders for CheckFormat {
    fn kind(self) -> CheckFormat {
        self
    }

    fn json(report: &Report) -> serde_json::Result<String> {
        report::json::report(report)
    }
}

/// A format of the report of a lint: files have findings, but no parts to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LintFormat(CheckFormat);

impl ValueEnum for LintFormat {
    fn value_variants<'v>() -> &'v [Self] {
        &[
            LintFormat(CheckFormat::Text),
            LintFormat(CheckFormat::Json),
            LintFormat(CheckFormat::Sarif),
            LintFormat(CheckFormat::Junit),
            LintFormat(CheckFormat::Github),
            LintFormat(CheckFormat::Gitlab),
            LintFormat(CheckFormat::Markdown),
            LintFormat(CheckFormat::Html),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        self.0.to_possible_value()
    }
}

impl Renders for LintFormat {
    fn kind(self) -> CheckFormat {
        self.0
    }

    fn json(report: &Report) -> serde_json::Result<String> {
        report::json::lint(report)
    }
}

/// A format that a whole [`Report`] can be written in. Those of a lint are those of a check, but for the document in JSON.
pub trait Renders: ReportFormat {
    /// Which one it is.
    fn kind(self) -> CheckFormat;

    /// The report in JSON.
    ///
    /// # Errors
    /// None that the data can cause.
    fn json(report: &Report) -> serde_json::Result<String>;
}

/// A report in a format. `width` is the terminal's, in columns; `fail_on` the least severity that fails.
fn render<F: Renders>(
    format: F,
    report: &Report,
    width: Option<u16>,
    fail_on: Option<Severity>,
) -> serde_json::Result<String> {
    match format.kind() {
        CheckFormat::Text => Ok(report::text::report(report, width)),
        CheckFormat::Json => F::json(report),
        CheckFormat::Sarif => report::sarif::report(report),
        CheckFormat::Junit => {
            report::junit::report(report, fail_on).map_err(serde_json::Error::custom)
        }
        CheckFormat::Github => Ok(report::github::report(report)),
        CheckFormat::Gitlab => report::gitlab::report(report),
        CheckFormat::Markdown => Ok(report::markdown::report(report)),
        CheckFormat::Cyclonedx => {
            let facts = report.images.iter().map(|image| &image.facts);
            report::cyclonedx::report(facts, report.errors)
        }
        CheckFormat::Html => report::html::page(report).map_err(serde_json::Error::custom),
    }
}

/// A format of the facts of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FactsFormat {
    /// For people
    Text,
    /// For programs: everything
    Json,
    /// CycloneDX 1.6: the GPU stack as a bill of materials
    Cyclonedx,
}

impl FactsFormat {
    /// The facts in this format.
    ///
    /// # Errors
    /// None that the data can cause.
    pub fn render(
        self,
        images: &[Inspection],
        errors: &[UnreadImage],
        width: Option<u16>,
    ) -> serde_json::Result<String> {
        match self {
            FactsFormat::Text => Ok(report::text::facts(images, width)),
            FactsFormat::Json => report::json::facts(images, errors),
            FactsFormat::Cyclonedx => report::cyclonedx::report(images.iter(), errors),
        }
    }
}

/// Writes a report wherever the arguments say, in each format that they name; with `--format github` within GitHub Actions
/// the step's summary, too.
///
/// # Errors
/// As [`output::write`].
pub fn write<F: Renders>(
    arguments: &OutputArguments<F>,
    report: &Report,
    fail_on: Option<Severity>,
) -> Result<()> {
    output::write(arguments, |format: F| {
        render(format, report, arguments.width(), fail_on)
    })?;
    let printed = arguments.printed().map(Renders::kind);
    if printed == Some(CheckFormat::Github)
        && let Some(summary) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|it| !it.is_empty())
    {
        append_summary(Path::new(&summary), &report::markdown::report(report));
    }
    Ok(())
}

/// The most that GitHub takes of one step, in bytes; it refuses a longer summary as a whole.
const LONGEST_SUMMARY: u64 = 1024 * 1024;

/// A summary that cannot be written is worth a remark, but no failure: the verdict does not depend on it.
fn append_summary(path: &Path, text: &str) {
    let length = fs::metadata(path).map_or(0, |data| data.len());
    let written = match length + text.len() as u64 > LONGEST_SUMMARY {
        true => Err("it would be longer than the 1 MiB that GitHub takes".to_owned()),
        false => OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| error.to_string()),
    };
    if let Err(problem) = written {
        let path = one_line(&path.display().to_string());
        output::remark(&format!(
            "the step's summary {path} is not written: {problem}\n"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_a_lint_are_formats_of_a_check() {
        let name = |value: Option<PossibleValue>| value.map(|value| value.get_name().to_owned());
        let check: Vec<_> = CheckFormat::value_variants()
            .iter()
            .map(|format| name(format.to_possible_value()))
            .collect();
        for format in LintFormat::value_variants() {
            assert!(check.contains(&name(format.to_possible_value())));
            assert_ne!(format.0, CheckFormat::Cyclonedx);
        }
    }

    #[test]
    fn a_summary_stays_as_long_as_it_may_be() {
        let directory = tempfile::tempdir().map_err(|error| error.to_string());
        let Ok(directory) = directory else {
            panic!("{directory:?}");
        };
        let path = directory.path().join("summary.md");
        append_summary(&path, "one\n");
        append_summary(&path, "two\n");
        append_summary(&path, &"x".repeat(1024 * 1024));
        assert_eq!(
            fs::read_to_string(&path).ok().as_deref(),
            Some("one\ntwo\n")
        );
    }
}
