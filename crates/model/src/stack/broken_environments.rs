//! Virtual environments whose interpreter is missing: `bin/python` is a link to a Python that the image does not have, as after
//! `COPY --from=builder /app/.venv /app/.venv` without the Python that the environment was made with.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inventory::Inventory;

/// A virtual environment without an interpreter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BrokenEnvironment {
    /// The directory that contains `pyvenv.cfg`: `/app/.venv`.
    pub prefix: String,
    /// Its interpreter: `/app/.venv/bin/python`.
    pub interpreter: String,
    /// What that links to, as written: `/usr/local/bin/python3.12`.
    pub target: String,
    /// Layer index of the interpreter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
}

/// The environments of which no interpreter is there, sorted by prefix. Of several links, the one that leaves `bin` is named.
pub(super) fn find(inventory: &Inventory) -> Vec<BrokenEnvironment> {
    let mut found: BTreeMap<String, Option<BrokenEnvironment>> = BTreeMap::new();
    for node in &inventory.interpreters {
        let prefix = node.parent().parent().path();
        let prefix = prefix.trim_end_matches('/');
        if inventory.text(&format!("{prefix}/pyvenv.cfg")).is_none() {
            continue;
        }
        let resolved = inventory.root.resolve(&node.path());
        let broken = node.symlink_target().filter(|_| resolved.is_err());
        let Some(target) = broken else {
            found.insert(prefix.to_owned(), None);
            continue;
        };
        let environment = found.entry(prefix.to_owned());
        let environment = environment.or_insert_with(|| Some(BrokenEnvironment::default()));
        if let Some(environment) = environment
            && (target.contains('/') || environment.prefix.is_empty())
        {
            *environment = BrokenEnvironment {
                prefix: prefix.to_owned(),
                interpreter: node.path(),
                target: target.to_owned(),
                layer: node.layer(),
            };
        }
    }
    found.into_values().flatten().collect()
}
