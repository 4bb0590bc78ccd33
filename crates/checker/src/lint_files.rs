//! Which files `imgcheck lint` reads: those that are named, those below named directories, and those that use them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::directory::files_below;
use super::lint_request::LintRequest;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::lexical;
use imgcheck_lint::lint::{self, FileKind, Sources};
use imgcheck_model::knowledge::Knowledge;
use imgcheck_source::source::is_image_file;

/// A file to check.
struct LintFile {
    path: PathBuf,
    /// The directory above it that the user named; `None` if they named the file.
    directory: Option<PathBuf>,
}

/// A file, and what it asks for.
pub type ReadFile = (PathBuf, Result<Sources>);

/// Reads the files of a request, and with `partners` those that use them, and hands over each.
///
/// # Errors
/// A directory cannot be read or has no such file, the build context is not a directory, or the request was cancelled.
pub fn read(
    request: &LintRequest,
    knowledge: &Knowledge,
    cancellation: &Cancellation,
    mut hand_over: impl FnMut(ReadFile),
) -> Result<()> {
    if let Some(context) = request.context.as_deref().filter(|it| !it.is_dir()) {
        let problem = format!("{}: no such directory", lexical::shown(context));
        let help = "--context is the build context of the Dockerfiles, as of `docker build`";
        return Err(Error::usage(problem).with_help(help));
    }
    let sources = |file: &LintFile| sources(file, request, knowledge).transpose();
    let mut named = HashSet::new();
    for file in files_of(&request.files, cancellation)? {
        cancellation.check()?;
        if let Some(sources) = sources(&file) {
            named.insert(plain(&file.path));
            hand_over((file.path, sources));
        }
    }
    if !request.partners {
        return Ok(());
    }
    for path in below(Path::new("."), cancellation)? {
        cancellation.check()?;
        if !builds(&path) || named.contains(&plain(&path)) {
            continue;
        }
        let file = LintFile {
            path,
            directory: Some(PathBuf::from(".")),
        };
        // What is wrong with a file that did not change is not told.
        if let Some(Ok(sources)) = sources(&file)
            && sources
                .read
                .iter()
                .any(|it| named.contains(&plain(Path::new(it))))
        {
            hand_over((file.path, Ok(sources)));
        }
    }
    Ok(())
}

/// The path without `./` at its start.
fn plain(path: &Path) -> String {
    lexical::shown(path).trim_start_matches("./").to_owned()
}

/// Whether a file uses others.
fn builds(path: &Path) -> bool {
    let kind = FileKind::of_name(&path.display().to_string());
    use FileKind::{Bake, Bento, Cog, Compose, Devcontainer, Dockerfile, Dstack, Skypilot};
    matches!(
        kind,
        Some(Dockerfile | Compose | Bake | Bento | Cog | Devcontainer | Dstack | Skypilot)
    )
}

/// Reads a file. `None` for one that was found in a directory by its name, and is of a different kind by its content.
fn sources(
    file: &LintFile,
    request: &LintRequest,
    knowledge: &Knowledge,
) -> Result<Option<Sources>> {
    let LintFile { path, directory } = file;
    let is_named = directory.is_none();
    let kind = request.kind;
    let name = lexical::shown(path);
    let unknown = |problem: String| {
        let kinds: Vec<&str> = FileKind::ALL.iter().map(|kind| kind.name()).collect();
        Error::usage(problem).with_help(format!("use --kind {}", kinds.join(", ")))
    };
    if name == "-" {
        let kind =
            kind.ok_or_else(|| unknown("the kind of standard input is unknown".to_owned()))?;
        let text = lint::text_of(path, lint::MAX_FILE)?;
        if text.trim().is_empty() {
            return Err(empty_input());
        }
        let read = lint::read("-", &text, kind, knowledge, &|_| lint::Neighbour::Unread);
        return read.map(Some);
    }
    let text = lint::load(path, lint::MAX_FILE).map_err(|error| unloaded(path, error))?;
    if kind.is_none() && lint::is_template(&name) {
        let error = Error::usage(format!("{name}: the file is a template"));
        return Err(error.with_help("lint the file that is rendered from it"));
    }
    let kind = kind.or_else(|| FileKind::of(&name, &text));
    // The error of its reader says what a file with the name of Compose lacks.
    let named = FileKind::of_name(&name).filter(|it| is_named && *it == FileKind::Compose);
    let kind = kind.or(named);
    if kind.is_none() && !is_named {
        return Ok(None);
    }
    let kind = kind.ok_or_else(|| {
        unknown(format!("{name}: unknown file type (expected a Dockerfile, requirements.txt, environment.yml or pyproject.toml)"))
    })?;
    let context = request.context.as_ref();
    let read = match context.filter(|_| kind == FileKind::Dockerfile) {
        Some(context) => {
            let inside = context.join("Dockerfile");
            let neighbours = |relative: &str| lint::neighbour(&inside, relative, None);
            let context = lexical::shown(context);
            lint::read_in(&context, &name, &text, kind, knowledge, &neighbours)
        }
        None => lint::read(&name, &text, kind, knowledge, &|relative| {
            lint::neighbour(path, relative, directory.as_deref())
        }),
    };
    match read {
        Err(error) if kind == FileKind::Dockerfile => {
            Err(other_than_dockerfile(&name, &text).unwrap_or(error))
        }
        read => read.map(Some),
    }
}

/// The error of an empty standard input: the command before the pipe may have failed.
pub(super) fn empty_input() -> Error {
    let help = "run the command on the left of the pipe alone, and look at its error";
    Error::damaged("-", "standard input is empty").with_help(help)
}

/// What `lint` is for, in the help of an error.
const LINT_READS: &str = "lint reads what an image is built from, such as a Dockerfile";

/// The error of a file that cannot be loaded, with the command for an image.
fn unloaded(path: &Path, error: Error) -> Error {
    match error {
        _ if is_image_file(path) => is_an_image(path, LINT_READS),
        Error::Usage { help: None, .. } if !path.exists() => error.with_help(format!(
            "{LINT_READS}; to check an image: imgcheck {}",
            lexical::shown(path)
        )),
        error => error,
    }
}

/// The error of an image in the place of another file, with the command for it and what this command reads.
pub(super) fn is_an_image(path: &Path, reads: &str) -> Error {
    let name = lexical::shown(path);
    Error::usage(format!("{name}: the file is an archive, as of an image"))
        .with_help(format!("to check an image: imgcheck {name}; {reads}"))
}

/// What a file that cannot be read as a Dockerfile is instead, with the way to judge it; `None` if that is unknown.
fn other_than_dockerfile(name: &str, text: &str) -> Option<Error> {
    let lines = text.lines().map(str::trim_start);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_manifest = lines.clone().any(|line| line.starts_with("apiVersion:"));
    let is_template = lines.any(|line| {
        let is_from = line
            .get(..5)
            .is_some_and(|it| it.eq_ignore_ascii_case("from "));
        line.starts_with("{{") || line.starts_with("{%") || (is_from && line.contains("{{"))
    });
    if is_template {
        let error = Error::usage(format!("{name}: the file is a template"));
        return Some(error.with_help("lint the file that is rendered from it"));
    }
    is_manifest.then(|| {
        let error = Error::usage(format!("{name}: the file is a Kubernetes manifest"));
        error.with_help(format!("use `imgcheck preflight {name}`"))
    })
}

/// The files themselves, and for a directory the files below it that have a known name.
///
/// # Errors
/// A directory cannot be read or has no such file, or the request was cancelled.
fn files_of(paths: &[PathBuf], cancellation: &Cancellation) -> Result<Vec<LintFile>> {
    let mut files = Vec::new();
    let paths: Vec<PathBuf> = paths.iter().map(|it| from_here(it)).collect();
    for path in &paths {
        if !path.is_dir() {
            files.push(LintFile {
                path: path.clone(),
                directory: None,
            });
            continue;
        }
        let found = below(path, cancellation)?;
        if found.is_empty() {
            return Err(Error::usage(format!(
                "{}: no Dockerfile, requirements.txt, environment.yml or pyproject.toml in this directory or below it",
                path.display()
            )));
        }
        files.extend(found.into_iter().map(|file| LintFile {
            path: file,
            directory: Some(path.clone()),
        }));
    }
    Ok(files)
}

/// A path below the working directory as a relative one: the build context is found by that, and reports name it.
fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|it| path.strip_prefix(it).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => PathBuf::from("."),
        Some(below) => below.to_owned(),
        None => path.to_owned(),
    }
}

/// The files below a directory that have a known name.
fn below(directory: &Path, cancellation: &Cancellation) -> Result<Vec<PathBuf>> {
    let is_known = |path: &Path| FileKind::of_name(&path.display().to_string()).is_some();
    files_below(directory, is_known, cancellation)
}
