//! What each environment imports, and whether that meets a requirement.
//!
//! An image says how many environments there are, how many distributions they share and how many requirements those have. So each
//! requirement is read once, environments that import the same are one, and the comparisons that are left are counted.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use super::names::RequirementNames;
use crate::limits::{Limit, LimitExceeded, Limits};
use crate::stack::python::Environment;
use crate::stack::{Component, Distribution};
use crate::version::marker;
use crate::version::requirement::{Requirement, normalized};

/// What is installed, and where.
pub struct Installed<'i> {
    pub distributions: &'i [Distribution],
    /// The one of the image's process first.
    pub environments: &'i [Environment],
    /// For the releases of the interpreters.
    pub components: &'i [Component],
    /// As `platform.machine()` gives it.
    pub machine: &'static str,
}

/// Copies of one distribution in one directory that a requirement is compared with. Beside the one that is installed there may be what
/// was left of another.
const COPIES: usize = 16;

/// Bytes of a marker that cost as much as one comparison of versions.
const MARKER_BYTES: usize = 16;

/// The comparisons that were made.
pub(super) struct Checks<'l> {
    pub limits: &'l Limits,
    pub done: u64,
}

impl Checks<'_> {
    pub fn count(&mut self, more: usize) -> Result<(), LimitExceeded> {
        self.done = self.done.saturating_add(more as u64);
        self.limits.check(Limit::Requirements, self.done)
    }
}

/// An environment that requirements are judged for.
pub(super) struct Scene<'i> {
    pub environment: &'i Environment,
    /// Whether it is that of the image's process.
    pub main: bool,
    markers: marker::Environment<'i>,
}

/// The environments of an image, of those that import the same with the same Python the first.
pub(super) fn scenes<'i>(installed: &Installed<'i>) -> Vec<Scene<'i>> {
    let mut versions: HashMap<&str, &str> = HashMap::new();
    for component in installed.components.iter().filter(|it| it.name == "python") {
        let version = versions.entry(&component.path);
        version.or_insert(&component.version);
    }
    let mut seen = HashSet::new();
    let mut scenes = Vec::new();
    for (index, environment) in installed.environments.iter().enumerate() {
        let version = versions.get(environment.interpreter.as_str()).copied();
        let full_python = version.filter(|version| version.matches('.').count() >= 2);
        if seen.insert((&environment.sites, &environment.release, full_python)) {
            scenes.push(Scene {
                environment,
                main: index == 0,
                markers: marker::Environment {
                    python: &environment.release,
                    full_python,
                    machine: installed.machine,
                },
            });
        }
    }
    scenes
}

/// A requirement on a distribution of the stack, read.
pub(super) struct Required<'i> {
    pub text: &'i str,
    pub specifiers: VersionSpecifiers,
    /// Normalised.
    name: String,
    marker: Option<&'i str>,
}

/// The requirements of a distribution on those of the stack, each once; what cannot be read is passed over.
pub(super) fn of_stack<'i>(
    distribution: &'i Distribution,
    names: &RequirementNames,
) -> impl Iterator<Item = Required<'i>> {
    let mut seen = HashSet::new();
    let texts = distribution.requires.iter().map(String::as_str);
    texts
        .filter(move |text| seen.insert(*text))
        .filter_map(move |text| {
            let requirement = Requirement::parse(text).ok()?;
            let name = normalized(requirement.name);
            names.contain(&name).then_some(Required {
                text,
                specifiers: requirement.specifiers,
                name,
                marker: requirement.marker,
            })
        })
}

/// A distribution that something may require.
struct Copy<'i> {
    distribution: &'i Distribution,
    /// `None` for one that is not of the stack, or cannot be read.
    version: Option<Version>,
}

/// What can be imported, by directory and by name. A directory may hold the metadata of two releases.
pub(super) struct Visible<'i> {
    sites: HashMap<&'i str, HashMap<&'i str, Vec<Copy<'i>>>>,
}

impl<'i> Visible<'i> {
    pub fn of(installed: &Installed<'i>, names: &RequirementNames) -> Self {
        let mut sites: HashMap<&str, HashMap<&str, Vec<Copy>>> = HashMap::new();
        for distribution in installed.distributions {
            let there = sites.entry(&distribution.site).or_default();
            let copies = there.entry(&distribution.name).or_default();
            let of_stack = names.contain(&distribution.name);
            let version = of_stack.then(|| Version::from_str(&distribution.version).ok());
            copies.push(Copy {
                distribution,
                version: version.flatten(),
            });
        }
        Visible { sites }
    }

    /// The copies of a distribution that an environment imports: all of the first of its directories that has any.
    fn copies(&self, environment: &Environment, name: &str) -> &[Copy<'i>] {
        let mut sites = environment.sites.iter();
        let copies = sites.find_map(|site| self.sites.get(site.as_str())?.get(name));
        copies.map_or(&[], Vec::as_slice)
    }

    /// Those of some environments that import a distribution, and not one of the same name before it.
    pub fn importing<'s>(
        &self,
        scenes: &[&'s Scene<'i>],
        distribution: &Distribution,
        checks: &mut Checks,
    ) -> Result<Vec<&'s Scene<'i>>, LimitExceeded> {
        let mut importing = Vec::new();
        for scene in scenes {
            checks.count(scene.environment.sites.len())?;
            let copies = self.copies(scene.environment, &distribution.name);
            let first = copies.first();
            if first.is_some_and(|first| first.distribution.site == distribution.site) {
                importing.push(*scene);
            }
        }
        Ok(importing)
    }

    /// What is installed in the place of what is required; `None` if the requirement is met, does not apply, or names something
    /// that is not installed.
    pub fn unmet_by(
        &self,
        required: &Required,
        scene: &Scene,
        checks: &mut Checks,
    ) -> Result<Option<&'i Distribution>, LimitExceeded> {
        checks.count(scene.environment.sites.len())?;
        let copies = self.copies(scene.environment, &required.name);
        let Some(first) = copies.first() else {
            return Ok(None);
        };
        let compared = &copies[..copies.len().min(COPIES)];
        checks.count(compared.len() * required.specifiers.len())?;
        // A version that cannot be read is not compared.
        let met = |copy: &Copy| {
            let version = copy.version.as_ref();
            version.is_none_or(|version| meets(version, &required.specifiers))
        };
        if compared.iter().any(met) {
            return Ok(None);
        }
        let applies = match required.marker {
            None => true,
            Some(marker) => {
                checks.count(marker.len() / MARKER_BYTES)?;
                marker::holds(marker, &scene.markers) == Ok(Some(true))
            }
        };
        Ok(applies.then_some(first.distribution))
    }
}

fn meets(version: &Version, specifiers: &VersionSpecifiers) -> bool {
    let release = || Version::new(version.release().iter().copied());
    specifiers.contains(version) || version.any_prerelease() && specifiers.contains(&release())
}
