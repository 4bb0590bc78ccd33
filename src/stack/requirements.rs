//! Requirements of installed Python distributions on those of the GPU stack: who pins another release of what than is installed.
//!
//! The comparison is that of `pip check`: requirements of extras do not count, pre-releases may satisfy, and a local label counts
//! only where the requirement has one (PEP 440): `torch==2.8.0` is met by 2.8.0+cu128. One thing is judged more mildly: a build of a
//! development branch, such as NVIDIA's `2.8.0a0+34c6371d24.nv25.8`, also meets what its release would meet, for nobody can say
//! which of the release's features it has.
//!
//! A requirement whose marker asks for what an image does not tell, such as the host's kernel, does not count either.
//! What is not installed at all is not looked at: whether it is missed is what the loader model tells.

mod compare;
mod names;

use std::collections::HashMap;

use oci_spec::image::Arch;
use pep440_rs::{Operator, VersionSpecifiers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;
use super::python::Labels;
use crate::limits::{LimitExceeded, Limits};
pub(super) use compare::Installed;
pub(super) use names::RequirementNames;

use compare::{Checks, Required, Scene, Visible, of_stack, scenes};

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
    /// The requirement as written: `torch==2.8.0`.
    pub requirement: String,
    /// What is required, normalised: `torch`.
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

/// `platform.machine()` of an image for an architecture (names of Go's GOARCH); empty for one that no wheel of the stack is for.
pub(super) fn machine(architecture: &Arch) -> &'static str {
    match architecture {
        Arch::Amd64 => "x86_64",
        Arch::ARM64 => "aarch64",
        Arch::PowerPC64le => "ppc64le",
        _ => "",
    }
}

/// The requirements that are not met, those of the image's process first, each once: for the first environment that does not meet it.
///
/// # Errors
/// There are so many environments and requirements that comparing them would pass [`Limit::Requirements`].
pub(super) fn unmet(
    installed: &Installed,
    names: &RequirementNames,
    limits: &Limits,
) -> Result<Vec<UnmetRequirement>, LimitExceeded> {
    let mut checks = Checks { limits, done: 0 };
    let visible = Visible::of(installed, names);
    let scenes = scenes(installed);
    let mut scenes_of_site: HashMap<&str, Vec<&Scene>> = HashMap::new();
    for scene in &scenes {
        for site in &scene.environment.sites {
            let there = scenes_of_site.entry(site).or_default();
            there.push(scene);
        }
    }
    let labels = Labels::of(installed.environments);
    let mut unmet: Vec<UnmetRequirement> = Vec::new();
    for distribution in installed.distributions {
        let mut requirements = of_stack(distribution, names).peekable();
        // Most distributions require nothing of the stack.
        if requirements.peek().is_none() {
            continue;
        }
        let scenes = scenes_of_site.get(distribution.site.as_str());
        let scenes = scenes.map_or(&[][..], Vec::as_slice);
        let scenes = visible.importing(scenes, distribution, &mut checks)?;
        for required in requirements {
            for scene in &scenes {
                if let Some(found) = visible.unmet_by(&required, scene, &mut checks)? {
                    unmet.push(UnmetRequirement {
                        environment: labels.label(scene.environment),
                        main: scene.main,
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

/// A requirement, what has it and what is installed in its place.
fn described(
    distribution: &Distribution,
    required: &Required,
    found: &Distribution,
) -> UnmetRequirement {
    UnmetRequirement {
        distribution: distribution.name.clone(),
        version: distribution.version.clone(),
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

/// The version that specifiers ask for, if it is a single one.
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
