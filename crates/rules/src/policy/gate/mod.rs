//! The section `gate` of the configuration: how `imgcheck serve` answers a cluster.

mod file;
mod read;

use chrono::NaiveDate;

pub(super) use file::GateEntry;
use imgcheck_base::glob::{glob, matches_any};

use super::image_pattern::matches_reference;

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
    /// How Harbor is answered.
    pub harbor: HarborConfig,
}

/// How Harbor is answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HarborConfig {
    /// The URL of another scanner whose vulnerabilities are reported, too.
    pub forward: Option<String>,
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
            break_glass: false,
            grace_days: 14,
            exemptions: Vec::new(),
            registries: vec!["*".to_owned()],
            internal_hosts: Vec::new(),
            harbor: HarborConfig::default(),
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
    /// Pattern of image references; without a tag, of all tags of a repository.
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
            matches_reference(image, &it.image)
                && in_namespace.is_none_or(|pattern| glob(namespace, pattern))
                && it.expires.is_none_or(|last| day <= last)
        })
    }

    /// Whether a registry is allowed.
    pub fn allows_registry(&self, registry: &str) -> bool {
        matches_any(registry, &self.registries)
    }
}
