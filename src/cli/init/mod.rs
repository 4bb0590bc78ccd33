//! `imgcheck init`: a commented configuration file, and a CI job for what is in the directory.

mod dockerfiles;
mod draft;
mod github;
mod gitlab;
mod service;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::BoolishValueParser;
use imgcheck::{Error, Result};

use super::interrupt::Stop;
use super::output::{self, one_line};
use draft::{Draft, quoted};
use service::Service;

const CONFIGURATION: &str = include_str!("imgcheck.yaml");

/// Arguments of `imgcheck init`.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// Directory of the repository
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// CI service to write a job for; by default, the one that the files or the Git remote show
    #[arg(long, value_enum, value_name = "SERVICE")]
    ci: Option<Service>,
    /// Print the files instead of writing them
    #[arg(long)]
    stdout: bool,
    /// Do not say what was written, and what to do next
    #[arg(short, long, env = "IMGCHECK_QUIET", value_parser = BoolishValueParser::new())]
    quiet: bool,
}

/// Writes the files that do not exist. None is ever overwritten.
pub fn run(arguments: &InitArguments) -> Result<ExitCode, Stop> {
    let directory = &arguments.directory;
    if !directory.is_dir() {
        let shown = directory.display();
        let problem = match directory.exists() {
            true => format!("{shown}: a file, not a directory"),
            false => format!("{shown}: no such directory"),
        };
        let help = "name the directory of the repository, or nothing for this one";
        return Err(Error::usage(problem).with_help(help).into());
    }
    let services = match arguments.ci {
        Some(service) => vec![service],
        None => service::used(directory),
    };
    let problem = without_jobs(arguments, &services);
    let mut drafts = vec![configuration(directory)];
    if problem.is_none() {
        drafts.extend(jobs(directory, &services));
    }
    for draft in drafts {
        if arguments.stdout {
            output::print(&format!("# {}\n{}\n", draft.path, draft.text))?;
        } else {
            write(&draft, arguments)?;
        }
    }
    if let Some(problem) = problem.filter(|_| !arguments.stdout && !arguments.quiet) {
        output::print(&format!("no CI job was written: {problem}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a draft, and says so and what comes next.
fn write(draft: &Draft, arguments: &InitArguments) -> Result<()> {
    let path = arguments.directory.join(draft.path);
    let is_new = create(&path, &draft.text)?;
    if arguments.quiet {
        return Ok(());
    }
    let shown = one_line(&path.display().to_string());
    match is_new {
        true => output::print(&format!("wrote {shown}\n"))?,
        false => output::print(&format!("kept {shown}, which exists\n"))?,
    }
    match &draft.next {
        Some(next) => output::print(&format!("{next}\n")),
        None => Ok(()),
    }
}

fn configuration(directory: &Path) -> Draft {
    /// What only the user knows.
    const NEXT: &str = "next: say what the image must contain and run on (expect:, targets:): a tag such as :ci or a commit claims nothing";
    Draft {
        path: match directory.join(".imgcheck.yml").exists() {
            true => ".imgcheck.yml",
            false => ".imgcheck.yaml",
        },
        text: CONFIGURATION.to_owned(),
        next: Some(NEXT.to_owned()),
    }
}

fn jobs(directory: &Path, services: &[Service]) -> Vec<Draft> {
    let dockerfiles = dockerfiles::below(directory);
    let draft = |service: &Service| match service {
        Service::Github => github::draft(directory, &dockerfiles),
        Service::Gitlab => gitlab::draft(directory, &dockerfiles),
    };
    services.iter().map(draft).collect()
}

/// Why no job can be written, and the command that writes one.
fn without_jobs(arguments: &InitArguments, services: &[Service]) -> Option<String> {
    let directory = &arguments.directory;
    if let Some(root) = repository_above(directory) {
        let command = command(arguments.ci, &root);
        return Some(format!(
            "it belongs in the root of the repository: {command}"
        ));
    }
    services.is_empty().then(|| {
        let [github, gitlab] =
            [Service::Github, Service::Gitlab].map(|it| command(Some(it), directory));
        format!("nothing here names the service; run one of these:\n  {github}\n  {gitlab}")
    })
}

/// The command that writes the job of a service, or of the one that is found.
fn command(service: Option<Service>, directory: &Path) -> String {
    let option = service.map_or_else(String::new, |it| format!(" --ci {}", it.name()));
    let directory = match directory == Path::new(".") {
        true => String::new(),
        false => format!(" {}", quoted(&one_line(&directory.display().to_string()))),
    };
    format!("imgcheck init{option}{directory}")
}

/// The root of the Git repository that a directory is in, if it is not the root itself: services read no CI job elsewhere.
fn repository_above(directory: &Path) -> Option<PathBuf> {
    let directory = fs::canonicalize(directory).ok()?;
    let root = directory.ancestors().find(|it| it.join(".git").exists())?;
    (root != directory).then(|| root.to_owned())
}

/// Writes a file; `false` if it exists.
pub fn create(path: &Path, text: &str) -> Result<bool> {
    let failed = |error| Error::output(path.display().to_string(), error);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map_err(failed)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(failed(error)),
    }
    Ok(true)
}
