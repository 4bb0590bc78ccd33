//! `imgcheck lint`: judge the files that an image is built from.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::deadline;
use super::formats::{self, LintFormat};
use super::limits::LimitArguments;
use super::output::{self, OutputArguments};
use super::policy::{PolicyArguments, today};
use imgcheck::internals::checker;
use imgcheck::internals::claims::Grammar;
use imgcheck::internals::error::{Error, Result};
use imgcheck::internals::lint::{self, FileKind};
use imgcheck::internals::policy::Subjects;
use imgcheck::internals::reference::transport::ImageReference;
use imgcheck::internals::report::{FileReport, Report, UnreadImage, Verdict};
use imgcheck::internals::stack::Catalogue;

/// Arguments of `imgcheck lint`.
#[derive(Debug, Args)]
pub struct LintArguments {
    /// Dockerfile, Containerfile, requirements.txt, environment.yml, pyproject.toml; a directory stands for those of these
    /// files that are directly in it, - for the standard input
    ///
    /// The kind of a file is told by its name, else by what stands in it. A requirements file that a Dockerfile copies and
    /// installs is read with it, if it stands beside it.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// What the files are, where neither name nor content tell
    #[arg(long, value_enum, env = "IMGCHECK_KIND")]
    kind: Option<KindArgument>,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    policy: PolicyArguments,
    #[command(flatten)]
    output: OutputArguments<LintFormat>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum KindArgument {
    Dockerfile,
    Requirements,
    Environment,
    Pyproject,
}

impl From<KindArgument> for FileKind {
    fn from(kind: KindArgument) -> Self {
        match kind {
            KindArgument::Dockerfile => FileKind::Dockerfile,
            KindArgument::Requirements => FileKind::Requirements,
            KindArgument::Environment => FileKind::Environment,
            KindArgument::Pyproject => FileKind::Pyproject,
        }
    }
}

/// Checks every file. The exit code is 1 when one fails, and that of the worst error when one could not be read or
/// parsed: the others are reported all the same.
pub fn run(arguments: &LintArguments) -> Result<ExitCode> {
    let inputs: Vec<ImageReference> = arguments
        .files
        .iter()
        .cloned()
        .map(ImageReference::Path)
        .collect();
    arguments.output.validate(&inputs)?;
    let asked = arguments.policy.read()?;
    let grammar = Grammar::builtin()?;
    let catalogue = Catalogue::builtin()?;
    let limits = arguments.limits.above(asked.limits());
    deadline::watch(limits, || ())?;
    let rules = arguments.policy.load_rules(&asked, limits)?;
    let mut reports: Vec<FileReport> = Vec::new();
    let mut used_ignores = BTreeSet::new();
    let mut errors = Vec::new();
    let mut code = 0;
    for path in named(&arguments.files)? {
        let kind = arguments.kind.map(FileKind::from);
        let sources = read(&path, kind, &catalogue);
        let judge = |sources| checker::lint(sources, &grammar, &rules, &asked.policy, today());
        match sources.and_then(judge) {
            Ok(linted) => {
                reports.push(linted.report);
                used_ignores.extend(linted.used_ignores);
            }
            Err(error) => {
                let name = path.display().to_string();
                output::error_about(&name, &error);
                code = code.max(error.exit_code());
                errors.push(UnreadImage {
                    image: name,
                    error: error.quoted(),
                });
            }
        }
    }
    checker::once(&mut reports, &asked.policy);
    let linted = reports.len();
    // Whether an ignore is of use cannot be said where a file is missing.
    if errors.is_empty() {
        let names: Vec<&str> = reports.iter().map(|report| report.file.as_str()).collect();
        let subjects = Subjects::Files(&names);
        let configuration =
            checker::judge_ignores(subjects, &used_ignores, &rules, &asked.policy, today())?;
        reports.extend(configuration);
    }
    let report = Report {
        images: &[],
        files: &reports,
        errors: &errors,
        rules: &rules,
    };
    formats::write(&arguments.output, &report, asked.policy.fail_on)?;
    let failed = reports.iter().any(|report| report.verdict == Verdict::Fail);
    let findings = reports[..linted].iter().flat_map(|report| {
        let findings = report.findings.iter();
        findings.map(|finding| (report.file.as_str(), finding))
    });
    let known = asked.write_baseline(findings, errors.is_empty())?;
    Ok(ExitCode::from(code.max(u8::from(failed && !known))))
}

/// The files themselves, and for a directory those in it whose names are known.
fn named(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let name = path.display().to_string();
        let entries = std::fs::read_dir(path).map_err(|error| Error::io(name.clone(), error))?;
        let mut known: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.is_file() && FileKind::of_name(&path.display().to_string()).is_some()
            })
            .collect();
        if known.is_empty() {
            return Err(Error::Usage {
                problem: format!(
                    "{name}: no Dockerfile, requirements.txt, environment.yml or pyproject.toml in it"
                ),
                help: Some(
                    "only files directly in a directory are looked at; name the others".to_owned(),
                ),
            });
        }
        known.sort();
        files.extend(known);
    }
    Ok(files)
}

fn read(path: &Path, kind: Option<FileKind>, catalogue: &Catalogue) -> Result<lint::Sources> {
    let name = path.display().to_string();
    if name == "-" {
        let Some(kind) = kind else {
            return Err(Error::Usage {
                problem: "the standard input has no name that tells what it is".to_owned(),
                help: Some(format!("say it with --kind {}", kinds())),
            });
        };
        let mut bytes = Vec::new();
        let limited = std::io::stdin()
            .take(lint::MAX_FILE + 1)
            .read_to_end(&mut bytes);
        limited.map_err(|error| Error::io("standard input", error))?;
        let text = lint::decode("standard input", bytes)?;
        return lint::read("-", &text, kind, catalogue, &|_| lint::Neighbour::Unread);
    }
    let text = lint::load(path)?;
    let told = kind
        .or_else(|| FileKind::of_name(&name))
        .or_else(|| FileKind::of_text(&name, &text));
    let Some(kind) = told else {
        return Err(Error::Usage {
            problem: format!("{name}: neither its name nor its content tell what it is"),
            help: Some(format!("say it with --kind {}", kinds())),
        });
    };
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    lint::read(&name, &text, kind, catalogue, &|relative| {
        lint::neighbour(directory, relative)
    })
}

fn kinds() -> String {
    let names: Vec<&str> = FileKind::ALL.iter().map(|kind| kind.name()).collect();
    names.join(", ")
}
