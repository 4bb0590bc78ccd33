//! What an image has for the network between GPUs of several machines.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::container_toolkit::ToolkitKnowledge;
use super::inventory::Inventory;
use super::network_names::{NetworkNames, begins, interface_of};
use imgcheck_base::lexical::name_of;
use imgcheck_image::Node;

/// Libraries that NCCL opens for InfiniBand, RoCE and the networks of clouds, wherever they are. Without any, it uses TCP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Copies of libibverbs, which speaks to InfiniBand and RoCE adapters.
    pub verbs: Vec<String>,
    /// Plugins: `/opt/amazon/ofi-nccl/lib/libnccl-net.so`.
    pub plugins: Vec<String>,
    /// Plugins that are no network: `libnccl-tuner-mine.so`, `libnccl-profiler.so`.
    pub other_plugins: Vec<String>,
    /// Copies of UCX's library, and of its modules: `libucp.so.0`, `libuct_cuda.so.0`.
    pub ucx: Vec<String>,
    /// Libraries for single adapters that a copy of libibverbs opens: `libmlx5-rdmav34.so` for one with the interface 34.
    pub providers: Vec<String>,
    /// Such libraries with an interface that no copy of libibverbs has.
    pub other_providers: Vec<String>,
    /// Copies of libibverbs and plugins that cannot be loaded.
    pub unloadable: Vec<UnloadableNetwork>,
}

/// A library for the network that needs another one, which is nowhere in the image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UnloadableNetwork {
    /// The library for the network.
    pub path: String,
    /// Index of the layer that added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// What it needs: `libfabric.so.1`.
    pub library: String,
}

/// The beginning of the symbol version that names the interface between libibverbs and its providers (rdma-core,
/// libibverbs/libibverbs.map.in).
const INTERFACE: &str = "IBVERBS_PRIVATE_";

impl Network {
    pub(super) fn of(
        inventory: &Inventory,
        names: &NetworkNames,
        toolkit: &ToolkitKnowledge,
    ) -> Self {
        let begin = |beginnings: &[String]| {
            let nodes = inventory.network_names.iter();
            let found = nodes.filter(|node| begins(beginnings, node.name()));
            found.copied().collect::<Vec<_>>()
        };
        let (verbs, plugins) = (begin(&names.verbs), begin(&names.plugins));
        let other_plugins = begin(&names.other_plugins);
        let interfaces: HashSet<&str> = verbs.iter().flat_map(interfaces).collect();
        let providers = inventory.network_names.iter();
        let providers = providers.filter_map(|it| Some((it, interface_of(it.name())?)));
        let (fitting, other): (Vec<_>, Vec<_>) =
            providers.partition(|(_, it)| interfaces.is_empty() || interfaces.contains(it));
        let libraries = [verbs.as_slice(), &plugins, &other_plugins].concat();
        Network {
            verbs: verbs.iter().map(|it| it.path()).collect(),
            plugins: plugins.iter().map(|it| it.path()).collect(),
            other_plugins: other_plugins.iter().map(|it| it.path()).collect(),
            ucx: begin(&names.ucx).iter().map(|it| it.path()).collect(),
            providers: fitting.iter().map(|(it, _)| it.path()).collect(),
            other_providers: other.iter().map(|(it, _)| it.path()).collect(),
            unloadable: unloadable(&libraries, inventory, toolkit),
        }
    }
}

impl Network {
    /// The layer of a library that cannot be loaded.
    pub fn layer_of(&self, path: &str) -> Option<usize> {
        let mut unloadable = self.unloadable.iter();
        unloadable.find(|it| it.path == path)?.layer
    }

    /// Whether there is all that InfiniBand and RoCE adapters need.
    pub fn has_rdma(&self) -> bool {
        !self.verbs.is_empty() && !self.providers.is_empty()
    }

    /// What NCCL can use between machines, for people.
    pub fn summary(&self) -> String {
        let mut all = vec!["TCP"];
        if self.has_rdma() {
            all.extend(["InfiniBand", "RoCE"]);
        }
        all.extend(self.plugins.iter().map(|it| name_of(it)));
        match all.as_slice() {
            [only] => format!("{only} only"),
            all => all.join(", "),
        }
    }
}

/// Those of some libraries that need one which is nowhere, and which the host does not bring.
fn unloadable(
    libraries: &[Node],
    inventory: &Inventory,
    toolkit: &ToolkitKnowledge,
) -> Vec<UnloadableNetwork> {
    if libraries.is_empty() {
        return Vec::new();
    }
    let names: HashSet<&str> = inventory.root.walk_tree().map(Node::name).collect();
    let is_nowhere =
        |it: &&String| !names.contains(it.as_str()) && toolkit.driver_name(it).is_none();
    let found = libraries.iter().filter_map(|node| {
        let library = node.elf()?.needed.iter().find(is_nowhere)?;
        Some(UnloadableNetwork {
            path: node.path(),
            layer: node.layer(),
            library: library.clone(),
        })
    });
    found.collect()
}

/// The interfaces that a copy of libibverbs has for its providers.
fn interfaces<'r>(verbs: &Node<'r>) -> impl Iterator<Item = &'r str> {
    let versions = verbs.elf().map(|it| it.version_definitions.as_slice());
    let versions = versions.unwrap_or_default().iter();
    versions.filter_map(|it| it.strip_prefix(INTERFACE))
}
