//! The keys of the section and their JSON Schema.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{MODES, ON_MISS};
use imgcheck_base::yaml::{Pairs, Spanned};

/// The keys of the section.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct GateEntry {
    /// What happens to objects that do not pass: `audit` writes to the audit log, `warn` (the default) also warns, `enforce` denies
    /// Pods.
    #[schemars(schema_with = "mode")]
    pub mode: Option<Spanned<String>>,
    /// Modes of namespaces, by pattern: `{"prod-*": enforce}`. They take precedence over the label `imgcheck.io/mode`.
    #[schemars(schema_with = "modes")]
    pub namespaces: Pairs,
    /// What `enforce` does with an image that was not read yet: `deny` (the default), `allow` or `warn`.
    #[schemars(schema_with = "on_miss")]
    pub on_miss: Option<Spanned<String>>,
    /// Deny Deployments, Jobs and other objects that create Pods, too, instead of only warning.
    pub deny_workloads: bool,
    /// Judge Pods that request no GPU, too.
    pub all_pods: bool,
    /// The cluster under `clusters` whose node classes count, if there are several.
    #[schemars(with = "Option<String>")]
    pub cluster: Option<Spanned<String>>,
    /// Whether the annotation `imgcheck.io/break-glass` lets an object through; `false` if absent.
    pub break_glass: Option<bool>,
    /// Days for which a container that once passed is let through after it stopped to pass; 14 if absent.
    pub grace_days: Option<u32>,
    /// Images that are let through unjudged, each with a reason.
    pub exemptions: Vec<ExemptionEntry>,
    /// Patterns of the registries that may be asked, as in references: `*.example.com`, `docker.io`; all if absent.
    pub registries: Option<Vec<String>>,
    /// Patterns of hosts that may have private, link-local or loopback addresses: `harbor.internal`.
    pub internal_hosts: Vec<String>,
    /// How Harbor is answered.
    pub harbor: HarborEntry,
}

/// How Harbor is answered.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HarborEntry {
    /// Another scanner, such as Trivy's adapter, whose vulnerabilities are reported, too: `http://harbor-scanner-trivy:8080`.
    #[schemars(with = "Option<String>", regex(pattern = "^https?://"))]
    pub forward: Option<Spanned<String>>,
}

/// Images that are let through unjudged.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExemptionEntry {
    /// Pattern of image references: `registry.example/team/*`. Without a tag, it matches all tags of a repository.
    #[schemars(with = "String")]
    pub image: Spanned<String>,
    /// Pattern of namespaces; all if absent.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Why they are let through.
    #[schemars(with = "String")]
    pub reason: Spanned<String>,
    /// The last day on which the exemption is valid: `2027-03-01`.
    #[serde(default)]
    #[schemars(with = "Option<String>", regex(pattern = r"^\d{4}-\d{2}-\d{2}$"))]
    pub expires: Option<Spanned<String>>,
}

fn mode(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": MODES.map(|(name, _)| name)})
}

fn modes(_: &mut SchemaGenerator) -> Schema {
    let names = MODES.map(|(name, _)| name);
    json_schema!({"type": "object", "additionalProperties": {"enum": names}})
}

fn on_miss(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": ON_MISS.map(|(name, _)| name)})
}
