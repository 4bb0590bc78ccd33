//! The table of tools that packages use at run time: `rules/knowledge/tools.yaml`, which says what each field means.

use serde::Deserialize;

/// The tools.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    pub(super) tools: Vec<Tool>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub package: String,
    pub distributions: Vec<String>,
    pub since: String,
    pub when: String,
    pub compiler: Compiler,
    pub headers: Headers,
    pub programs: Vec<ToolProgram>,
    pub cache: Cache,
    pub always: Vec<Needed>,
    #[serde(rename = "confidence")]
    _confidence: String,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compiler {
    pub variable: String,
    pub names: Vec<String>,
    pub says: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Headers {
    pub python: Header,
    pub system: Header,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub file: String,
    pub says: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolProgram {
    pub path: String,
    pub since: Option<String>,
    pub unless: String,
    pub says: String,
}

/// Where what was compiled is kept.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cache {
    pub variables: Vec<String>,
    pub home: String,
}

/// A package that needs a tool in every program.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Needed {
    pub distribution: String,
    pub since: Option<String>,
}
