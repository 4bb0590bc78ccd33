//! The table of tools that packages use at run time: `rules/knowledge/tools.yaml`, which says what each field means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tools.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    pub(super) tools: Vec<Tool>,
    pub(super) assemblers: Vec<Assembler>,
    pub(super) assembled: Vec<Assembled>,
}

impl Tools {
    /// Whether a file is one of those that count wherever they are.
    pub(super) fn are_anywhere(&self, name: &str) -> bool {
        let mut rows = self.tools.iter();
        rows.any(|row| {
            let mut files = row.helpers.iter().chain(&row.linked);
            row.anywhere.iter().any(|it| it.file == name) || files.any(|it| it.file == name)
        })
    }
}

/// A kind of tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolKind {
    /// A compiler.
    #[default]
    Compiler,
    /// A header of Python.
    PythonHeader,
    /// A header of the C library.
    SystemHeader,
    /// Another program.
    Program,
    /// A header of CUDA.
    CudaHeader,
    /// The compiler of CUDA, or a file of it.
    CudaCompiler,
    /// A program that the compiler executes.
    CompilerProgram,
    /// A file that the compiler's linker reads.
    LinkedFile,
    /// A file of the package itself.
    PackageFile,
    /// A program that a variable names and that nobody may execute.
    NotExecutable,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub package: String,
    pub distributions: Vec<String>,
    pub since: String,
    pub until: Option<String>,
    /// With one of these distributions, nothing is compiled.
    #[serde(default)]
    pub without: Vec<String>,
    /// Only beside this component.
    pub beside: Option<Beside>,
    pub when: String,
    pub compiler: Option<Compiler>,
    pub headers: Option<Headers>,
    #[serde(default)]
    pub programs: Vec<ToolProgram>,
    pub anywhere: Option<Anywhere>,
    #[serde(default)]
    pub helpers: Vec<Header>,
    #[serde(default)]
    pub linked: Vec<Header>,
    #[serde(default)]
    pub parts: Vec<Part>,
    #[serde(default)]
    pub named: Vec<NamedProgram>,
    pub cache: Cache,
    #[serde(default)]
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

/// A file of the package itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Part {
    pub path: String,
    pub since: String,
    pub until: String,
    /// A file that is taken in its place.
    #[serde(rename = "or")]
    pub other: Option<String>,
    #[serde(default)]
    pub unless: Vec<String>,
    /// Another file of the package, which uses it.
    pub used_by: Option<String>,
    /// What fails without it, if that is not what fails without the other tools.
    pub when: Option<String>,
    pub says: String,
}

/// A variable with the path of a program.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedProgram {
    pub variable: String,
    pub since: String,
    pub says: String,
}

/// Where what was compiled is kept.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cache {
    pub variables: Vec<String>,
    pub home: Option<String>,
}

/// A package that needs a tool in every program.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Needed {
    pub distribution: String,
    pub since: Option<String>,
}

/// A component of the stack, all copies of which are of a version or newer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Beside {
    pub component: String,
    pub since: String,
}

/// A file that counts wherever it is, but for the directories of some packages.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Anywhere {
    pub file: String,
    pub kind: ToolKind,
    #[serde(default)]
    pub not_below: Vec<String>,
    pub says: String,
}

/// The `ptxas` of a CUDA release.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assembler {
    pub cuda: String,
    pub sizes: Vec<u64>,
    pub gpus: Vec<String>,
    #[serde(rename = "source")]
    _source: String,
}

/// Which `ptxas` a package calls for which GPUs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assembled {
    pub package: String,
    pub distributions: Vec<String>,
    pub since: String,
    pub until: Option<String>,
    /// The GPUs, by compute capability.
    pub from: Option<String>,
    pub below: Option<String>,
    pub file: String,
    /// The variable with the path of another one.
    pub variable: String,
    #[serde(rename = "source")]
    _source: String,
}
