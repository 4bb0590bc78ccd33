//! What each environment imports, and whether it satisfies a requirement.
//!
//! The image controls the number of environments, of distributions that they share, and of requirements. So each requirement is
//! parsed once, environments with the same imports count as one, and the remaining comparisons are limited.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use super::names::RequirementNames;
use crate::stack::python::Environment;
use crate::stack::{Component, Distribution};
use imgcheck_base::limits::{Limit, LimitExceeded, Limits};
use imgcheck_base::version::marker;
use imgcheck_base::version::requirement::{Requirement, normalized};

/// The installed distributions and environments.
pub struct Installed<'i> {
    pub distributions: &'i [Distribution],
    /// The main process's environment comes first.
    pub environments: &'i [Environment],
    /// Used for the patch releases of the interpreters.
    pub components: &'i [Component],
    /// The value of `platform.machine()`.
    pub machine: &'static str,
}

/// How many copies of a distribution in one directory are compared with a requirement. A directory may contain leftovers of other
/// releases.
const COPIES: usize = 16;

/// Marker bytes that count as one version comparison.
const MARKER_BYTES: usize = 16;

/// Counts the comparisons against the limit.
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

/// An environment with the values of its markers.
pub(super) struct EnvironmentMarkers<'i> {
    pub environment: &'i Environment,
    /// Whether the main process uses it.
    pub main: bool,
    markers: marker::Environment<'i>,
}

/// The environments of an image; of those with the same imports and the same Python, only the first.
pub(super) fn distinct_environments<'i>(installed: &Installed<'i>) -> Vec<EnvironmentMarkers<'i>> {
    let mut versions: HashMap<&str, &str> = HashMap::new();
    for component in installed.components.iter().filter(|it| it.name == "python") {
        let version = versions.entry(&component.path);
        version.or_insert(&component.version);
    }
    let mut seen = HashSet::new();
    let mut environments = Vec::new();
    for (index, environment) in installed.environments.iter().enumerate() {
        let version = versions.get(environment.interpreter.as_str()).copied();
        let full_python = version.filter(|version| version.matches('.').count() >= 2);
        if seen.insert((&environment.sites, &environment.release, full_python)) {
            environments.push(EnvironmentMarkers {
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
    environments
}

/// A parsed requirement on a distribution of the GPU stack.
pub(super) struct GpuRequirement<'i> {
    pub text: &'i str,
    pub specifiers: VersionSpecifiers,
    /// Normalized as in PEP 503.
    name: String,
    marker: Option<&'i str>,
    /// The distribution compares the versions itself when it is imported.
    pub at_import: bool,
}

/// The requirements of a distribution on the GPU stack, without duplicates; invalid ones are skipped.
pub(super) fn gpu_requirements<'i>(
    distribution: &'i Distribution,
    names: &RequirementNames,
) -> impl Iterator<Item = GpuRequirement<'i>> {
    let mut seen = HashSet::new();
    let texts = distribution.requires.iter().map(String::as_str);
    texts
        .filter(move |text| seen.insert(*text))
        .filter_map(move |text| {
            let requirement = Requirement::parse(text).ok()?;
            let name = normalized(requirement.name);
            let at_import = names.are_compared(distribution, &name);
            (at_import || names.contain(&name)).then_some(GpuRequirement {
                text,
                specifiers: requirement.specifiers,
                name,
                marker: requirement.marker,
                at_import,
            })
        })
}

/// An installed copy of a distribution.
struct InstalledCopy<'i> {
    distribution: &'i Distribution,
    /// `None` if the distribution does not belong to the GPU stack, or if the version is invalid.
    version: Option<Version>,
}

/// The distributions that can be imported, by directory and name. A directory may contain the metadata of several releases.
pub(super) struct ImportableDistributions<'i> {
    sites: HashMap<&'i str, HashMap<&'i str, Vec<InstalledCopy<'i>>>>,
}

impl<'i> ImportableDistributions<'i> {
    pub fn of(installed: &Installed<'i>, names: &RequirementNames) -> Self {
        let mut sites: HashMap<&str, HashMap<&str, Vec<InstalledCopy>>> = HashMap::new();
        for distribution in installed.distributions {
            let there = sites.entry(&distribution.site).or_default();
            let copies = there.entry(&distribution.name).or_default();
            let of_stack = names.matter(&distribution.name);
            let version = of_stack.then(|| Version::from_str(&distribution.version).ok());
            copies.push(InstalledCopy {
                distribution,
                version: version.flatten(),
            });
        }
        ImportableDistributions { sites }
    }

    /// The copies in the first directory of an environment that contains the distribution.
    fn copies(&self, environment: &Environment, name: &str) -> &[InstalledCopy<'i>] {
        let mut sites = environment.sites.iter();
        let copies = sites.find_map(|site| self.sites.get(site.as_str())?.get(name));
        copies.map_or(&[], Vec::as_slice)
    }

    /// The environments that import this distribution rather than one with the same name from an earlier directory.
    pub fn importing<'s>(
        &self,
        environments: &[&'s EnvironmentMarkers<'i>],
        distribution: &Distribution,
        checks: &mut Checks,
    ) -> Result<Vec<&'s EnvironmentMarkers<'i>>, LimitExceeded> {
        let mut importing = Vec::new();
        for environment in environments {
            checks.count(environment.environment.sites.len())?;
            let copies = self.copies(environment.environment, &distribution.name);
            let first = copies.first();
            if first.is_some_and(|first| first.distribution.site == distribution.site) {
                importing.push(*environment);
            }
        }
        Ok(importing)
    }

    /// The installed distribution that does not satisfy a requirement; `None` if the requirement is met, does not apply, or names a
    /// distribution that is not installed.
    pub fn unmet_by(
        &self,
        required: &GpuRequirement,
        environment: &EnvironmentMarkers,
        checks: &mut Checks,
    ) -> Result<Option<&'i Distribution>, LimitExceeded> {
        checks.count(environment.environment.sites.len())?;
        let copies = self.copies(environment.environment, &required.name);
        let Some(first) = copies.first() else {
            return Ok(None);
        };
        let compared = &copies[..copies.len().min(COPIES)];
        checks.count(compared.len() * required.specifiers.len())?;
        // An invalid version counts as satisfying.
        let met = |copy: &InstalledCopy| {
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
                marker::holds(marker, &environment.markers) == Ok(Some(true))
            }
        };
        Ok(applies.then_some(first.distribution))
    }
}

fn meets(version: &Version, specifiers: &VersionSpecifiers) -> bool {
    let release = || Version::new(version.release().iter().copied());
    specifiers.contains(version) || version.any_prerelease() && specifiers.contains(&release())
}
