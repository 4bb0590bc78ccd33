//! The knowledge tables that identify components: `rules/knowledge/packages.yaml`, which maps packages to components, and the tables
//! of the container toolkit, of requirements and of tools.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::EvidenceKind;
use super::container_toolkit::ToolkitKnowledge;
use super::evidence::first_numbers;
use super::naming_variables::NamingVariables;
use super::network_names::NetworkNames;
use super::pattern::matches_pattern;
use super::python_settings::PythonSettings;
use super::requirements::RequirementNames;
use super::startup_knowledge::StartupKnowledge;
use super::tool_knowledge::Tools;
use imgcheck_base::lexical::name_of;

/// Maps the packages of every package manager to components.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    components: BTreeMap<String, ComponentRow>,
    python: Vec<PackageRow>,
    dpkg: Vec<PackageRow>,
    apk: Vec<PackageRow>,
    conda: Vec<PackageRow>,
    pub(super) os: BTreeMap<String, OsRow>,
    #[serde(skip)]
    pub(super) toolkit: ToolkitKnowledge,
    #[serde(skip)]
    pub(super) requirements: RequirementNames,
    #[serde(skip)]
    pub(super) startup: StartupKnowledge,
    #[serde(skip)]
    pub(super) settings: PythonSettings,
    #[serde(skip)]
    pub(super) tools: Tools,
    #[serde(skip)]
    pub(super) network: NetworkNames,
    #[serde(skip)]
    pub(super) naming: NamingVariables,
}

/// How to recognize the files of a component, and where its version comes from.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ComponentRow {
    /// Prefix of its file names and SONAMEs: `libcudart`.
    file: Option<String>,
    /// How many numbers of a package's version belong to the component.
    pub(super) digits: Option<usize>,
    /// Set if the component consists of several files in one directory: the parts that contain its version.
    #[serde(default)]
    pub(super) set: Vec<String>,
    /// The library in the same directory that contains its version.
    pub(super) versioned_by: Option<String>,
}

impl ComponentRow {
    /// Whether a file name or SONAME belongs to the component: `libcudart.so.12`, `libcudart-e409450e.so.11.0`.
    pub(super) fn is_name(&self, name: &str) -> bool {
        let rest = self
            .file
            .as_deref()
            .and_then(|file| name.strip_prefix(file));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    }
}

/// A package name and the component it belongs to.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PackageRow {
    name: String,
    pub(super) component: String,
    /// The directory of its libraries, relative to the installation directory.
    pub(super) under: Option<String>,
    /// A Python file that assigns `__version__`, relative to the installation directory.
    pub(super) version_file: Option<String>,
}

/// How image tags spell a Linux distribution.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OsRow {
    pub(super) name: String,
    pub(super) digits: usize,
}

impl Catalogue {
    /// The packages of this catalogue, with the other tables.
    #[must_use]
    pub fn with(
        self,
        toolkit: ToolkitKnowledge,
        requirements: RequirementNames,
        startup: StartupKnowledge,
        settings: PythonSettings,
        (tools, network, naming): (Tools, NetworkNames, NamingVariables),
    ) -> Self {
        Catalogue {
            toolkit,
            requirements,
            startup,
            settings,
            tools,
            network,
            naming,
            ..self
        }
    }

    /// The component of a package; the first one if it contains several.
    pub fn component_of(&self, manager: EvidenceKind, package: &str) -> Option<&str> {
        let row = self.rows(manager, package).next()?;
        Some(&row.component)
    }

    /// The word of NVIDIA_DRIVER_CAPABILITIES that mounts a library of the driver: `video` for `libnvcuvid.so.1`.
    pub fn driver_capability(&self, library: &str) -> Option<&str> {
        let (_, capability) = self.toolkit.driver_name(library)?;
        Some(capability)
    }

    /// The rows for a package; several if it contains several components.
    pub(super) fn rows(
        &self,
        manager: EvidenceKind,
        package: &str,
    ) -> impl Iterator<Item = &PackageRow> {
        let rows: &[PackageRow] = match manager {
            EvidenceKind::PythonMetadata => &self.python,
            EvidenceKind::Dpkg => &self.dpkg,
            EvidenceKind::Apk => &self.apk,
            EvidenceKind::Conda => &self.conda,
            _ => &[],
        };
        rows.iter()
            .filter(move |row| matches_pattern(&row.name, package))
    }

    pub(super) fn component(&self, name: &str) -> Option<&ComponentRow> {
        self.components.get(name)
    }

    /// Whether a component needs a file of one of its packages: its libraries; a Python module, if these have no certain name.
    pub(super) fn is_file_of(&self, component: &str, path: &str) -> bool {
        let row = self.component(component);
        match row.filter(|it| it.file.is_some()) {
            Some(row) => row.is_name(name_of(path)),
            None => path.ends_with(".py") || path.contains(".so"),
        }
    }

    /// The part of a package's or file's version that belongs to the component.
    pub(super) fn component_version(&self, component: &str, version: &str) -> String {
        match self.component(component).and_then(|row| row.digits) {
            Some(digits) => first_numbers(version, digits).to_owned(),
            None => version.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_built_in_table_loads() {
        let catalogue = crate::knowledge::catalogue().unwrap();
        let components: Vec<_> = catalogue
            .rows(EvidenceKind::PythonMetadata, "nvidia-cublas-cu12")
            .map(|row| row.component.as_str())
            .collect();
        assert_eq!(components, ["cublas", "cublaslt"]);
        assert!(
            catalogue
                .rows(EvidenceKind::Dpkg, "libcudnn9-dev-cuda-12")
                .next()
                .is_none()
        );
        assert_eq!(
            catalogue.component_version("cuda-runtime", "12.8.90"),
            "12.8"
        );
        assert_eq!(catalogue.component_version("nccl", "2.27.3"), "2.27.3");
    }

    #[test]
    fn file_names_identify_components() {
        let catalogue = crate::knowledge::catalogue().unwrap();
        for (component, name, expected) in [
            ("cuda-runtime", "libcudart.45e7f3ed.so.12", true),
            ("cuda-runtime", "libcudart-e409450e.so.11.0", true),
            ("cudnn", "libcudnn_ops_infer.so.8", true),
            ("nvrtc", "libnvrtc-builtins.so.12.8", true),
            ("cublas", "libcublasLt.so.12", false),
            ("cublas", "libctranslate2-bc15bf3f.so.4.5.0", false),
            ("driver", "libcudart.so.12", false),
        ] {
            let row = catalogue.component(component).unwrap();
            assert_eq!(row.is_name(name), expected, "{name}");
        }
    }
}
