//! Reads the files of a request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::directory::files_below;
use super::super::lint_files::{empty_input, is_an_image};
use super::super::node_files;
use super::super::report::Unread;
use super::super::state::Checker;
use super::request::PreflightRequest;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::lexical;
use imgcheck_base::yaml::{self, Pairs};
use imgcheck_cluster::{self as cluster, Listing, Related};
use imgcheck_lint::lint;
use imgcheck_lint::workload::{self, Evidence, EvidenceKind, Workload};
use imgcheck_model::finding::Location;
use imgcheck_model::knowledge;
use imgcheck_model::targets::nodes::{self, Cluster, NodeClass};
use imgcheck_rules::policy::discover::NAMES;
use imgcheck_source::source::is_image_file;

/// The largest file of images, in bytes.
const MAX_IMAGES: u64 = 16 * 1024 * 1024;
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// The name of a file, and its text.
type NamedText = (String, Result<String>);

/// What a request names.
#[derive(Default)]
pub(super) struct Input {
    /// The names and texts of the manifests.
    pub texts: Vec<(String, String)>,
    /// Those that could not be read.
    pub unread: Vec<Unread>,
    /// Directories with manifests in their subdirectories, as workloads that nobody looked at.
    pub unsearched: Vec<Workload>,
}

impl PreflightRequest {
    /// The manifests.
    pub(super) fn input(&self, cancellation: &Cancellation) -> Input {
        let mut input = Input::default();
        for path in &self.files {
            let read = match path.is_dir() {
                true => texts_in(path, cancellation),
                false => Ok((vec![named_text(path)], None)),
            };
            let name = || lexical::shown(path);
            let (texts, below) = read.unwrap_or_else(|error| (vec![(name(), Err(error))], None));
            for (name, text) in texts {
                match text {
                    Ok(text) => input.texts.push((name, text)),
                    Err(error) => input.unread.push(Unread::unjudged(name, error)),
                }
            }
            let unsearched = below.map(|it| unsearched(name(), &it));
            input.unsearched.extend(unsearched);
        }
        input
    }

    /// The sources of images by reference.
    pub(super) fn sources(&self) -> Result<BTreeMap<String, String>> {
        let mut sources = self.images.clone();
        if let Some(path) = &self.images_file {
            let name = path.display().to_string();
            let text = lint::text_of(path, MAX_IMAGES)?;
            let pairs: Option<Pairs> = yaml::parse(&name, &text)?;
            for (reference, source) in pairs.unwrap_or_default().0 {
                sources.entry(reference.value).or_insert(source.value);
            }
        }
        Ok(sources)
    }

    /// What the API server of the cluster lists: queues and runtimes only for manifests that may name one, because not everybody may list
    /// them.
    pub(super) fn listing(
        &self,
        files: &[(String, String)],
        cancellation: &Cancellation,
    ) -> Result<Option<Listing>> {
        let mentions = |word: &str| files.iter().any(|(_, text)| text.contains(word));
        let wanted = Related {
            queues: mentions(workload::QUEUE),
            runtimes: mentions(workload::TRAIN_JOB),
            serving: mentions(workload::INFERENCE_SERVICE),
        };
        let connection = self.connection.as_ref();
        connection
            .map(|connection| cluster::read(connection, wanted, cancellation))
            .transpose()
    }

    /// The classes of the nodes that are listed or given, or of the cluster that is declared; `None` if no nodes are known.
    pub(super) fn classes(
        &self,
        checker: &Checker,
        listing: Option<&Listing>,
    ) -> Result<Option<Vec<Arc<NodeClass>>>> {
        let clusters = &checker.policy.clusters;
        let ways = [
            !self.nodes.is_empty(),
            self.cluster.is_some(),
            listing.is_some(),
        ];
        if ways.into_iter().filter(|it| *it).count() > 1 {
            let problem = "nodes from a file, a cluster of the configuration and a kubeconfig exclude each other";
            return Err(Error::usage(problem));
        }
        let gpus = &checker.knowledge.targets.gpus;
        if let Some(listing) = listing {
            let labels = knowledge::table("node-labels")?;
            let classes = nodes::classes_of(&listing.nodes, &labels, gpus);
            return match classes.is_empty() {
                false => Ok(Some(classes)),
                true => Err(Error::usage("the cluster has no nodes").with_help(
                    "declare the pools that are scaled to zero under `clusters:` in .imgcheck.yaml",
                )),
            };
        }
        if !self.nodes.is_empty() {
            return node_files::classes(&self.nodes, gpus).map(Some);
        }
        if self.without_clusters {
            return Ok(None);
        }
        let name = self.cluster.as_deref();
        let chosen = Cluster::choose(clusters, name).map_err(|problem| {
            let names: Vec<&str> = clusters.iter().map(|it| it.name.as_str()).collect();
            let names = names.join(", ");
            Error::usage(problem).with_help(match name {
                Some(_) if names.is_empty() => {
                    "declare it under `clusters:` in .imgcheck.yaml".to_owned()
                }
                Some(_) => format!("it declares {names}"),
                None => format!("choose one with --cluster: {names}"),
            })
        })?;
        Ok(chosen.map(|cluster| cluster.classes.clone()))
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

/// The names and texts of the manifests in a directory, and the first manifest below its subdirectories, which belong to other directories.
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
    let mut unread = None;
    for file in below {
        cancellation.check()?;
        if manifest(&file).is_some() {
            unread = Some(file);
            break;
        }
    }
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
