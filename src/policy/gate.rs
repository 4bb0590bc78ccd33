//! The section `gate` of the configuration: how `imgcheck serve` answers a cluster.

use chrono::NaiveDate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::config::Source;
use crate::error::Result;
use crate::glob::glob;
use crate::yaml::{self, Pairs, Spanned};

/// How a gate answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateConfig {
    /// The mode of namespaces that neither `namespaces` nor a label gives one.
    pub mode: Mode,
    /// Modes by patterns of namespaces; the first that matches counts, also against a label.
    pub namespaces: Vec<(String, Mode)>,
    /// What a mode `enforce` does with an image of which no facts are known yet.
    pub on_miss: OnMiss,
    /// Whether objects that create Pods are denied, too.
    pub deny_workloads: bool,
    /// Whether Pods that request no GPU are judged, too.
    pub all_pods: bool,
    /// The cluster under `clusters` whose node classes count; `None` for the only one.
    pub cluster: Option<String>,
    /// Whether the break-glass annotation lets an object through.
    pub break_glass: bool,
    /// Days for which a container that once passed is let through after it stopped to pass.
    pub grace_days: u32,
    /// What is let through unjudged.
    pub exemptions: Vec<Exemption>,
    /// Patterns of the registries that are asked: `*.example.com`.
    pub registries: Vec<String>,
    /// Patterns of hosts that may have private, link-local or loopback addresses.
    pub internal_hosts: Vec<String>,
}

impl Default for GateConfig {
    fn default() -> Self {
        GateConfig {
            mode: Mode::Warn,
            namespaces: Vec::new(),
            on_miss: OnMiss::Deny,
            deny_workloads: false,
            all_pods: false,
            cluster: None,
            break_glass: true,
            grace_days: 14,
            exemptions: Vec::new(),
            registries: vec!["*".to_owned()],
            internal_hosts: Vec::new(),
        }
    }
}

/// What a gate does with an object that does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// It only writes audit annotations.
    Audit,
    /// It warns.
    Warn,
    /// It denies Pods.
    Enforce,
}

/// What a gate that enforces does with an image of which no facts are known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMiss {
    /// It denies: whoever creates the Pod tries again.
    Deny,
    /// It lets the Pod through, and says so in the audit log.
    Allow,
    /// It lets the Pod through with a warning.
    Warn,
}

/// Images that are let through unjudged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exemption {
    /// Pattern of image references.
    pub image: String,
    /// Pattern of namespaces; `None` for all.
    pub namespace: Option<String>,
    /// Why.
    pub reason: String,
    /// The last day on which it is valid.
    pub expires: Option<NaiveDate>,
}

/// Modes by name.
pub(super) const MODES: [(&str, Mode); 3] = [
    ("audit", Mode::Audit),
    ("warn", Mode::Warn),
    ("enforce", Mode::Enforce),
];

/// Values of `on-miss` by name.
pub(super) const ON_MISS: [(&str, OnMiss); 3] = [
    ("deny", OnMiss::Deny),
    ("allow", OnMiss::Allow),
    ("warn", OnMiss::Warn),
];

impl Mode {
    /// The mode of this name.
    pub fn named(name: &str) -> Option<Self> {
        let mut modes = MODES.iter();
        modes
            .find(|(known, _)| *known == name)
            .map(|(_, mode)| *mode)
    }

    /// The name of the mode.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Audit => "audit",
            Mode::Warn => "warn",
            Mode::Enforce => "enforce",
        }
    }
}

impl GateConfig {
    /// The mode of a namespace with this value of the label for modes, if it has one.
    pub fn mode_of(&self, namespace: &str, label: Option<&str>) -> Mode {
        let mut fixed = self.namespaces.iter();
        let fixed = fixed.find(|(pattern, _)| glob(namespace, pattern));
        let label = || label.and_then(Mode::named);
        fixed
            .map(|(_, mode)| *mode)
            .or_else(label)
            .unwrap_or(self.mode)
    }

    /// The exemption of an image that is valid on a day.
    pub fn exemption(&self, image: &str, namespace: &str, day: NaiveDate) -> Option<&Exemption> {
        let mut exemptions = self.exemptions.iter();
        exemptions.find(|it| {
            let in_namespace = it.namespace.as_ref();
            glob(image, &it.image)
                && in_namespace.is_none_or(|pattern| glob(namespace, pattern))
                && it.expires.is_none_or(|last| day <= last)
        })
    }

    /// Whether a registry may be asked.
    pub fn allows_registry(&self, registry: &str) -> bool {
        let mut registries = self.registries.iter();
        registries.any(|pattern| glob(registry, pattern))
    }
}

/// The keys of the section.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct GateEntry {
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
    /// Whether the annotation `imgcheck.io/break-glass` lets an object through; `true` if absent.
    pub break_glass: Option<bool>,
    /// Days for which a container that once passed is let through after it stopped to pass; 14 if absent.
    pub grace_days: Option<u32>,
    /// Images that are let through unjudged, each with a reason.
    pub exemptions: Vec<ExemptionEntry>,
    /// Patterns of the registries that may be asked, as in references: `*.example.com`, `docker.io`; all if absent.
    pub registries: Option<Vec<String>>,
    /// Patterns of hosts that may have private, link-local or loopback addresses: `harbor.internal`.
    pub internal_hosts: Vec<String>,
}

/// Images that are let through unjudged.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExemptionEntry {
    /// Pattern of image references: `registry.example/team/*`.
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

impl Source {
    /// Checks the values of the section.
    pub(super) fn gate(&self, entry: &GateEntry) -> Result<GateConfig> {
        let defaults = GateConfig::default();
        let mode = |word: &Spanned<String>| self.one_of(word, "mode", &MODES);
        let on_miss = entry.on_miss.as_ref();
        let on_miss = on_miss.map(|word| self.one_of(word, "value of on-miss", &ON_MISS));
        let namespaces = entry.namespaces.0.iter();
        let namespaces = namespaces.map(|(pattern, word)| Ok((pattern.value.clone(), mode(word)?)));
        let exemptions = entry.exemptions.iter().map(|it| self.exemption(it));
        Ok(GateConfig {
            mode: entry.mode.as_ref().map_or(Ok(defaults.mode), mode)?,
            namespaces: namespaces.collect::<Result<_>>()?,
            on_miss: on_miss.unwrap_or(Ok(defaults.on_miss))?,
            deny_workloads: entry.deny_workloads,
            all_pods: entry.all_pods,
            cluster: entry.cluster.as_ref().map(|it| it.value.clone()),
            break_glass: entry.break_glass.unwrap_or(defaults.break_glass),
            grace_days: entry.grace_days.unwrap_or(defaults.grace_days),
            exemptions: exemptions.collect::<Result<_>>()?,
            registries: entry.registries.clone().unwrap_or(defaults.registries),
            internal_hosts: entry.internal_hosts.clone(),
        })
    }

    fn exemption(&self, entry: &ExemptionEntry) -> Result<Exemption> {
        if entry.reason.value.trim().is_empty() {
            let help = "say why these images are let through";
            return Err(self.fault(yaml::span(&entry.reason), "the reason is empty", help));
        }
        Ok(Exemption {
            image: entry.image.value.clone(),
            namespace: entry.namespace.clone(),
            reason: entry.reason.value.clone(),
            expires: entry
                .expires
                .as_ref()
                .map(|day| self.day(day))
                .transpose()?,
        })
    }
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
