//! What a reference, the labels and the environment of an image promise.

use serde::{Deserialize, Serialize};

/// One promise, with the text it was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What it is about: `torch`, `cuda`, `cudnn`, `python`, `os`, `flavour`, `device` …
    pub subject: String,
    /// Exactly the components that are written: `cu118` is `11.8`, `py3` is `3`.
    pub version: String,
    /// Where it was read: `tag`, `repository`, `label`, `env`.
    pub origin: String,
    /// The piece of text: `v2.9`.
    pub text: String,
}
