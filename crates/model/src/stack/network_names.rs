//! By which names libraries for the network between GPUs are known: `rules/knowledge/network.yaml`.

use serde::Deserialize;

/// What comes before the interface in the name of a provider (rdma-core, CMakeLists.txt, IBVERBS_PROVIDER_SUFFIX).
const PROVIDER: &str = "-rdmav";

/// The beginnings of file names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NetworkNames {
    pub(super) verbs: Vec<String>,
    pub(super) plugins: Vec<String>,
    pub(super) other_plugins: Vec<String>,
    pub(super) ucx: Vec<String>,
    #[serde(rename = "transports")]
    _transports: Vec<serde::de::IgnoredAny>,
}

impl NetworkNames {
    /// Whether a file is one of the libraries.
    pub(super) fn include(&self, name: &str) -> bool {
        let mut all = [&self.verbs, &self.plugins, &self.other_plugins, &self.ucx].into_iter();
        all.any(|it| begins(it, name)) || interface_of(name).is_some()
    }
}

/// Whether a shared object has a name that begins so.
pub(super) fn begins(beginnings: &[String], name: &str) -> bool {
    name.contains(".so") && beginnings.iter().any(|it| name.starts_with(it.as_str()))
}

/// The interface that a provider is for.
pub(super) fn interface_of(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once(PROVIDER)?;
    rest.strip_suffix(".so")
}
