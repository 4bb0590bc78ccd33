//! What the caller of an image replaces, such as a Pod.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use imgcheck_base::glob::matches_any;
use imgcheck_base::lexical::is_below;

/// The user that a manifest names; root, who may read everything, where that is a variable such as `$(id -u)`.
pub fn known_user(text: String) -> String {
    match text.contains('$') {
        true => String::new(),
        false => text,
    }
}

/// What a ConfigMap brings into a container.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ConfigMapVolume {
    /// One of its keys in place of a file (`subPath`).
    File(ConfigMapFile),
    /// A directory with its keys and nothing else.
    Directory(BTreeMap<String, ConfigMapFile>),
}

/// A file of a ConfigMap volume, which belongs to root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ConfigMapFile {
    /// What is in it; `None` if it is no text.
    pub text: Option<String>,
    /// Permission bits.
    pub mode: u32,
}

/// What replaces parts of the image configuration when a container starts. The default replaces nothing.
///
/// ```
/// let mut overlay = imgcheck_launch::Overlay::default();
/// overlay.args = Some(vec!["serve.py".to_owned()]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Overlay {
    /// Replaces ENTRYPOINT, and CMD with it (`command` of a Kubernetes container, `docker run --entrypoint`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Replaces CMD (`args` of a Kubernetes container).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Variables that are set. The values are final: `$(NAME)` of a Pod is expanded before.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Variables of the image that are removed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub unset: BTreeSet<String>,
    /// Replaces the working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// Replaces USER (`runAsUser` of a Pod, `docker run --user`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Paths over which volumes are mounted: what is below them is unknown.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub volumes: BTreeSet<String>,
    /// Volumes whose files the input has, by the path at which they are mounted: those of ConfigMaps.
    #[serde(skip)]
    pub config_maps: BTreeMap<String, ConfigMapVolume>,
    /// More volumes may be mounted, anywhere, or files copied.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub other_volumes: bool,
    /// The user is in groups that the image does not know (`fsGroup` of a Pod).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub other_groups: bool,
    /// The root filesystem is mounted read-only (`readOnlyRootFilesystem` of a Kubernetes container, `docker run --read-only`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// The directories of PATH have the programs of the image and no others, even if `other_volumes` may be mounted elsewhere.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub programs_known: bool,
    /// PATH may be set to something that is not in the input.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub other_search_path: bool,
    /// Patterns of the variables that something outside of the input may set, such as the kubelet or a Secret: `KUBERNETES_*`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_variables: Vec<String>,
}

impl Overlay {
    /// Whether another Python may run, another program, or with another search path.
    pub fn may_change_imports(&self) -> bool {
        let mut variables = self.env.keys().chain(&self.unset);
        let is_searched = |it: &String| it.starts_with("PYTHON") || it == "PATH" || it == "HOME";
        self.command.is_some()
            || self.args.is_some()
            || self.working_directory.is_some()
            || variables.any(is_searched)
    }

    /// The command line, where the image has this ENTRYPOINT and CMD. The table of Kubernetes, "Define a Command and Arguments
    /// for a Container", says which combinations count.
    pub(crate) fn arguments(
        &self,
        entrypoint: Option<&[String]>,
        command: Option<&[String]>,
    ) -> Vec<String> {
        let (entrypoint, default_args) = match &self.command {
            Some(command) => (Some(command.as_slice()), None),
            None => (entrypoint, command),
        };
        let args = self.args.as_deref().or(default_args);
        [entrypoint, args]
            .into_iter()
            .flatten()
            .flatten()
            .cloned()
            .collect()
    }

    /// Whether something outside of the input may set a variable.
    pub(crate) fn may_set(&self, name: &str) -> bool {
        matches_any(name, &self.other_variables)
    }

    /// Whether a path is below a volume.
    pub(crate) fn hides(&self, path: &str) -> bool {
        let mut volumes = self.volumes.iter();
        volumes.any(|volume| is_below(path, volume))
    }

    /// Whether a path is in the volume of a ConfigMap, which is always mounted read-only.
    pub(crate) fn is_in_config_map(&self, path: &str) -> bool {
        let mut mounts = self.config_maps.keys();
        mounts.any(|it| is_below(path, it)) && !self.hides(path)
    }

    /// The environment, where the image has this one.
    pub(crate) fn environment(
        &self,
        mut image: BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        image.retain(|name, _| !self.unset.contains(name));
        image.extend(self.env.clone());
        image
    }
}
