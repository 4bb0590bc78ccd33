//! The facts: `image.unpublished` in rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claims::claim::Claim;

/// A claim of a tag that no published image or release keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unpublished {
    /// What is not published: the `tag` itself, a tag of this `form`, a tag that was `withdrawn`, the `release` of PyTorch, the `toolkit` release or its `patch`, or a build of PyTorch
    /// for the CUDA: `older` if its major is older than those of all builds, otherwise `newer`.
    pub kind: String,
    /// Whether a publisher's image is named, which cannot exist.
    pub official: bool,
    /// The claim that is not kept: for a tag, that of the first part that no published tag beside the parts before it has; absent for a form of tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// For a form of tags, the claims of what is wrong in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// The claimed CUDA; empty if none is.
    pub cuda: String,
    /// What is published instead: tags, releases, or CUDA versions that there are builds for.
    pub published: Vec<String>,
    /// The number of tags or releases that the table knows.
    pub known: usize,
    /// For a form of tags, what is wrong with it.
    #[serde(default)]
    pub why: String,
    /// For a form of tags, what to write.
    #[serde(default)]
    pub help: String,
}

impl Unpublished {
    /// A claim of a release.
    pub fn new(kind: &str, official: bool, claim: &Claim) -> Self {
        Unpublished {
            claim: Some(claim.clone()),
            ..Unpublished::of_form(kind, official)
        }
    }

    /// A form of tags, of which nothing more is known.
    pub fn of_form(kind: &str, official: bool) -> Self {
        Unpublished {
            kind: kind.to_owned(),
            official,
            claim: None,
            claims: Vec::new(),
            cuda: String::new(),
            published: Vec::new(),
            known: 0,
            why: String::new(),
            help: String::new(),
        }
    }
}
