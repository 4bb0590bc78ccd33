//! `imgcheck init`: a commented configuration file, and a CI job for what is in the directory.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::BoolishValueParser;
use imgcheck::{Error, Result};

use super::interrupt::Stop;
use super::output::{self, one_line};

const CONFIGURATION: &str = include_str!("imgcheck.yaml");
/// Lines that begin with `{lint}` are for a directory with a Dockerfile; `{dockerfile}` is its path.
const GITHUB: &str = include_str!("github.yml");
const GITLAB: &str = include_str!("gitlab.yml");

/// Arguments of `imgcheck init`.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// Directory of the repository
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Print the files instead of writing them
    #[arg(long)]
    stdout: bool,
    /// Do not say what was written, and what to do next
    #[arg(short, long, env = "IMGCHECK_QUIET", value_parser = BoolishValueParser::new())]
    quiet: bool,
}

/// A file to write.
struct Draft {
    /// Below the directory.
    path: &'static str,
    text: String,
    /// What the user must do for it to be used.
    next: Option<String>,
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
    for draft in drafts(directory) {
        let path = directory.join(draft.path);
        if arguments.stdout {
            output::print(&format!("# {}\n{}\n", draft.path, draft.text))?;
            continue;
        }
        let shown = one_line(&path.display().to_string());
        match create(&path, &draft.text)? {
            _ if arguments.quiet => continue,
            true => output::print(&format!("wrote {shown}\n"))?,
            false => output::print(&format!("kept {shown}, which exists\n"))?,
        }
        if let Some(next) = draft.next {
            output::print(&format!("{next}\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn drafts(directory: &Path) -> Vec<Draft> {
    let has = |name: &str| directory.join(name).exists();
    let configuration = match has(".imgcheck.yml") {
        true => ".imgcheck.yml",
        false => ".imgcheck.yaml",
    };
    let mut drafts = vec![Draft {
        path: configuration,
        text: CONFIGURATION.to_owned(),
        next: Some(EXPECTATIONS.to_owned()),
    }];
    if let Some(root) = repository_above(directory) {
        let without = format!(
            "no CI job was written: it belongs in the root of the repository: imgcheck init {}",
            root.display()
        );
        drafts[0].next = Some(format!("{EXPECTATIONS}\n{without}"));
        return drafts;
    }
    let dockerfile = dockerfile(directory);
    let dockerfile = dockerfile.as_deref();
    if has(".github") {
        let next = match dockerfile {
            Some(file) => format!(
                "next: in the workflow, name the image as you push it (IMAGE), then commit; the job lints {file}, builds it and checks the image"
            ),
            None => "next: there is no Dockerfile, so add the step that builds your image (TODO in the workflow), then commit".to_owned(),
        };
        drafts.push(Draft {
            path: ".github/workflows/imgcheck.yml",
            text: github(directory, dockerfile),
            next: Some(next),
        });
    }
    if has(".gitlab-ci.yml") {
        let next =
            "add it to .gitlab-ci.yml:\n  include:\n    - local: .gitlab/imgcheck.gitlab-ci.yml";
        drafts.push(Draft {
            path: ".gitlab/imgcheck.gitlab-ci.yml",
            text: gitlab(directory, dockerfile),
            next: Some(next.to_owned()),
        });
    } else if has(".gitlab") {
        drafts.push(Draft {
            path: ".gitlab-ci.yml",
            text: gitlab(directory, dockerfile),
            next: Some(
                "next: add the job that builds and pushes the image, then commit".to_owned(),
            ),
        });
    }
    if drafts.len() == 1 {
        let without = "no CI job was written: there is no .github, .gitlab or .gitlab-ci.yml; make one (mkdir .github), and run this again";
        drafts[0].next = Some(format!("{EXPECTATIONS}\n{without}"));
    }
    drafts
}

/// What only the user knows.
const EXPECTATIONS: &str = "next: say what the image must contain and run on (expect:, targets:): a tag such as :ci or a commit claims nothing";

/// The root of the Git repository that a directory is in, if it is not the root itself: services read no CI job elsewhere.
fn repository_above(directory: &Path) -> Option<PathBuf> {
    let directory = fs::canonicalize(directory).ok()?;
    let root = directory.ancestors().find(|it| it.join(".git").exists())?;
    (root != directory).then(|| root.to_owned())
}

/// The Dockerfile of the image, relative to a directory: the one nearest to it.
fn dockerfile(directory: &Path) -> Option<String> {
    /// How far below the directory it may be.
    const DEPTH: usize = 4;
    let mut level = vec![String::new()];
    for _ in 0..DEPTH {
        let mut below = Vec::new();
        for path in &level {
            let names = ["Dockerfile", "Containerfile"].map(|name| format!("{path}{name}"));
            if let Some(name) = names.into_iter().find(|it| directory.join(it).is_file()) {
                return Some(name);
            }
            below.extend(directories(directory, path));
        }
        below.sort();
        level = below;
    }
    None
}

/// The directories in one below another, except hidden ones, links, and those whose names a shell or YAML would not take as they are.
fn directories(directory: &Path, path: &str) -> Vec<String> {
    let entries = fs::read_dir(directory.join(path)).into_iter().flatten();
    let entries = entries
        .flatten()
        .filter(|it| it.file_type().is_ok_and(|it| it.is_dir()));
    let names = entries.filter_map(|it| it.file_name().into_string().ok());
    let names = names.filter(|it| is_plain(it) && it != "node_modules");
    names.map(|name| format!("{path}{name}/")).collect()
}

/// Whether a name needs no quotes, and is not hidden.
fn is_plain(name: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
    name.chars().all(is_plain) && !name.starts_with(['.', '-'])
}

/// The workflow; without a Dockerfile it has a step that fails and says what is missing.
fn github(directory: &Path, dockerfile: Option<&str>) -> String {
    let build = match dockerfile {
        Some("Dockerfile") => "docker build --tag \"$IMAGE\" .".to_owned(),
        Some(name) => format!("docker build --file {name} --tag \"$IMAGE\" ."),
        None => "echo \"TODO build the image $IMAGE here\" && exit 1".to_owned(),
    };
    let image = format!("registry.example/{}:ci", repository_name(directory));
    let workflow = with_lint(GITHUB, dockerfile);
    workflow
        .replace("{image}", &image)
        .replace("{build}", &build)
}

/// A template with its lines for `imgcheck lint`, or without a Dockerfile, which it could check, without them.
fn with_lint(template: &str, dockerfile: Option<&str>) -> String {
    filled(template, &[("{lint}", "{dockerfile}", dockerfile)])
}

/// A job of GitLab, in the last stage if the pipeline has none called `test`, which is the default of the template.
fn gitlab(directory: &Path, dockerfile: Option<&str>) -> String {
    let pipeline = fs::read_to_string(directory.join(".gitlab-ci.yml")).unwrap_or_default();
    let stages = stages(&pipeline);
    let last = stages.last().filter(|_| !stages.contains(&"test"));
    filled(
        GITLAB,
        &[
            ("{lint}", "{dockerfile}", dockerfile),
            ("{stage}", "{name}", last.copied()),
        ],
    )
}

/// The names in the list `stages` of a pipeline, in one line or one a line; empty without one.
fn stages(pipeline: &str) -> Vec<&str> {
    let mut lines = pipeline.lines().skip_while(|it| !it.starts_with("stages:"));
    let first = lines.next().unwrap_or_default();
    let inline = first.trim_start_matches("stages:").split([',', '[', ']']);
    let listed = lines.map(str::trim).map_while(|it| it.strip_prefix('-'));
    let names = inline.chain(listed);
    let names = names.map(|it| it.split(" #").next().unwrap_or_default());
    let names = names.map(|it| it.trim().trim_matches(['"', '\'']));
    names.filter(|it| !it.is_empty()).collect()
}

/// A template with its lines that begin with a mark, if the value for their variable is known, and without them otherwise.
fn filled(template: &str, marks: &[(&str, &str, Option<&str>)]) -> String {
    let lines = template.lines().filter_map(|line| {
        let marked = marks.iter().find(|(mark, ..)| line.starts_with(mark));
        let line = match marked {
            None => line.to_owned(),
            Some((mark, variable, value)) => line[mark.len()..].replace(variable, (*value)?),
        };
        Some(line + "\n")
    });
    lines.collect()
}

/// The name of the directory as a repository may be called.
fn repository_name(directory: &Path) -> String {
    let directory = fs::canonicalize(directory).unwrap_or_default();
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => "image".to_owned(),
        false => words.join("-"),
    }
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
