//! The environment variables that the toolkit reads from an image.

use std::collections::BTreeMap;

use super::facts::{
    AlternativeFacts, Capabilities, ContainerToolkit, Devices, OldestDriver, RequirementFacts,
};
use super::knowledge::ToolkitKnowledge;
use super::requirement::{Host, Invalid, Property, Requirement, Verdict};
use super::satisfiable::{Satisfiable, satisfiable};

const REQUIRE: &str = "NVIDIA_REQUIRE_";
const REQUIRE_CUDA: &str = "NVIDIA_REQUIRE_CUDA";
/// Which files Jetson's toolkit mounts: no requirement in spite of its name.
const REQUIRE_JETPACK: &str = "NVIDIA_REQUIRE_JETPACK";

type Variables = BTreeMap<String, String>;

pub(super) fn read(variables: &Variables, knowledge: &ToolkitKnowledge) -> ContainerToolkit {
    let value = |name: &str| variables.get(name).map(String::as_str);
    let is_set = |name: &str| value(name).is_some_and(|value| !value.is_empty());
    let legacy = is_set("CUDA_VERSION") && !is_set(REQUIRE_CUDA);
    let requirements = requirements(variables, legacy);
    let oldest = oldest(&requirements, knowledge);
    let satisfiable = match oldest {
        Some(_) => Satisfiable::Possible,
        None => {
            let requirements: Vec<_> = requirements.iter().map(|(it, _)| it).collect();
            satisfiable(&requirements, knowledge)
        }
    };
    ContainerToolkit {
        legacy,
        requirements_disabled: value("NVIDIA_DISABLE_REQUIRE").is_some_and(is_true),
        oldest,
        contradictory: satisfiable == Satisfiable::Never,
        newer_than_known: satisfiable == Satisfiable::NewerDriver,
        requirements: requirements.into_iter().map(|(_, facts)| facts).collect(),
        capabilities: capabilities(value("NVIDIA_DRIVER_CAPABILITIES"), legacy, knowledge),
        devices: devices(value("NVIDIA_VISIBLE_DEVICES"), legacy),
        ..ContainerToolkit::default()
    }
}

/// What `apptainer --nv` does: it reads no variable of the image, and binds all GPUs and the libraries of `nvliblist.conf`, which are of
/// all capabilities.
pub(super) fn without_toolkit(knowledge: &ToolkitKnowledge) -> ContainerToolkit {
    let all = knowledge.capabilities.iter().map(|row| row.name.clone());
    ContainerToolkit {
        capabilities: Capabilities {
            enabled: all.collect(),
            ..Capabilities::default()
        },
        devices: Devices {
            text: None,
            visible: true,
        },
        ..ContainerToolkit::default()
    }
}

/// As Go's `strconv.ParseBool`; what it cannot read is false.
fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

fn requirements(variables: &Variables, legacy: bool) -> Vec<(Requirement, RequirementFacts)> {
    let written = variables
        .iter()
        .filter(|(name, _)| name.starts_with(REQUIRE) && !name.starts_with(REQUIRE_JETPACK))
        .map(|(name, text)| requirement(name, text, text));
    let version = variables.get("CUDA_VERSION").filter(|_| legacy);
    let implied = version.map(|version| match major_minor(version) {
        Some(cuda) => requirement("CUDA_VERSION", version, &format!("cuda>={cuda}")),
        None => {
            let facts = RequirementFacts {
                variable: "CUDA_VERSION".to_owned(),
                text: version.clone(),
                invalid: vec![Invalid {
                    text: version.clone(),
                    problem: "it is no version".to_owned(),
                }],
                ..RequirementFacts::default()
            };
            (Requirement::parse(version), facts)
        }
    });
    written.chain(implied).collect()
}

fn requirement(variable: &str, text: &str, rule: &str) -> (Requirement, RequirementFacts) {
    let requirement = Requirement::parse(rule);
    let alternatives = requirement.alternatives().map(|constraints| {
        let constraints = constraints.into_iter().cloned().collect();
        AlternativeFacts { constraints }
    });
    let facts = RequirementFacts {
        variable: variable.to_owned(),
        text: text.to_owned(),
        alternatives: alternatives.collect(),
        invalid: requirement.invalid(),
    };
    (requirement, facts)
}

/// The first two numbers of a semantic version, zeros for those that are left out: `121.0` of `121`. `None` where the toolkit's
/// `semver.IsValid` finds none: more than three numbers, a leading zero, or fewer than three before `-` or `+`.
fn major_minor(version: &str) -> Option<String> {
    let version = version.strip_prefix('v').unwrap_or(version);
    let end = version.find(['-', '+']).unwrap_or(version.len());
    let is_number = |text: &&str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text.len() == 1 || !text.starts_with('0'))
    };
    let numbers: Vec<&str> = version[..end].split('.').collect();
    let suffix = version.get(end + 1..);
    let is_whole = suffix.is_none_or(|suffix| numbers.len() == 3 && !suffix.is_empty());
    if numbers.len() > 3 || !is_whole || !numbers.iter().all(is_number) {
        return None;
    }
    let minor = numbers.get(1).unwrap_or(&"0");
    Some(format!("{}.{minor}", numbers[0]))
}

/// The oldest branch that meets all requirements: on a GPU whose brand none of them names or, if there is none, on any. None where
/// no requirement is about CUDA or the driver: nobody asked then.
fn oldest(
    requirements: &[(Requirement, RequirementFacts)],
    knowledge: &ToolkitKnowledge,
) -> Option<OldestDriver> {
    let alternatives = requirements.iter().flat_map(|(it, _)| it.alternatives());
    let mut constraints = alternatives.flatten();
    if !constraints.any(|it| matches!(it.property, Property::Cuda | Property::Driver)) {
        return None;
    }
    let find = |brand: Option<&str>| {
        let mut branches = knowledge.branches.iter();
        branches.find(|row| {
            // A branch is met by any of its releases, of which only the first is known.
            let last = format!("{}.999.99", row.branch);
            let drivers = [row.first_driver.as_str(), &last];
            drivers.into_iter().any(|driver| {
                let host = Host {
                    cuda: Some(&row.max_cuda),
                    driver: Some(driver),
                    arch: None,
                    brand,
                };
                let mut requirements = requirements.iter();
                requirements.all(|(requirement, _)| requirement.judge(&host) == Verdict::Met)
            })
        })
    };
    let row = find(Some("")).or_else(|| find(None))?;
    Some(OldestDriver {
        branch: row.branch.clone(),
        cuda: row.max_cuda.clone(),
        driver: row.first_driver.clone(),
    })
}

fn capabilities(text: Option<&str>, legacy: bool, knowledge: &ToolkitKnowledge) -> Capabilities {
    let all = || knowledge.capabilities.iter().map(|row| row.name.clone());
    let words = text.unwrap_or_default().split(',').map(str::trim);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_known = |word: &&str| all().any(|known| known == **word);
    let enabled = match text {
        None if legacy => all().collect(),
        _ if words.is_empty() => knowledge.default.clone(),
        _ if words.contains(&"all") => all().collect(),
        _ => words
            .iter()
            .filter(|word| is_known(word))
            .map(|word| (*word).to_owned())
            .collect(),
    };
    let unknown = words
        .iter()
        .filter(|word| !is_known(word) && !words.contains(&"all"));
    Capabilities {
        text: text.map(str::to_owned),
        enabled,
        unknown: unknown.map(|word| (*word).to_owned()).collect(),
    }
}

fn devices(text: Option<&str>, legacy: bool) -> Devices {
    let mut devices = text.unwrap_or_default().split(',').map(str::trim);
    let visible = match text {
        None => legacy,
        Some(_) => {
            let named: Vec<&str> = devices
                .by_ref()
                .filter(|device| !device.is_empty())
                .collect();
            !named.is_empty()
                && !named
                    .iter()
                    .any(|device| matches!(*device, "void" | "none"))
        }
    };
    Devices {
        text: text.map(str::to_owned),
        visible,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn toolkit(variables: &[(&str, &str)]) -> ContainerToolkit {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        read(&variables, &crate::knowledge::container_toolkit().unwrap())
    }

    /// The beginning of what the images of nvidia/cuda 12.8 set.
    const CUDA_12_8: &str = "cuda>=12.8 brand=unknown,driver>=470,driver<471 brand=tesla,driver>=470,driver<471 \
        brand=tesla,driver>=535,driver<536 brand=tesla,driver>=550,driver<551";

    #[test]
    fn the_oldest_driver_is_that_of_a_gpu_without_exceptions() {
        let oldest = |variables: &[(&str, &str)]| toolkit(variables).oldest.map(|it| it.cuda);
        let require = |text| oldest(&[("NVIDIA_REQUIRE_CUDA", text)]);
        assert_eq!(require(CUDA_12_8).as_deref(), Some("12.8"));
        assert_eq!(require("cuda>=9.0").as_deref(), Some("10.0"));
        assert_eq!(require("driver>=535.104.05").as_deref(), Some("12.2"));
        assert_eq!(require("brand=tesla,driver>=535").as_deref(), Some("12.2"));
        assert_eq!(require("cuda>=99").as_deref(), None);
        assert_eq!(require("cuda>=x").as_deref(), None);
        assert_eq!(oldest(&[]), None);
        for nothing_asked in ["", " ", "arch>=8.0", "brand=tesla"] {
            assert_eq!(require(nothing_asked), None, "{nothing_asked}");
        }
        let both = [
            ("NVIDIA_REQUIRE_CUDA", "cuda>=11.8"),
            ("NVIDIA_REQUIRE_DRIVER", "driver>=550"),
        ];
        assert_eq!(oldest(&both).as_deref(), Some("12.4"));
    }

    #[test]
    fn requirements_that_no_known_driver_meets() {
        let judged = |text| {
            let toolkit = toolkit(&[("NVIDIA_REQUIRE_CUDA", text)]);
            (toolkit.contradictory, toolkit.newer_than_known)
        };
        assert_eq!(judged(CUDA_12_8), (false, false));
        assert_eq!(judged("cuda>=99.0"), (false, true));
        assert_eq!(judged("cuda>=12.8,cuda<12.0"), (true, false));
        assert_eq!(judged(""), (false, false));
    }

    #[test]
    fn an_image_of_2017_requires_its_cuda_version() {
        let old = toolkit(&[("CUDA_VERSION", "12.1.1")]);
        assert!(old.legacy && old.devices.visible);
        assert_eq!(old.capabilities.enabled.len(), 7);
        assert_eq!(old.oldest.unwrap().cuda, "12.1");
        let new = toolkit(&[
            ("CUDA_VERSION", "12.1.1"),
            ("NVIDIA_REQUIRE_CUDA", "cuda>=9.0"),
        ]);
        assert!(!new.legacy && !new.devices.visible);
        assert_eq!(new.capabilities.enabled, ["utility", "compute"]);
        for (version, expected) in [
            ("12.8.1", Some("12.8")),
            ("v12", Some("12.0")),
            ("121", Some("121.0")),
            ("12.4.1-1", Some("12.4")),
            ("12.8.1.012", None),
            ("12.8-x", None),
            ("12+b1", None),
            ("12.8.1-", None),
            ("12.8.1+b1", Some("12.8")),
            ("cu128", None),
            ("12.08", None),
            ("", None),
        ] {
            assert_eq!(major_minor(version).as_deref(), expected, "{version}");
        }
        let wrong = toolkit(&[("CUDA_VERSION", "cu128")]);
        assert_eq!(wrong.requirements[0].invalid[0].text, "cu128");
    }

    #[test]
    fn words_of_capabilities() {
        let capabilities = |text| toolkit(&[("NVIDIA_DRIVER_CAPABILITIES", text)]).capabilities;
        assert_eq!(capabilities("").enabled, ["utility", "compute"]);
        assert_eq!(
            capabilities(" video, compute ").enabled,
            ["video", "compute"]
        );
        assert_eq!(capabilities("all").enabled.len(), 7);
        assert_eq!(capabilities("all,gpu").unknown, [""; 0]);
        assert_eq!(capabilities("compute,gpu,All").unknown, ["gpu", "All"]);
        assert_eq!(capabilities("compute").unknown, [""; 0]);
    }

    #[test]
    fn devices_that_are_visible() {
        for (text, visible) in [
            ("all", true),
            ("0,1", true),
            ("", false),
            ("void", false),
            ("none", false),
        ] {
            let devices =
                toolkit(&[("NVIDIA_VISIBLE_DEVICES", text), ("CUDA_VERSION", "12")]).devices;
            assert_eq!(devices.visible, visible, "{text}");
        }
    }

    #[test]
    fn requirements_can_be_switched_off() {
        for (text, disabled) in [("1", true), ("True", true), ("yes", false), ("0", false)] {
            let toolkit = toolkit(&[("NVIDIA_DISABLE_REQUIRE", text)]);
            assert_eq!(toolkit.requirements_disabled, disabled, "{text}");
        }
        let jetson = toolkit(&[("NVIDIA_REQUIRE_JETPACK", "csv-mounts=all")]);
        assert_eq!(jetson.requirements, []);
    }
}
