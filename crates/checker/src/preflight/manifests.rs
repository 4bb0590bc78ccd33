//! Reads the manifests that a request names.

use std::path::{Path, PathBuf};

use super::super::directory::files_below;
use super::super::lint_files::{empty_input, is_an_image};
use super::super::report::Unread;
use super::request::PreflightRequest;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::lexical;
use imgcheck_lint::lint;
use imgcheck_lint::workload::{self, Evidence, EvidenceKind, Workload};
use imgcheck_model::finding::Location;
use imgcheck_rules::policy::discover::NAMES;
use imgcheck_source::source::is_image_file;

/// How the names of manifests end.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// The name of a file, and its text.
type NamedText = (String, Result<String>);

/// The manifests of a request.
#[derive(Default)]
pub(super) struct Manifests {
    /// Their names and texts.
    pub texts: Vec<(String, String)>,
    /// Those that could not be read.
    pub unread: Vec<Unread>,
    /// Directories with manifests in their subdirectories, as workloads that nobody looked at.
    pub unsearched: Vec<Workload>,
}

impl PreflightRequest {
    /// Reads the manifests.
    pub(super) fn manifests(&self, cancellation: &Cancellation) -> Manifests {
        let mut all = Manifests::default();
        for path in &self.files {
            let read = match path.is_dir() {
                true => texts_in(path, cancellation),
                false => Ok((vec![named_text(path)], None)),
            };
            let name = || lexical::shown(path);
            let (texts, below) = read.unwrap_or_else(|error| (vec![(name(), Err(error))], None));
            for (name, text) in texts {
                match text {
                    Ok(text) => all.texts.push((name, text)),
                    Err(error) => all.unread.push(Unread::unjudged(name, error)),
                }
            }
            let unsearched = below.map(|it| unsearched(name(), &it));
            all.unsearched.extend(unsearched);
        }
        all
    }
}

/// A directory with this manifest in a subdirectory.
fn unsearched(directory: String, file: &Path) -> Workload {
    let evidence = Evidence {
        kind: EvidenceKind::Subdirectory,
        text: lexical::shown(file),
        location: Location::default(),
    };
    Workload {
        file: directory.clone(),
        kind: "directory".to_owned(),
        name: directory,
        not_understood: vec![evidence],
        ..Workload::default()
    }
}

fn named_text(file: &Path) -> NamedText {
    let name = lexical::shown(file);
    let text = text_of(file, &name);
    (name, text)
}

/// The text of a manifest.
fn text_of(file: &Path, name: &str) -> Result<String> {
    if is_image_file(file) {
        return Err(is_an_image(file, "preflight reads manifests"));
    }
    let text = lint::text_of(file, workload::MAX_FILE)?;
    match text.trim().is_empty() {
        true => Err(empty(name)),
        false => Ok(text),
    }
}

fn empty(name: &str) -> Error {
    match name {
        "-" => empty_input(),
        name => Error::damaged(name, "the file is empty"),
    }
}

/// The names and texts of the manifests in a directory, and the first manifest in its subdirectories, which are not read.
///
/// # Errors
/// The directory cannot be read, has too many entries or no manifest, or the request was cancelled.
fn texts_in(
    directory: &Path,
    cancellation: &Cancellation,
) -> Result<(Vec<NamedText>, Option<PathBuf>)> {
    let may_be_manifest = |path: &Path| {
        let ending = path.extension().and_then(|it| it.to_str());
        let is_configuration = NAMES.iter().any(|name| path.ends_with(name));
        ending.is_some_and(|it| ENDINGS.contains(&it)) && !is_configuration
    };
    let files = files_below(directory, may_be_manifest, cancellation)?;
    let (own, below): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|it| it.parent() == Some(directory));
    let mut texts = Vec::new();
    for file in own {
        cancellation.check()?;
        texts.extend(manifest(&file));
    }
    let is_manifest = |file: &PathBuf| cancellation.check().is_err() || manifest(file).is_some();
    let unread = below.into_iter().find(is_manifest);
    cancellation.check()?;
    if texts.is_empty() {
        let name = directory.display();
        let problem = format!("{name}: no manifest in this directory");
        let help = match unread {
            Some(file) => format!("subdirectories are not read: name the one that you deploy, such as that of {}", file.display()),
            None => "a manifest ends with .yaml, .yml or .json, and has `apiVersion` and `kind`, or `services`".to_owned(),
        };
        return Err(Error::usage(problem).with_help(help));
    }
    Ok((texts, unread))
}

/// The name and text of a file that was found in a directory; `None` if it is something else than a manifest by its content, such as the
/// values of a chart.
fn manifest(file: &Path) -> Option<NamedText> {
    let (name, text) = named_text(file);
    let is_manifest = match &text {
        Ok(text) => workload::is_manifest(&name, text),
        // Too large, not text, or empty.
        Err(_) => lint::beginning(file).is_none_or(|it| it.contains("apiVersion")),
    };
    is_manifest.then_some((name, text))
}
