//! What the monthly images of PyTorch on nvcr.io hold: `rules/knowledge/ngc.yaml`.

use serde::Deserialize;

use super::facts::Base;
use imgcheck_model::knowledge::{OnFirstUse, table};

/// The repository that the table is about, with its registry, and the end of the tags.
const REPOSITORY: &str = "nvcr.io/nvidia/pytorch:";
const TAG: &str = "-py3";

/// A release; `unknown` is a word of the table.
#[derive(Debug, Deserialize)]
struct Release {
    release: String,
    cuda: String,
    cudnn: String,
    python: String,
}

#[derive(Debug, Deserialize)]
struct Releases {
    releases: Vec<Release>,
}

/// Whether a base image is such a release.
pub fn is_release(base: &Base) -> bool {
    tag_of(base).is_some()
}

/// The version of `cuda`, `cudnn` or `python` that a base image has; `None` if it is no such release, or its version is not known.
pub fn version_of(base: &Base, subject: &str) -> Option<&'static str> {
    static RELEASES: OnFirstUse<Releases> = OnFirstUse::new();
    let tag = tag_of(base)?;
    // The tests read all tables.
    let Releases { releases } = RELEASES.get_or_make(|| table("ngc")).ok()?;
    let release = releases.iter().find(|it| it.release == tag)?;
    let version = match subject {
        "cuda" => &release.cuda,
        "cudnn" => &release.cudnn,
        _ => &release.python,
    };
    let is_known = version.starts_with(|c: char| c.is_ascii_digit());
    is_known.then_some(version.as_str())
}

fn tag_of(base: &Base) -> Option<&str> {
    let tag = base.reference.as_deref()?.strip_prefix(REPOSITORY)?;
    tag.strip_suffix(TAG)
}
