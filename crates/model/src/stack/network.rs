//! What an image has for the network between GPUs of several machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inventory::Inventory;
use super::network_names::{NetworkNames, begins};

/// Libraries that NCCL opens for InfiniBand, RoCE and the networks of clouds, wherever they are. Without any, it uses TCP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Copies of libibverbs, which speaks to InfiniBand and RoCE adapters.
    pub verbs: Vec<String>,
    /// Plugins: `/opt/amazon/ofi-nccl/lib/libnccl-net.so`.
    pub plugins: Vec<String>,
}

impl Network {
    pub(super) fn of(inventory: &Inventory, names: &NetworkNames) -> Self {
        let paths = |beginnings: &[String]| {
            let nodes = inventory.network_names.iter();
            let found = nodes.filter(|node| begins(beginnings, node.name()));
            found.map(|node| node.path()).collect()
        };
        Network {
            verbs: paths(&names.verbs),
            plugins: paths(&names.plugins),
        }
    }
}
