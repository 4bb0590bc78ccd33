//! The formats of each command.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use imgcheck::{Format, Report, Result, View};

use super::output::{self, OutputArguments, ReportFormat, one_line};
use super::view::ViewArguments;

/// Defines the formats of a command: some of [`Format`], each with its help.
macro_rules! formats {
    ($(#[$doc:meta])* $name:ident: $($(#[$value:meta])* $format:ident $help:literal),+) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
        pub enum $name {
            $($(#[$value])* #[doc = $help] $format),+
        }

        impl From<$name> for Format {
            fn from(format: $name) -> Self {
                match format {
                    $($name::$format => Format::$format),+
                }
            }
        }
    };
}

formats! {
    /// A format of the report of a check.
    CheckFormat:
    Text "For people",
    Json "For programs: everything",
    Sarif "SARIF 2.1.0, for GitHub code scanning and editors",
    Junit "JUnit XML, for test reports in CI systems",
    Github "GitHub Actions annotations and job summary",
    Gitlab "GitLab code quality report",
    Markdown "A comment on a pull request",
    Cyclonedx "CycloneDX 1.6: the GPU stack as a bill of materials",
    Html "A page for a browser, with a graph of the loader"
}

formats! {
    /// A format of the report of a lint: files have findings, but no parts to list.
    LintFormat:
    Text "For people",
    Json "For programs: everything",
    Sarif "SARIF 2.1.0, for GitHub code scanning and editors",
    Junit "JUnit XML, for test reports in CI systems",
    Github "GitHub Actions annotations and job summary",
    Gitlab "GitLab code quality report",
    Markdown "A comment on a pull request",
    Html "A page for a browser, with a graph of the loader"
}

formats! {
    /// A format of the difference.
    DiffFormat:
    Text "For people",
    Json "For programs: everything",
    Markdown "A comment on a pull request"
}

formats! {
    /// A format of the tree.
    TreeFormat:
    Text "For people",
    Json "For programs",
    Dot "A graph for Graphviz",
    Html "A page with the graph, for a browser"
}

formats! {
    /// A format of requirements.
    RequirementsFormat:
    Text "For people",
    Json "For programs",
    #[value(alias = "k8s")]
    Kubernetes "A node affinity for the labels of GPU Feature Discovery: a part of the `spec` of a Pod",
    Nfd "An image compatibility specification of Node Feature Discovery",
    Slurm "The constraint of a Slurm job: those of --features whose GPU runs the image",
    Skypilot "The `resources` of a SkyPilot task",
    Runpod "GPUs and CUDA versions for `POST /pods` of RunPod's API"
}

formats! {
    /// The formats of a command that has no others.
    TextOrJson:
    Text "For people",
    Json "For programs"
}

/// Writes a report to all destinations, each in its format, of which `view` is for text; with `--format github` within GitHub Actions also the summary of the
/// step.
///
/// # Errors
/// Same as [`output::write`].
pub fn write<F: ReportFormat + Into<Format>>(
    arguments: &OutputArguments<F>,
    view: &ViewArguments,
    report: &Report,
) -> Result<()> {
    let width = arguments.width();
    let render = |format: Format| match format {
        Format::Text => Ok(report.text(&view.options(width))),
        _ => report.render(View::Findings, format, width),
    };
    output::write_text(arguments, render)?;
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
