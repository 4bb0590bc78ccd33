//! The language of grammar files.
//!
//! A grammar file is YAML; any file may hold any of these sections:
//!
//! ```yaml
//! source: where the publisher documents its names
//! tokens:                          # read in every tag, and in the last component of every repository
//! - near: [cuda]                   # tried only where one of these words occurs, at which a text is also split
//!   read: 'cuda-?(?<cuda>{dotted})'
//!   only_in_tags: true             # not in repository names
//!   beside: [torch, cuda]          # counts only beside a claim about one of these subjects
//! products:                        # whose bare version a tag begins with, by the last component of the repository
//! - names: [pytorch]
//!   bare: ['^v?(?<torch>{release})']
//! grammars:                        # a publisher at a time; the most literal `match` wins
//! - match: [nvidia/cuda, 'nvcr.io/nvidia/l4t-*', 'gcr.io/images/**']
//!   tag: ['(?<flavour>devel|base)']  # read in the tag, before the tokens
//!   name: []                         # read in the last component of the repository, before the tokens
//!   bare: []                         # in place of the product's
//! variables:                       # environment variables of an image
//! - name: PYTORCH_VERSION
//!   value: ['^(?<torch>[0-9.]+)']
//! labels:
//! - name: org.opencontainers.image.version
//!   tag_of: org.opencontainers.image.title   # read as a tag under the repository that this label names
//! ```
//!
//! A *pattern* is a regular expression (syntax of the `regex` crate) that must begin and end at a component boundary:
//! an end of the text, `-`, `_` or `.`. A number ends at a `.` only where no further digits of it follow: `cuda11.0rc` is
//! not CUDA 11. It may also end where a word of some token's `near` begins, which a number or a boundary must follow:
//! `cuda11.8cudnn8devel` is read as `cuda11.8`, `cudnn8` and `devel`. A pattern sees the text in lower case. What it
//! captures is what it claims:
//!
//! - `(?<cuda>…)` is a claim about `cuda`; `triton-server` is written `triton_server`;
//! - `(?<cuda.1>1[0-9])(?<cuda.2>[0-9])` are the components of one version, joined by dots: `cu118` is 11.8;
//! - `(?<os>ubuntu)-?(?<os.1>[0-9]{2})\.?(?<os.2>[0-9]{2})` puts the word before them: `ubuntu2204` is ubuntu22.04;
//! - `torch(?<torch>)[0-9]+`, an empty capture, says that the text mentions torch, but no certain version;
//! - `(?<text>v?(?<torch>…))-gpu` is a claim whose text is `v2.8.0`, not all that the pattern matches;
//! - a pattern without captures reads its text and claims nothing, so that no later pattern reads it.
//!
//! Each character is read once: by the publisher's patterns, then by the tokens, in the order of the files, those with
//! `beside` last. `bare` patterns see the whole tag again, and their claims about a subject count only if nothing else in
//! the reference mentions it.
//!
//! Two shapes have names: `{release}` is a version of a product before its tenth major (`2.8.0`, `0.4.6.post5`,
//! `2.3.0.dev20240301`), which a year and month such as `24.05` never is; `{dotted}` is any version of one to four
//! components.

use serde::Deserialize;

use super::pattern::{Checked, Pattern};
use imgcheck_base::error::Result;
use imgcheck_base::yaml;

/// The content of one grammar file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grammars<P = Pattern> {
    /// Where the grammar is documented.
    #[serde(default)]
    pub source: Option<String>,
    /// Tokens of all publishers.
    #[serde(default = "Vec::new")]
    pub tokens: Vec<Token<P>>,
    /// Products and their bare versions.
    #[serde(default = "Vec::new")]
    pub products: Vec<Product<P>>,
    /// Patterns of single publishers.
    #[serde(default = "Vec::new")]
    pub grammars: Vec<PublisherEntry<P>>,
    /// Environment variables.
    #[serde(default = "Vec::new")]
    pub variables: Vec<Variable<P>>,
    /// Labels.
    #[serde(default = "Vec::new")]
    pub labels: Vec<Variable<P>>,
}

/// A form that many publishers use.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token<P = Pattern> {
    /// Words, in lower case, of which one occurs in every text that the pattern matches. A number that stands right
    /// before one of them ends there.
    pub near: Vec<String>,
    /// The pattern.
    pub read: P,
    /// Whether repository names are left out.
    #[serde(default)]
    pub only_in_tags: bool,
    /// Subjects of which one must be claimed beside it; none: no condition.
    #[serde(default)]
    pub beside: Vec<String>,
}

/// A product whose images begin their tags with its version.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product<P = Pattern> {
    /// Last components of repositories, in full.
    pub names: Vec<String>,
    /// Patterns of the tag.
    pub bare: Vec<P>,
}

/// The references of one publisher.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublisherEntry<P = Pattern> {
    /// Globs of the last components of `registry/repository`: `*` within a component, `**` for one or more at the end.
    pub r#match: Vec<String>,
    /// Patterns of the tag.
    #[serde(default = "Vec::new")]
    pub tag: Vec<P>,
    /// Patterns of the last component of the repository.
    #[serde(default = "Vec::new")]
    pub name: Vec<P>,
    /// Bare versions, in place of the product's.
    #[serde(default = "Option::default")]
    pub bare: Option<Vec<P>>,
}

/// An environment variable or label.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable<P = Pattern> {
    /// Name of the environment variable.
    pub name: String,
    /// Patterns of its value.
    #[serde(default = "Vec::new")]
    pub value: Vec<P>,
    /// Read its value as the tag of the repository that this label names.
    #[serde(default)]
    pub tag_of: Option<String>,
}

/// Reads a grammar file; its patterns are compiled when they are first used.
#[inline] // only tests call it: the program reads compiled tables, and need not hold the reader
pub fn parse(name: &str, text: &str) -> Result<Grammars> {
    yaml::parse(name, text)
}

/// Compiles every pattern of a grammar file. An error says where in the file it is.
#[inline] // as `parse`
pub fn check(name: &str, text: &str) -> Result<()> {
    yaml::parse::<Grammars<Checked>>(name, text).map(drop)
}
