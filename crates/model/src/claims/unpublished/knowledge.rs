//! The tables of what is published.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;
use serde::Deserialize;

/// What is published, and where.
#[derive(Debug)]
pub struct Publications {
    /// `rules/knowledge/publications.yaml`.
    pub(crate) terms: Terms,
    /// The releases of the framework.
    pub(crate) releases: Vec<Release>,
    /// The tags of the framework's image.
    pub(crate) tags: Tags,
    /// The releases of the toolkit, oldest first.
    pub(crate) toolkits: Vec<String>,
    /// Forms of tags that were never published.
    pub(crate) forms: Vec<Form>,
}

/// `rules/knowledge/publications.yaml`, which says what each field means.
#[derive(Debug, Deserialize)]
pub struct Terms {
    pub(crate) hub: String,
    pub(crate) hub_names: Vec<String>,
    pub(crate) own_builds: Vec<String>,
    pub(crate) framework: Framework,
    pub(crate) toolkit: Toolkit,
}

/// A framework that is built for a toolkit.
#[derive(Debug, Deserialize)]
pub struct Framework {
    pub(crate) subject: String,
    pub(crate) toolkit: String,
    pub(crate) parts: Vec<String>,
    pub(crate) words: Vec<String>,
    pub(crate) repository: String,
    pub(crate) registries: Vec<String>,
    pub(crate) releases: String,
    pub(crate) tags: String,
    pub(crate) bare: Pattern,
    pub(crate) all_tags_from: String,
}

/// A toolkit with numbered patch releases.
#[derive(Debug, Deserialize)]
pub struct Toolkit {
    pub(crate) subject: String,
    pub(crate) repository: String,
    pub(crate) registries: Vec<String>,
    pub(crate) releases: String,
    pub(crate) patches: Patches,
}

/// The releases, both excluded, between which patch releases are numbered from 0.
#[derive(Debug, Deserialize)]
pub struct Patches {
    pub(crate) after: String,
    pub(crate) before: String,
}

/// A release of the framework.
#[derive(Debug, Deserialize)]
pub struct Release {
    pub(crate) version: String,
    pub(crate) variants: Vec<Variant>,
}

/// A build of a release for one CUDA.
#[derive(Debug, Deserialize)]
pub struct Variant {
    pub(crate) cuda: String,
    pub(crate) status: String,
}

/// The tags of an image.
#[derive(Debug, Deserialize)]
pub struct Tags {
    /// Tags that were published, taken apart: a version by subject, the `tag`, and the only `registry` that has it.
    pub(crate) tags: Vec<BTreeMap<String, String>>,
    /// Tags that people write although they do not exist.
    pub(crate) not_published: Vec<BTreeMap<String, String>>,
}

/// Tags that a publisher never published.
#[derive(Debug, Deserialize)]
pub struct Form {
    /// There were such tags, and they were deleted.
    #[serde(default)]
    pub(crate) withdrawn: bool,
    pub(crate) repositories: Vec<String>,
    pub(crate) registries: Vec<String>,
    pub(crate) pattern: Pattern,
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
    /// What is wrong in it, unless it is the release of the toolkit.
    pub(crate) subject: Option<String>,
    pub(crate) why: String,
    pub(crate) help: String,
}

/// A regular expression, compiled when it is first used.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub struct Pattern {
    source: String,
    compiled: OnceLock<Option<Regex>>,
}

impl From<String> for Pattern {
    fn from(source: String) -> Self {
        Pattern {
            source,
            compiled: OnceLock::new(),
        }
    }
}

impl Pattern {
    /// Whether it matches a part of a text; one that is invalid matches none.
    pub fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.source).ok());
        compiled.as_ref().is_some_and(|it| it.is_match(text))
    }
}
