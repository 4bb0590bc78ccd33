//! Nodes of a cluster, from files.

use std::path::PathBuf;
use std::sync::Arc;

use imgcheck_base::error::Result;
use imgcheck_lint::lint;
use imgcheck_model::knowledge;
use imgcheck_model::targets::GpuTable;
use imgcheck_model::targets::nodes::{self, NodeClass};

/// The largest file of nodes, in bytes: 10,000 nodes with all their labels and images.
const MAX_NODES: u64 = 512 * 1024 * 1024;

/// The classes of the nodes in files of `kubectl get nodes,resourceslices -o json`.
pub(crate) fn classes(files: &[PathBuf], gpus: &GpuTable) -> Result<Vec<Arc<NodeClass>>> {
    let names: Vec<String> = files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let texts = files.iter().map(|path| lint::text_of(path, MAX_NODES));
    let texts = texts.collect::<Result<Vec<_>>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let labels = knowledge::table("node-labels")?;
    nodes::read(&names.join(", "), &texts, &labels, gpus)
}
