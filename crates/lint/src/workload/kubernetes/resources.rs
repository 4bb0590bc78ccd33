//! Resources of a container that every API server refuses.
//!
//! Source: kubernetes/kubernetes, `ValidateResourceRequirements` and `validateContainerResourceName` in `pkg/apis/core/validation/validation.go`,
//! `pkg/apis/core/helper/helpers.go`, and the strict decoding that `kubectl` asks for (`--validate=strict`).

use std::fmt;

use super::quantity::{NotAQuantity, Quantity};
use crate::workload::facts::RefusedResource;
use crate::workload::text::{Manifest, is_final, is_label, is_name};
use imgcheck_base::document::Node;

/// The fields of `resources`.
const FIELDS: [&str; 3] = ["limits", "requests", "claims"];
/// The resources of a container whose names have no domain.
const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const HUGE_PAGES: &str = "hugepages-";

/// What is refused, in the words of the API server, and the kind of mistake.
struct Problem {
    kind: &'static str,
    says: String,
}

/// The resources of a container that are refused, the first problem of each.
pub(super) fn refused(container: &Node, manifest: &Manifest) -> Vec<RefusedResource> {
    let Some(resources) = container.get("resources") else {
        return Vec::new();
    };
    let unknown = resources.entries().filter_map(|(key, _)| {
        let name = key.text().filter(|it| !FIELDS.contains(it))?;
        let says = format!("unknown field \"resources.{name}\"");
        is_final(name).then(|| (key, None, problem("unknown-field", says)))
    });
    let amounts = ["limits", "requests"].into_iter().flat_map(|field| {
        let entries = resources.get(field).into_iter().flat_map(Node::entries);
        entries.filter_map(move |(key, value)| {
            let name = key.text().filter(|it| is_final(it))?;
            let problem = name_problem(name)
                .or_else(|| amount_problem(name, value))
                .or_else(|| {
                    (field == "requests").then(|| limit_problem(name, value, resources))?
                })?;
            Some((key, value.text(), problem))
        })
    });
    let mut found: Vec<RefusedResource> = Vec::new();
    for (key, value, problem) in unknown.chain(amounts) {
        let resource = key.text().unwrap_or_default();
        if !found.iter().any(|it| it.resource == resource) {
            found.push(RefusedResource {
                resource: resource.to_owned(),
                value: value.unwrap_or_default().to_owned(),
                problem: problem.kind.to_owned(),
                says: problem.says,
                location: manifest.location(key),
            });
        }
    }
    found
}

fn problem(kind: &'static str, says: impl fmt::Display) -> Problem {
    Problem {
        kind,
        says: says.to_string(),
    }
}

/// Why the API server rejects the name of a resource.
fn name_problem(name: &str) -> Option<Problem> {
    let Some((domain, resource)) = name.split_once('/') else {
        let is_standard = STANDARD.contains(&name) || name.starts_with(HUGE_PAGES);
        let says = match name {
            "storage" => "must be a standard resource for containers",
            _ => "must be a standard resource type or fully qualified",
        };
        return (!is_standard).then(|| problem("unqualified", says));
    };
    let says = match (domain.split('.').all(is_label), is_name(resource)) {
        (false, _) => {
            "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
        }
        (_, false) => "name part must consist of alphanumeric characters, '-', '_' or '.'",
        _ if domain.starts_with("requests.") && !is_native(name) => {
            "doesn't follow extended resource name standard"
        }
        _ => return None,
    };
    Some(problem("name", says))
}

/// Why the API server rejects the amount of a resource.
fn amount_problem(name: &str, value: &Node) -> Option<Problem> {
    let amount = match Quantity::parse(value.text()?) {
        Ok(amount) => amount?,
        Err(NotAQuantity) => {
            return Some(problem(
                "quantity",
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ));
        }
    };
    if amount.is_negative() {
        return Some(problem("quantity", "must be greater than or equal to 0"));
    }
    (!is_native(name) && !amount.is_integer()).then(|| problem("integer", "must be an integer"))
}

/// Why a request does not fit its limit. Without a request, the limit is the request.
fn limit_problem(name: &str, request: &Node, resources: &Node) -> Option<Problem> {
    let may_differ = is_native(name) && !name.starts_with(HUGE_PAGES);
    let limits = resources.get("limits");
    let Some(limit) = limits.and_then(|it| it.get(name)) else {
        let says = "Limit must be set for non overcommitable resources";
        let is_open = limits.is_some_and(|it| it.text().is_some());
        return (!may_differ && !is_open).then(|| problem("limit", says));
    };
    let amount = |node: &Node| Quantity::parse(node.text()?).ok()?;
    let (requested, most) = (amount(request)?, amount(limit)?);
    let says = match may_differ {
        false => format!("must be equal to {name} limit"),
        true => format!("must be less than or equal to {name} limit"),
    };
    let is_refused = !may_differ && requested != most || requested > most;
    is_refused.then(|| problem("unequal", says))
}

/// `IsNativeResource`: without a domain, or with one of Kubernetes.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}
