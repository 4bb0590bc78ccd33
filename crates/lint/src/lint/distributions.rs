//! The Python that distributions have: `rules/knowledge/distributions.yaml`.

use serde::Deserialize;

use super::facts::Base;
use imgcheck_model::knowledge::{OnFirstUse, table};

/// Images of NVIDIA whose tags name the distribution.
const CUDA: &str = "nvidia/cuda";

#[derive(Debug, Deserialize)]
struct Distribution {
    /// The official image: `ubuntu`.
    image: String,
    /// How its tags begin: the release and its name.
    tags: Vec<String>,
    /// The version of `python3`.
    python: String,
}

#[derive(Debug, Deserialize)]
struct Distributions {
    distributions: Vec<Distribution>,
}

/// The version of the package `python3` in the distribution of a base image; `None` if that is not known.
pub fn python_of(base: &Base) -> Option<&'static str> {
    static DISTRIBUTIONS: OnFirstUse<Distributions> = OnFirstUse::new();
    // The tests read all tables.
    let table = DISTRIBUTIONS.get_or_make(|| table("distributions")).ok()?;
    let (_, tag) = base.reference.as_deref()?.rsplit_once(':')?;
    let repository = base.repository.as_str();
    let repository = repository.strip_prefix("library/").unwrap_or(repository);
    let mut rows = table.distributions.iter();
    let row = rows.find(|row| match repository {
        CUDA => row
            .tags
            .iter()
            .any(|it| tag.ends_with(&format!("-{}{it}", row.image))),
        repository => {
            let release = tag.split('-').next().unwrap_or_default();
            let is_of = |it: &String| {
                let rest = release.strip_prefix(it.as_str());
                rest.is_some_and(|it| it.is_empty() || it.starts_with('.'))
            };
            repository == row.image && row.tags.iter().any(is_of)
        }
    })?;
    Some(row.python.as_str())
}
