//! The keys of a configuration file and their JSON Schema. [`super::config`] checks the values.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::expectation::subjects;
use super::gate::GateEntry;
use imgcheck_base::limits::{self, Limits};
use imgcheck_base::yaml::{Pairs, Spanned};
use imgcheck_lint::workload::Kind;
use imgcheck_model::finding::Severity;

/// Severities by name; `off` disables a rule.
pub(super) const SEVERITIES: [(&str, Option<Severity>); 4] = [
    ("error", Some(Severity::Error)),
    ("warning", Some(Severity::Warning)),
    ("note", Some(Severity::Note)),
    ("off", None),
];

/// Values of `fail-on` by name.
pub(super) const FAIL_ON: [(&str, Option<Severity>); 4] = [
    ("error", Some(Severity::Error)),
    ("warning", Some(Severity::Warning)),
    ("note", Some(Severity::Note)),
    ("never", None),
];

/// The configuration of imgcheck: `.imgcheck.yaml`.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[schemars(title = "imgcheck configuration")]
pub(super) struct File {
    /// The versions of imgcheck that may read this file, as cargo writes them: `>=0.2, <1`. Others refuse it.
    // Checked before the other keys.
    #[serde(rename = "required-version")]
    pub _required_version: Option<String>,
    /// The lowest severity that makes the exit code 1.
    #[schemars(schema_with = "fail_on")]
    pub fail_on: Option<Spanned<String>>,
    /// Rule files, or directories of them, relative to this file.
    #[schemars(with = "Vec<String>")]
    pub rules: Vec<Spanned<String>>,
    /// Severities of rules, by id or pattern (`claim-*`); `off` disables a rule.
    #[schemars(schema_with = "severities")]
    pub severities: Pairs,
    /// The machines that the images must run on.
    pub targets: Vec<TargetEntry>,
    /// The node classes of clusters, by name, for `imgcheck preflight`.
    pub clusters: BTreeMap<String, ClusterEntry>,
    /// Objects that start containers, and where in them these are, beside those that imgcheck knows; for `imgcheck preflight` and `serve`.
    #[schemars(with = "Vec<Kind>")]
    pub kinds: Vec<Spanned<Kind>>,
    /// Namespaces whose containers must name images by digest, as patterns: `prod-*`; for `imgcheck preflight`.
    #[schemars(with = "Vec<String>")]
    pub digests: Vec<Spanned<String>>,
    /// How `imgcheck serve` answers a cluster.
    pub gate: GateEntry,
    /// Public keys (PEM), as files relative to this one or as text: who signs facts that are believed instead of reading an image again.
    #[schemars(with = "Vec<String>")]
    pub facts_keys: Vec<Spanned<String>>,
    /// What each image must contain: a component and PEP 440 version specifiers.
    #[schemars(with = "Vec<String>", example = ["torch==2.8.*", "cudnn>=9.7"])]
    pub expect: Vec<Spanned<String>>,
    /// Allowed combinations, one of which each image must match: a `name`, and versions or specifiers of components. A version
    /// alone means `==`, and `none` that the component must be missing.
    #[schemars(schema_with = "stacks")]
    pub stacks: Vec<Pairs>,
    /// The most bytes that the files of an image may have, not compressed: `8GB`.
    #[schemars(with = "Option<String>")]
    pub max_size: Option<Spanned<String>>,
    /// The most bytes that further copies of GPU libraries may have, which nothing loads: `500MB`.
    #[schemars(with = "Option<String>")]
    pub max_duplicate: Option<Spanned<String>>,
    /// Components that must have the same version in all images of a run.
    #[schemars(schema_with = "consistent")]
    pub consistent: Vec<Spanned<String>>,
    /// A gap, which is something that could not be judged, makes the exit code 3.
    pub strict: bool,
    /// Findings to ignore and gaps to acknowledge, each with a reason.
    pub ignore: Vec<IgnoreEntry>,
    /// Limits for reading images, by name: `entries: 5000000`, `layer-bytes: 500GiB`, `time: 4h`.
    #[schemars(schema_with = "limits")]
    pub limits: Pairs,
    /// A JSON report, or a file written by `--write-baseline`, relative to this file. Its findings are known and do not fail.
    #[schemars(with = "Option<String>")]
    pub baseline: Option<Spanned<String>>,
}

/// A machine, or a group of equal ones.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetEntry {
    /// Name of the target.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Its GPUs, by name or architecture: `a100`, `sm_90`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub gpus: Vec<Spanned<String>>,
    /// Its driver version: `535.183.06`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub driver: Option<Spanned<String>>,
}

/// A cluster.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterEntry {
    /// Classes of nodes that are equal in GPUs, driver and architecture.
    pub nodes: Vec<NodeEntry>,
}

/// A class of nodes.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeEntry {
    /// Name of the class.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Its GPU, by name or architecture: `a100`, `sm_90`; absent without one.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub gpu: Option<Spanned<String>>,
    /// Its driver version: `535.183.06`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub driver: Option<Spanned<String>>,
    /// Its architecture, `amd64` if absent.
    #[serde(default)]
    pub arch: Option<String>,
    /// Its labels; if absent, every node selector is taken to match.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// Its taints: `nvidia.com/gpu=present:NoSchedule`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub taints: Vec<Spanned<String>>,
    /// Whether devices are injected by CDI.
    #[serde(default)]
    pub cdi: Option<bool>,
}

/// Findings to ignore, or gaps to acknowledge.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["rule"]}, {"required": ["gap"]}]))]
pub(super) struct IgnoreEntry {
    /// Rule id or pattern: `load-*`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub rule: Option<Spanned<String>>,
    /// Code of a gap, or pattern: `launch-not-understood`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub gap: Option<Spanned<String>>,
    /// Pattern of image references: `registry.example/team/*`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub image: Option<Spanned<String>>,
    /// Pattern of files that findings or gaps are about: `/opt/legacy/*`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub path: Option<Spanned<String>>,
    /// Why these findings or gaps are ignored.
    // Optional only here, to report its absence with help.
    #[schemars(with = "String")]
    pub reason: Option<Spanned<String>>,
    /// The last day the ignore is valid: `2027-03-01`.
    #[serde(default)]
    #[schemars(with = "Option<String>", regex(pattern = r"^\d{4}-\d{2}-\d{2}$"))]
    pub expires: Option<Spanned<String>>,
}

fn fail_on(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": FAIL_ON.map(|(name, _)| name)})
}

fn severities(_: &mut SchemaGenerator) -> Schema {
    let names = SEVERITIES.map(|(name, _)| name);
    json_schema!({"type": "object", "additionalProperties": {"enum": names}})
}

fn consistent(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = subjects().collect();
    json_schema!({"type": "array", "items": {"enum": names}})
}

fn stacks(_: &mut SchemaGenerator) -> Schema {
    let name = json!({"type": "string", "description": "Name of the combination."});
    let versions = subjects().map(|subject| {
        let about = format!("Version or specifiers of {subject}, or none.");
        let version = json!({"type": "string", "description": about});
        (subject.to_owned(), version)
    });
    let properties = [("name".to_owned(), name)].into_iter().chain(versions);
    json_schema!({"type": "array", "items": object(properties)})
}

fn limits(_: &mut SchemaGenerator) -> Schema {
    let defaults = Limits::default();
    let properties = limits::ALL.iter().map(|limit| {
        let default = limit.format(defaults.of(*limit));
        let value = json!({
            "type": ["integer", "string"],
            "minimum": 1,
            "pattern": limit.unit().pattern(),
            "description": format!("Maximum of: {}. Default: {default}.", limit.about()),
        });
        (limit.name().to_owned(), value)
    });
    object(properties)
}

/// The schema of an object with these properties only.
fn object(properties: impl Iterator<Item = (String, Value)>) -> Schema {
    let properties: Map<_, _> = properties.collect();
    json_schema!({"type": "object", "properties": properties, "additionalProperties": false})
}
