//! Whether any host at all can meet the requirements of an image.

use std::collections::BTreeSet;

use super::knowledge::ToolkitKnowledge;
use super::requirement::{Constraint, Host, Operator, Property, Requirement, Verdict, compare};

/// The most comparisons that are made; NVIDIA's own lists need less than a tenth of it.
const MAX_COMPARISONS: usize = 2_000_000;

/// Which hosts can meet all requirements of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Satisfiable {
    /// Some host that the knowledge table does not exclude, or the check would take too long.
    Possible,
    /// Only a host whose driver is newer than the knowledge table.
    NewerDriver,
    /// No host.
    Never,
}

/// Tries one host of each kind that the constraints distinguish. CUDA and driver count as independent, because not every pair is known
/// (Jetson has its own): requirements that only a known pair excludes count as possible.
pub(super) fn satisfiable(
    requirements: &[&Requirement],
    knowledge: &ToolkitKnowledge,
) -> Satisfiable {
    let alternatives = || requirements.iter().flat_map(|it| it.alternatives());
    let constraints: Vec<&Constraint> = alternatives().flatten().collect();
    let cuda = versions(&constraints, Property::Cuda);
    let driver = versions(&constraints, Property::Driver);
    let brands = brands(&constraints);
    let hosts = [cuda.len(), driver.len(), brands.len()];
    let comparisons = hosts
        .into_iter()
        .fold(constraints.len(), usize::saturating_mul);
    let Some(newest) = knowledge.branches.last() else {
        return Satisfiable::Possible;
    };
    let newest_driver = format!("{}.999.99", newest.branch);
    let until =
        |version: &str, newest: &str| compare(version, Operator::LessEqual, newest).unwrap_or(true);
    if comparisons > MAX_COMPARISONS {
        return Satisfiable::Possible;
    }
    let mut result = Satisfiable::Never;
    for cuda in &cuda {
        for driver in &driver {
            let is_met = brands.iter().any(|brand| {
                let host = Host {
                    cuda: Some(cuda),
                    driver: Some(driver),
                    arch: None,
                    brand: Some(brand),
                };
                let mut requirements = requirements.iter();
                requirements.all(|requirement| requirement.judge(&host) != Verdict::Unmet)
            });
            match is_met {
                true if until(cuda, &newest.max_cuda) && until(driver, &newest_driver) => {
                    return Satisfiable::Possible;
                }
                true => result = Satisfiable::NewerDriver,
                false => {}
            }
        }
    }
    result
}

/// The versions that a property is compared with, one just above each, and one below all.
fn versions(constraints: &[&Constraint], property: Property) -> BTreeSet<String> {
    let values = constraints.iter().filter(|it| it.property == property);
    values
        .flat_map(|it| [it.value.clone(), format!("{}.0.0.0.0.1", it.value)])
        .chain(["0".to_owned()])
        .collect()
}

/// The named brands, and an unnamed one.
fn brands(constraints: &[&Constraint]) -> BTreeSet<String> {
    let values = constraints
        .iter()
        .filter(|it| it.property == Property::Brand);
    values
        .map(|it| it.value.to_ascii_lowercase())
        .chain([String::new()])
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn result(texts: &[&str]) -> Satisfiable {
        let requirements: Vec<Requirement> =
            texts.iter().map(|text| Requirement::parse(text)).collect();
        let requirements: Vec<&Requirement> = requirements.iter().collect();
        satisfiable(
            &requirements,
            &crate::knowledge::container_toolkit().unwrap(),
        )
    }

    #[test]
    fn requirements_that_no_host_can_meet() {
        for texts in [
            &["cuda>=12.8,cuda<12.0"][..],
            &["cuda>12.8,cuda<=12.8"],
            &["cuda>=12.8", "cuda<12"],
            &["brand=tesla,brand=geforce"],
            &[
                "driver>=535,driver<536 driver>=550,driver<551",
                "driver>=560",
            ],
        ] {
            assert_eq!(result(texts), Satisfiable::Never, "{texts:?}");
        }
    }

    #[test]
    fn requirements_that_only_a_newer_driver_can_meet() {
        for texts in [
            &["cuda>=99.0"][..],
            &["driver>=999"],
            &["cuda>=11", "driver>=999"],
            &["cuda>=12.8,cuda<12 driver>=999"],
        ] {
            assert_eq!(result(texts), Satisfiable::NewerDriver, "{texts:?}");
        }
    }

    #[test]
    fn requirements_that_some_host_may_meet() {
        for texts in [
            &[][..],
            &[""],
            &["arch>=99"],
            &["brand=tesla"],
            &["brand!=tesla"],
            &["driver=535.104.05"],
            &["driver<400"],
            &["cuda<8"],
            &["cuda>=12.8 brand=tesla,driver>=535,driver<536"],
            &["cuda>=99 brand=tesla,driver>=535"],
            &["cuda>=99 brand=tesla", "brand=Tesla"],
            // No known driver of that branch has it, but that is no contradiction.
            &["driver>=540,driver<541,cuda>=12.6"],
            // Invalid text is reported separately.
            &["cuda==12.8"],
        ] {
            assert_eq!(result(texts), Satisfiable::Possible, "{texts:?}");
        }
    }

    #[test]
    fn very_many_constraints_are_not_judged() {
        let text: Vec<String> = (0..500)
            .map(|n| format!("cuda>={n},cuda<{n},driver>{n},driver<{n}"))
            .collect();
        assert_eq!(result(&[&text.join(" ")]), Satisfiable::Possible);
    }
}
