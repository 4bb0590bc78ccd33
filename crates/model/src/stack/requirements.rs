//! Unmet requirements of installed Python distributions on distributions of the GPU stack.
//!
//! The comparison follows `pip check`: requirements of extras do not count, pre-releases may satisfy a requirement, and a local label
//! matters only if the requirement has one (PEP 440): 2.8.0+cu128 satisfies `torch==2.8.0`. There is one exception: a build from a
//! development branch, such as NVIDIA's `2.8.0a0+34c6371d24.nv25.8`, also satisfies what its release would satisfy, because it may
//! have any of the release's features.
//!
//! A requirement does not count if its marker depends on something that the image does not determine, such as the host's kernel.
//! Distributions that are not installed are ignored: the loader model reports missing libraries.

mod compare;
mod names;

use std::collections::HashMap;

use oci_spec::image::Arch;
use pep440_rs::{Operator, VersionSpecifiers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;
use super::python::Labels;
pub(super) use compare::Installed;
use imgcheck_base::limits::{LimitExceeded, Limits};
pub(super) use names::RequirementNames;

use compare::{
    Checks, EnvironmentMarkers, GpuRequirement, ImportableDistributions, distinct_environments,
    gpu_requirements,
};

/// A requirement that what is installed does not meet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UnmetRequirement {
    /// The distribution that has the requirement: `torchvision`.
    pub distribution: String,
    /// Its version.
    pub version: String,
    /// Whether it is of the GPU stack itself.
    pub of_stack: bool,
    /// Whether the distribution compares the versions itself when it is imported, and refuses to go on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_import: bool,
    /// The requirement as written: `torch==2.8.0`.
    pub requirement: String,
    /// What is required, normalized: `torch`.
    pub name: String,
    /// Which versions of it: `==2.8.0`.
    pub specifiers: String,
    /// The one version that is required, if it is one: `2.8.0`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pin: String,
    /// The version that is installed.
    pub found: String,
    /// The metadata file that has the requirement.
    pub path: String,
    /// The layer that brought it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// The metadata file of what is installed.
    pub found_path: String,
    /// The layer that brought what is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_layer: Option<usize>,
    /// The environment, by its prefix: `/opt/venv`, or `/usr with Python 3.13` beside another Python.
    pub environment: String,
    /// Whether that is the environment of the image's process.
    pub main: bool,
}

/// `platform.machine()` for an image architecture (a GOARCH value); empty if no wheel of the GPU stack supports it.
pub fn machine(architecture: &Arch) -> &'static str {
    match architecture {
        Arch::Amd64 => "x86_64",
        Arch::ARM64 => "aarch64",
        Arch::PowerPC64le => "ppc64le",
        _ => "",
    }
}

/// The unmet requirements, starting with those of the main process. Each is reported once, for the first environment that does not meet it.
///
/// # Errors
/// Comparing all environments and requirements would exceed [`Limit::Requirements`](imgcheck_base::limits::Limit::Requirements).
pub(super) fn unmet(
    installed: &Installed,
    names: &RequirementNames,
    limits: &Limits,
) -> Result<Vec<UnmetRequirement>, LimitExceeded> {
    let mut checks = Checks { limits, done: 0 };
    let importable = ImportableDistributions::of(installed, names);
    let environments = distinct_environments(installed);
    let mut environments_of_site: HashMap<&str, Vec<&EnvironmentMarkers>> = HashMap::new();
    for environment in &environments {
        for site in &environment.environment.sites {
            let there = environments_of_site.entry(site).or_default();
            there.push(environment);
        }
    }
    let labels = Labels::of(installed.environments);
    let mut unmet: Vec<UnmetRequirement> = Vec::new();
    for distribution in installed.distributions {
        let mut requirements = gpu_requirements(distribution, names).peekable();
        // Most distributions have no requirements on the GPU stack.
        if requirements.peek().is_none() {
            continue;
        }
        let environments = environments_of_site.get(distribution.site.as_str());
        let environments = environments.map_or(&[][..], Vec::as_slice);
        let environments = importable.importing(environments, distribution, &mut checks)?;
        for required in requirements {
            for environment in &environments {
                if let Some(found) = importable.unmet_by(&required, environment, &mut checks)? {
                    unmet.push(UnmetRequirement {
                        environment: labels.label(environment.environment),
                        main: environment.main,
                        of_stack: names.contain(&distribution.name),
                        ..described(distribution, &required, found)
                    });
                    break;
                }
            }
        }
    }
    unmet.sort_by(|a, b| {
        let order = a.main.cmp(&b.main).reverse();
        order.then_with(|| (&a.path, &a.requirement).cmp(&(&b.path, &b.requirement)))
    });
    Ok(unmet)
}

/// Describes a requirement, the distribution that has it and the distribution that is installed instead.
fn described(
    distribution: &Distribution,
    required: &GpuRequirement,
    found: &Distribution,
) -> UnmetRequirement {
    UnmetRequirement {
        distribution: distribution.name.clone(),
        version: distribution.version.clone(),
        at_import: required.at_import,
        requirement: required.text.to_owned(),
        name: found.name.clone(),
        pin: pin(&required.specifiers).unwrap_or_default(),
        specifiers: required.specifiers.to_string(),
        found: found.version.clone(),
        path: distribution.path.clone(),
        layer: distribution.layer,
        found_path: found.path.clone(),
        found_layer: found.layer,
        ..UnmetRequirement::default()
    }
}

/// The version that the specifiers require, if it is a single one.
fn pin(specifiers: &VersionSpecifiers) -> Option<String> {
    match &**specifiers {
        [one] if matches!(one.operator(), Operator::Equal | Operator::ExactEqual) => {
            Some(one.version().to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
