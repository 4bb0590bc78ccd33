//! The formats of a report, in one place: their names, and how each is rendered.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use imgcheck::{Format, Report, Result, View};

use super::output::{self, OutputArguments, Rendered, ReportFormat, one_line};

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

impl From<CheckFormat> for Format {
    fn from(format: CheckFormat) -> Self {
        match format {
            CheckFormat::Text => Format::Text,
            CheckFormat::Json => Format::Json,
            CheckFormat::Sarif => Format::Sarif,
            CheckFormat::Junit => Format::Junit,
            CheckFormat::Github => Format::Github,
            CheckFormat::Gitlab => Format::Gitlab,
            CheckFormat::Markdown => Format::Markdown,
            CheckFormat::Cyclonedx => Format::Cyclonedx,
            CheckFormat::Html => Format::Html,
        }
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

impl From<LintFormat> for Format {
    fn from(format: LintFormat) -> Self {
        format.0.into()
    }
}

/// Writes a report to all destinations, each in its format; with `--format github` within GitHub Actions also the summary of the
/// step.
///
/// # Errors
/// As [`output::write`].
pub fn write<F: ReportFormat + Into<Format>>(
    arguments: &OutputArguments<F>,
    report: &Report,
) -> Result<()> {
    let render = |format: Format| report.render(View::Findings, format, arguments.width());
    output::write(arguments, |format: F| {
        render(format.into()).map(Rendered::Text)
    })?;
    let is_github = arguments.printed().map(Into::into) == Some(Format::Github);
    let summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|it| !it.is_empty());
    if let (true, Some(summary)) = (is_github, summary) {
        append_summary(Path::new(&summary), &render(Format::Markdown)?);
    }
    Ok(())
}

/// The largest summary of a step that GitHub accepts, in bytes.
const LONGEST_SUMMARY: u64 = 1024 * 1024;

/// A summary that cannot be written is a remark, not a failure.
fn append_summary(path: &Path, text: &str) {
    let length = fs::metadata(path).map_or(0, |data| data.len());
    let written = match length + text.len() as u64 > LONGEST_SUMMARY {
        true => Err("it would exceed the 1 MiB that GitHub accepts".to_owned()),
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
            "the step summary {path} was not written: {problem}\n"
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
