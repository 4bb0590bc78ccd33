//! Requirements of installed Python distributions on those of the GPU stack: who pins another release of what than is installed.
//!
//! The comparison is that of `pip check`: requirements of extras do not count, pre-releases may satisfy, and a local label counts
//! only where the requirement has one (PEP 440): `torch==2.8.0` is met by 2.8.0+cu128. One thing is judged more mildly: a build of a
//! development branch, such as NVIDIA's `2.8.0a0+34c6371d24.nv25.8`, also meets what its release would meet, for nobody can say
//! which of the release's features it has.
//!
//! A requirement whose marker asks for what an image does not tell, such as the host's kernel, does not count either.
//! What is not installed at all is not looked at: whether it is missed is what the loader model tells.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use oci_spec::image::Arch;
use pep440_rs::{Operator, Version, VersionSpecifiers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalogue::matches_pattern;
use super::python::Environment;
use super::{Component, Distribution};
use crate::version::marker;
use crate::version::requirement::{Requirement, normalized};

/// Copies of one distribution in one directory that a requirement is compared with. Beside the one that is installed there may be what
/// was left of another.
const COPIES: usize = 16;

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

/// The table `rules/knowledge/requirements.yaml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequirementNames {
    names: Vec<String>,
}

/// What is installed, and where.
pub(super) struct Installed<'i> {
    pub distributions: &'i [Distribution],
    /// The one of the image's process first.
    pub environments: &'i [Environment],
    /// For the releases of the interpreters.
    pub components: &'i [Component],
    /// As `platform.machine()` gives it.
    pub machine: &'static str,
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

/// The requirements that are not met, environment by environment, each once.
pub(super) fn unmet(installed: &Installed, names: &RequirementNames) -> Vec<UnmetRequirement> {
    let mut unmet: Vec<UnmetRequirement> = Vec::new();
    let mut known: HashSet<(&str, &str)> = HashSet::new();
    let mut sites: HashMap<&str, Vec<&Distribution>> = HashMap::new();
    for distribution in installed.distributions {
        let site = sites.entry(&distribution.site).or_default();
        site.push(distribution);
    }
    for (index, environment) in installed.environments.iter().enumerate() {
        let visible = visible(&sites, environment);
        let stack: HashMap<&str, &Vec<&Distribution>> = visible
            .iter()
            .filter(|(name, _)| names.names.iter().any(|it| matches_pattern(it, name)))
            .map(|(name, copies)| (*name, copies))
            .collect();
        if stack.is_empty() {
            continue;
        }
        let markers = markers(installed, environment);
        let labels = super::python::Labels::of(installed.environments);
        for distribution in visible.values().flatten() {
            for text in &distribution.requires {
                let wrong = requirement(text, &stack, &markers);
                let Some((requirement, found)) = wrong else {
                    continue;
                };
                if !known.insert((&distribution.path, text)) {
                    continue;
                }
                unmet.push(UnmetRequirement {
                    distribution: distribution.name.clone(),
                    version: distribution.version.clone(),
                    of_stack: stack.contains_key(distribution.name.as_str()),
                    requirement: text.clone(),
                    name: found.name.clone(),
                    pin: pin(&requirement).unwrap_or_default(),
                    specifiers: requirement.to_string(),
                    found: found.version.clone(),
                    path: distribution.path.clone(),
                    layer: distribution.layer,
                    found_path: found.path.clone(),
                    found_layer: found.layer,
                    environment: labels.label(environment),
                    main: index == 0,
                });
            }
        }
    }
    unmet.sort_by(|a, b| {
        let order = a.main.cmp(&b.main).reverse();
        order.then_with(|| (&a.path, &a.requirement).cmp(&(&b.path, &b.requirement)))
    });
    unmet
}

/// What an environment imports, by name: of a distribution in several of its directories that of the first, and there all copies, for
/// a directory may hold the metadata of two releases.
fn visible<'i>(
    sites: &HashMap<&str, Vec<&'i Distribution>>,
    environment: &Environment,
) -> HashMap<&'i str, Vec<&'i Distribution>> {
    let mut visible: HashMap<&str, Vec<&Distribution>> = HashMap::new();
    for site in &environment.sites {
        for distribution in sites.get(site.as_str()).into_iter().flatten().copied() {
            let copies = visible.entry(&distribution.name).or_default();
            if copies.first().is_none_or(|first| first.site == *site) {
                copies.push(distribution);
            }
        }
    }
    visible
}

/// What the markers of requirements are judged for.
fn markers<'i>(installed: &'i Installed, environment: &'i Environment) -> marker::Environment<'i> {
    let interpreter = installed
        .components
        .iter()
        .find(|it| it.name == "python" && it.path == environment.interpreter);
    let version = interpreter.map(|it| it.version.as_str());
    marker::Environment {
        python: &environment.release,
        full_python: version.filter(|version| version.matches('.').count() >= 2),
        machine: installed.machine,
    }
}

/// The versions that a requirement asks for, and what is installed in their place; `None` if it is met, does not apply, cannot be
/// read, or speaks of something that is not installed.
fn requirement<'i>(
    text: &str,
    stack: &HashMap<&str, &Vec<&'i Distribution>>,
    environment: &marker::Environment,
) -> Option<(VersionSpecifiers, &'i Distribution)> {
    let requirement = Requirement::parse(text).ok()?;
    let copies = stack.get(normalized(requirement.name).as_str())?;
    let applies = requirement
        .marker
        .map_or(Ok(Some(true)), |marker| marker::holds(marker, environment));
    if applies != Ok(Some(true)) {
        return None;
    }
    let specifiers = requirement.specifiers;
    // A version that cannot be read is not compared.
    let met = |copy: &&Distribution| meets(&copy.version, &specifiers).unwrap_or(true);
    match copies.iter().take(COPIES).any(met) {
        true => None,
        false => copies.first().map(|copy| (specifiers, *copy)),
    }
}

fn meets(version: &str, specifiers: &VersionSpecifiers) -> Option<bool> {
    let version = Version::from_str(version).ok()?;
    let release = || Version::new(version.release().iter().copied());
    let is_met = specifiers.contains(&version)
        || version.any_prerelease() && specifiers.contains(&release());
    Some(is_met)
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
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const SITE: &str = "/usr/lib/python3/dist-packages";

    fn distribution(name: &str, version: &str, requires: &[&str]) -> Distribution {
        Distribution {
            name: name.to_owned(),
            version: version.to_owned(),
            requires: requires.iter().map(|it| (*it).to_owned()).collect(),
            site: SITE.to_owned(),
            path: format!("{SITE}/{name}-{version}.dist-info/METADATA"),
            layer: Some(1),
        }
    }

    fn environment(sites: &[&str]) -> Environment {
        Environment {
            prefix: "/usr".to_owned(),
            interpreter: "/usr/bin/python3.11".to_owned(),
            release: "3.11".to_owned(),
            sites: sites.iter().map(|it| (*it).to_owned()).collect(),
            is_virtual: false,
        }
    }

    fn unmet_of(distributions: &[Distribution], sites: &[&str]) -> Vec<UnmetRequirement> {
        let installed = Installed {
            distributions,
            environments: &[environment(sites)],
            components: &[],
            machine: "x86_64",
        };
        let names = crate::embedded::knowledge("requirements").unwrap();
        unmet(&installed, &names)
    }

    /// The requirement of a package `torchvision` on what is installed.
    fn is_met(requirement: &str, name: &str, version: &str) -> bool {
        let distributions = [
            distribution("torchvision", "0.23.0", &[requirement]),
            distribution(name, version, &[]),
        ];
        unmet_of(&distributions, &[SITE]).is_empty()
    }

    #[test]
    fn versions_are_compared_as_pip_does() {
        for (requirement, version, met) in [
            ("torch==2.8.0", "2.8.0", true),
            ("torch==2.8.0", "2.8.0+cu128", true),
            ("torch==2.8.0+cu128", "2.8.0+cu126", false),
            ("torch==2.8.0", "2.9.1", false),
            ("torch (>=1.10,<2)", "2.8.0", false),
            ("Torch>=2.8", "2.8.0a0+34c6371d24.nv25.8", true),
            ("torch>=2.9", "2.8.0a0+34c6371d24.nv25.8", false),
            ("torch<2.8", "2.8.0a0+34c6371d24.nv25.8", false),
            ("torch", "1.0", true),
            ("torch==2.9.*", "2.9.1", true),
            ("torch===2.9.0", "2.9.0+cu128", false),
            ("torch>=2", "not a version", true),
        ] {
            assert_eq!(
                is_met(requirement, "torch", version),
                met,
                "{requirement} {version}"
            );
        }
    }

    #[test]
    fn requirements_that_do_not_apply() {
        for requirement in [
            "torch==1; sys_platform == 'win32'",
            "torch==1; platform_machine == 'aarch64'",
            "torch==1; python_version < '3.9'",
            "torch==1; extra == 'test'",
            "torch @ https://example.org/torch.whl",
            "numpy<1",
            "torch==1; platform_release == ''",
            "torch==1; python_full_version < '3.11.4'",
            "torch==",
            "torch.",
            "9.",
            "torch==1; os_name == \u{e9}",
            "",
        ] {
            assert!(is_met(requirement, "torch", "2.8.0"), "{requirement}");
        }
        let linux = r#"torch==1; platform_system == "Linux" and platform_machine == "x86_64""#;
        assert!(!is_met(linux, "torch", "2.8.0"));
    }

    /// One of two metadata directories in one place is a leftover, and the first place on the path wins over the next.
    #[test]
    fn the_copy_that_is_imported_counts() {
        let vision = distribution("torchvision", "0.23.0", &["torch==2.8.0"]);
        let other = Distribution {
            site: "/opt/site".to_owned(),
            ..distribution("torch", "2.9.0", &[])
        };
        let right = distribution("torch", "2.8.0", &[]);
        let leftover = distribution("torch", "2.7.0", &[]);
        let all = [vision, other, right, leftover];
        assert_eq!(unmet_of(&all, &[SITE, "/opt/site"]), []);
        let found = unmet_of(&all, &["/opt/site", SITE]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].found, "2.9.0");
        assert_eq!(found[0].specifiers, "==2.8.0");
        assert_eq!(found[0].pin, "2.8.0");
        assert!(found[0].main);
    }

    /// Markers that would take a reader for ever, and parentheses that would take its stack, are passed over.
    #[test]
    fn hostile_requirements_are_passed_over() {
        let pairs: Vec<String> = (0..60)
            .map(|n| format!("(os_name=='a{n}' and os_name!='b{n}')"))
            .collect();
        let alternatives = format!("torch==1; {}", pairs.join(" or "));
        let deep = format!(
            "torch==1; {}os_name=='x'{}",
            "(".repeat(400),
            ")".repeat(400)
        );
        let long = format!("torch=={}", "1.".repeat(100_000));
        for requirement in [alternatives, deep, long] {
            assert!(is_met(&requirement, "torch", "2.8.0"));
        }
    }

    proptest::proptest! {
        /// Names that end in a dot and markers that are not ASCII among them.
        #[test]
        fn no_requirement_panics(text in "torch([.-]|.{0,12}|==1; ?.{0,30})") {
            let _ = is_met(&text, "torch", "2.8.0");
            let _ = is_met(&text, "torch-", "2.8.0");
        }
    }

    #[test]
    fn a_large_environment_is_quick() {
        let many = |index: usize| {
            let requires: Vec<String> = (0..40)
                .map(|n| format!("package-{n}>=1.0; extra == 'all'"))
                .collect();
            let requires: Vec<&str> = requires.iter().map(String::as_str).collect();
            distribution(&format!("package-{index}"), "1.0", &requires)
        };
        let mut all: Vec<Distribution> = (0..500).map(many).collect();
        all.push(distribution(
            "torch",
            "2.8.0",
            &["nvidia-cudnn-cu12==9.10.2.21"],
        ));
        all.push(distribution("nvidia-cudnn-cu12", "9.1.0.70", &[]));
        let started = std::time::Instant::now();
        assert_eq!(unmet_of(&all, &[SITE]).len(), 1);
        assert!(
            started.elapsed() < std::time::Duration::from_secs(3),
            "{:?}",
            started.elapsed()
        );
    }
}
