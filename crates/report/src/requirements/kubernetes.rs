//! Requirements as a node affinity for the labels of GPU Feature Discovery.
//!
//! Source: NVIDIA/k8s-device-plugin, docs/gpu-feature-discovery/README.md; Kubernetes, "Assigning Pods to Nodes": the terms of a node
//! selector are alternatives, and all expressions of a term must match. `Gt` compares integers.

use std::collections::BTreeMap;

use super::needs::{Requirements, comments, each};
use crate::ImageReport;
use imgcheck_model::knowledge::Knowledge;

const ARCHITECTURE: &str = "kubernetes.io/arch";
const MAJOR: &str = "nvidia.com/gpu.compute.major";
const MINOR: &str = "nvidia.com/gpu.compute.minor";
/// The parts of a driver's version, each by its label.
const DRIVER: [&str; 3] = [
    "nvidia.com/cuda.driver-version.major",
    "nvidia.com/cuda.driver-version.minor",
    "nvidia.com/cuda.driver-version.revision",
];

/// All of them must match.
type Term = Vec<Expression>;

#[derive(Debug, Clone, PartialEq)]
struct Expression {
    key: &'static str,
    operator: &'static str,
    values: Vec<String>,
}

/// The affinity of a Pod with each image, as a part of its `spec` in YAML. An image that needs nothing that a label says has none.
pub fn kubernetes(images: &[ImageReport], known: &Knowledge) -> String {
    each(images, known, "---\n", |needs| {
        let terms = terms(needs);
        let start = if terms.is_empty() { "" } else { START };
        let terms: String = terms.iter().map(yaml).collect();
        format!("{}{start}{terms}", comments(needs))
    })
}

fn yaml(term: &Term) -> String {
    let expressions = term.iter().map(|it| {
        let values: Vec<String> = it.values.iter().map(|it| format!("\"{it}\"")).collect();
        let values = values.join(", ");
        format!(
            "        - {{key: {}, operator: {}, values: [{values}]}}\n",
            it.key, it.operator
        )
    });
    format!(
        "      - matchExpressions:\n{}",
        expressions.collect::<String>()
    )
}

/// What is around the terms.
const START: &str = "\
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
";

fn terms(needs: &Requirements) -> Vec<Term> {
    let architecture = needs
        .architecture()
        .map(|it| is_one_of(ARCHITECTURE, vec![it.to_owned()]));
    let mut terms = Vec::new();
    for ptx_only in [false, true] {
        let floor = needs.driver.and_then(|it| it.oldest(ptx_only));
        let drivers = floor.map_or(vec![Vec::new()], at_least);
        for (major, minors) in by_major(needs, ptx_only) {
            for driver in &drivers {
                let mut all: Vec<Expression> = architecture.iter().cloned().collect();
                all.push(is_one_of(MAJOR, vec![major.clone()]));
                all.push(is_one_of(MINOR, minors.clone()));
                all.extend(driver.iter().cloned());
                terms.push(all);
            }
        }
    }
    if !terms.is_empty() {
        return terms;
    }
    // Without GPU code of its own, it runs what others bring on any GPU whose driver is new enough.
    let floor = needs.driver.and_then(|it| it.oldest(false));
    let drivers = floor.map_or(vec![Vec::new()], at_least).into_iter();
    let terms = drivers.map(|driver| architecture.iter().cloned().chain(driver).collect());
    terms.filter(|it: &Term| !it.is_empty()).collect()
}

/// The minor numbers of the compute capabilities by their major ones.
fn by_major(needs: &Requirements, ptx_only: bool) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for gpu in needs.gpus.iter().filter(|it| it.ptx_only == ptx_only) {
        if let Some((major, minor)) = gpu.capability.split_once('.') {
            all.entry(major.to_owned())
                .or_default()
                .push(minor.to_owned());
        }
    }
    all
}

/// Alternatives that together mean a driver or a newer one: a newer major number, or the same one with a newer minor number, and so on.
fn at_least(version: &str) -> Vec<Vec<Expression>> {
    let numbers: Vec<u32> = version
        .split('.')
        .filter_map(|it| it.parse().ok())
        .collect();
    let mut alternatives = Vec::new();
    let mut same = Vec::new();
    let labeled = DRIVER.into_iter().zip(&numbers);
    let last = labeled.len().saturating_sub(1);
    for (index, (key, number)) in labeled.enumerate() {
        let least = if index == last {
            number.checked_sub(1)
        } else {
            Some(*number)
        };
        let mut newer: Vec<Expression> = same.clone();
        // Nothing is less than 0, so any number is enough.
        newer.extend(least.map(|it| Expression {
            key,
            operator: "Gt",
            values: vec![it.to_string()],
        }));
        alternatives.push(newer);
        same.push(is_one_of(
            key,
            vec![format!("{number:02}"), number.to_string()],
        ));
    }
    alternatives
}

fn is_one_of(key: &'static str, mut values: Vec<String>) -> Expression {
    values.dedup();
    Expression {
        key,
        operator: "In",
        values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(alternatives: &[Vec<Expression>], version: &str) -> bool {
        let parts: Vec<&str> = version.split('.').collect();
        let holds = |it: &Expression| {
            let at = DRIVER.iter().position(|key| *key == it.key);
            let Some(part) = at.and_then(|at| parts.get(at)) else {
                return false;
            };
            match it.operator {
                "In" => it.values.iter().any(|value| value == part),
                _ => part.parse::<u32>().ok() > it.values[0].parse().ok(),
            }
        };
        alternatives.iter().any(|all| all.iter().all(holds))
    }

    #[test]
    fn the_alternatives_are_the_drivers_from_a_version_on() {
        let least = at_least("525.60.13");
        for (version, expected) in [
            ("525.60.13", true),
            ("525.60.12", false),
            ("525.60.14", true),
            ("525.85.12", true),
            ("525.05.99", false),
            ("530.30.02", true),
            ("515.105.01", false),
        ] {
            assert_eq!(matches(&least, version), expected, "{version}");
        }
        let least = at_least("580");
        assert!(matches(&least, "580.65.06") && !matches(&least, "575.57.08"));
        let least = at_least("570.26");
        assert!(matches(&least, "570.26") && matches(&least, "570.124.06"));
        assert!(!matches(&least, "570.25"));
    }
}
