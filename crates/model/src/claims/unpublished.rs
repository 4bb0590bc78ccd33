//! What a reference claims and nobody ever published: `image.unpublished`.
//!
//! A table that does not know a release says nothing about it.

pub mod knowledge;

mod forms;
mod framework;
mod reference;
mod toolkit;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claim::Claim;
use imgcheck_base::error::Result;
use knowledge::Publications;
pub use reference::Reference;

/// A claim of a tag that no published image or release keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unpublished {
    /// What is not published: the `tag` itself, a tag of this `form`, the `release` of PyTorch, the `toolkit` release or its `patch`, or a build of PyTorch
    /// for the CUDA: `older` if its major is older than those of all builds, otherwise `newer`.
    pub kind: String,
    /// Whether a publisher's image is named, which cannot exist.
    pub official: bool,
    /// The claim of the release; absent for a form of tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// For a form of tags, the claims of the CUDA.
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
    fn new(kind: &str, official: bool, claim: &Claim) -> Self {
        Unpublished {
            claim: Some(claim.clone()),
            ..Unpublished::of_form(kind, official)
        }
    }

    fn of_form(kind: &str, official: bool) -> Self {
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

/// What nobody published of a reference. `publications` reads the tables, if one is needed.
///
/// # Errors
/// Those of `publications`.
pub fn unpublished<'k>(
    reference: &Reference<'_>,
    publications: impl FnOnce() -> Result<&'k Publications>,
) -> Result<Vec<Unpublished>> {
    if reference.tag.is_none() && reference.claims.is_empty() {
        return Ok(Vec::new());
    }
    let publications = publications()?;
    let toolkits = toolkit::unpublished(reference, publications);
    let mut found = framework::unpublished(reference, publications);
    match toolkits.is_empty() {
        true => found.extend(forms::unpublished(reference, publications)),
        false => found.extend(toolkits),
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
