//! The sources of images and the classes of nodes that a request names.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::node_files;
use super::super::state::Checker;
use super::request::PreflightRequest;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::yaml::{self, Pairs};
use imgcheck_cluster::{self as cluster, Listing, Related};
use imgcheck_lint::lint;
use imgcheck_lint::workload;
use imgcheck_model::knowledge;
use imgcheck_model::targets::nodes::{self, Cluster, NodeClass};

/// The largest file of images, in bytes.
const MAX_IMAGES: u64 = 16 * 1024 * 1024;

impl PreflightRequest {
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
