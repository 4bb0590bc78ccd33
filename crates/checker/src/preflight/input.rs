//! Reads the files of a request.

use std::collections::BTreeMap;
use std::path::Path;
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
use imgcheck_lint::workload;
use imgcheck_model::knowledge;
use imgcheck_model::targets::nodes::{self, Cluster, NodeClass};
use imgcheck_rules::policy::discover::NAMES;
use imgcheck_source::source::is_image_file;

/// The largest file of images, in bytes.
const MAX_IMAGES: u64 = 16 * 1024 * 1024;
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

impl PreflightRequest {
    /// The names and texts of the manifests, and those that could not be read.
    pub(super) fn texts(
        &self,
        cancellation: &Cancellation,
    ) -> (Vec<(String, String)>, Vec<Unread>) {
        let (mut texts, mut errors) = (Vec::new(), Vec::new());
        for path in &self.files {
            let read = match path.is_dir() {
                true => texts_below(path, cancellation),
                false => Ok(vec![named_text(path)]),
            };
            let read = read.unwrap_or_else(|error| vec![(lexical::shown(path), Err(error))]);
            for (name, text) in read {
                match text {
                    Ok(text) => texts.push((name, text)),
                    Err(error) => errors.push(Unread::unjudged(name, error)),
                }
            }
        }
        (texts, errors)
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

/// The name of a file, and its text.
fn named_text(file: &Path) -> (String, Result<String>) {
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

/// The names and texts of the manifests below a directory, without the configuration of imgcheck and files that are something else, such as
/// the values of a chart.
///
/// # Errors
/// The directory cannot be read, has too many entries or no manifest, or the request was cancelled.
fn texts_below(
    directory: &Path,
    cancellation: &Cancellation,
) -> Result<Vec<(String, Result<String>)>> {
    let may_be_manifest = |path: &Path| {
        let ending = path.extension().and_then(|it| it.to_str());
        let is_configuration = NAMES.iter().any(|name| path.ends_with(name));
        ending.is_some_and(|it| ENDINGS.contains(&it)) && !is_configuration
    };
    let mut texts = Vec::new();
    for file in files_below(directory, may_be_manifest, cancellation)? {
        cancellation.check()?;
        let (name, text) = named_text(&file);
        let is_manifest = match &text {
            Ok(text) => workload::is_manifest(&name, text),
            // Too large, not text, or empty.
            Err(_) => lint::beginning(&file).is_none_or(|it| it.contains("apiVersion")),
        };
        if is_manifest {
            texts.push((name, text));
        }
    }
    if texts.is_empty() {
        let name = directory.display();
        let problem = format!("{name}: no manifest in this directory or below it");
        let help = "a manifest ends with .yaml, .yml or .json, and has `apiVersion` and `kind`, or `services`";
        return Err(Error::usage(problem).with_help(help));
    }
    Ok(texts)
}
