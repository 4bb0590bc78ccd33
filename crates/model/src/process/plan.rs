//! The tables of `rules/knowledge/processes/`: which libraries a package loads, in which order and how.

use super::cause::Without;
use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};
use serde::Deserialize;
use serde::de::IgnoredAny;

use imgcheck_loader::Object;

/// How one Python package, or one library, loads others.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LoadPlan {
    /// Name of the package in reports.
    pub package: String,
    /// Distributions that provide it, by normalized name (PEP 503); `*` stands for anything. None for a library.
    #[serde(default)]
    pub distributions: Vec<String>,
    /// The directory below site-packages that the package cannot be imported without.
    #[serde(default)]
    pub directory: String,
    /// Frameworks that are modeled in a process of their own name it here; all others share one.
    #[serde(default)]
    pub process: String,
    /// Imported only where another package imports it.
    #[serde(default)]
    pub companion: bool,
    /// The package that imports it where it is installed: then nothing else does.
    #[serde(default)]
    pub companion_of: String,
    /// Lists of libraries that are loaded by path, by the names that steps use.
    #[serde(default)]
    pub lists: BTreeMap<String, Vec<ListedFile>>,
    /// Where such a list is looked for.
    #[serde(default)]
    pub layouts: BTreeMap<String, ListLayout>,
    /// What its import does. The first row that a version satisfies counts.
    #[serde(default)]
    pub releases: Vec<ReleasePlan>,
    /// What is opened at first use.
    #[serde(default)]
    pub uses: Vec<FirstUse>,
    /// Where these facts are from.
    #[allow(dead_code, reason = "for readers of the table")]
    pub source: String,
    /// How sure they are.
    #[allow(dead_code, reason = "for readers of the table")]
    pub confidence: Confidence,
}

/// How sure a fact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Confidence {
    /// Read from the released files themselves, or seen when they were run.
    Verified,
    /// Documented, or read in the project's sources.
    Stated,
    /// Concluded from names, strings or neighboring releases.
    Inferred,
}

/// What the import of some releases does.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ReleasePlan {
    /// Which releases (PEP 440 specifiers); empty for all.
    pub releases: String,
    /// In order.
    pub steps: Vec<Step>,
    /// Extension modules that only some programs import, by path below site-packages without suffix.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Where this is from, if it is not from where the rest of the table is.
    #[serde(default)]
    #[allow(dead_code, reason = "for readers of the table")]
    pub source: String,
    /// How sure it is, if not as sure as the table.
    #[serde(default)]
    #[allow(dead_code, reason = "for readers of the table")]
    pub confidence: Option<Confidence>,
    /// What the published wheels show in these releases only. `tools/knowledge` compares it.
    #[serde(default)]
    #[allow(dead_code, reason = "for readers of the table")]
    pub evidence: IgnoredAny,
}

/// One step of an import.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "StepRow")]
pub(super) struct Step {
    pub action: StepAction,
    /// The import continues if the step fails.
    pub optional: bool,
    /// The step fails if the package that it imports is not installed.
    pub required: bool,
    /// Runs at first use, after all imports.
    pub late: bool,
    /// RTLD_GLOBAL.
    pub global: bool,
    /// Runs only if the path of a loaded file contains this text.
    pub if_mapped: Option<String>,
    /// Only with such a Python (PEP 440 specifiers); empty for all.
    pub if_python: String,
    /// Only if these packages of the tables are installed in such releases (PEP 440 specifiers); empty releases for all.
    pub if_installed: BTreeMap<String, String>,
    /// Runs only if this environment variable is absent or empty.
    pub unless_variable: Option<String>,
    /// Runs only if no library is loaded whose SONAME matches this shell pattern.
    pub unless_loaded: Option<SonamePattern>,
    /// The loaded object that opens, by file name, where it is not Python: its DT_RPATH or DT_RUNPATH counts.
    pub by: String,
    /// What is tried if it fails.
    pub on_failure: Option<OnFailure>,
    /// What the program shows in place of the loader's message.
    pub shown: String,
    /// What an optional step continues without: `gpu`, `package` or `feature`.
    pub without: Without,
}

/// What a step does.
#[derive(Debug, Clone)]
pub(super) enum StepAction {
    /// Imports another package of these tables, if it is installed.
    Import(String),
    /// Imports the extension modules of the first variant that can be imported.
    Any(Variants),
    /// Imports extension modules, by path below site-packages without suffix; missing ones are skipped.
    Module(Vec<String>),
    /// Imports extension modules of Python's own library; built-in ones are skipped.
    Standard(Vec<String>),
    /// `ctypes.CDLL` of files of the package, by path below site-packages; `*` in the name opens all that match.
    Open(String),
    /// `ctypes.CDLL` of the one file that the package chooses by name. A missing one is a failure of every step.
    Choose(FileChoice),
    /// `ctypes.CDLL` of names that the loader searches; stops at the first that is found.
    Find(Vec<String>),
    /// `ctypes.CDLL` of a list of files, searched by the package itself.
    Preload(Preload),
}

/// A package has the same extension modules several times, each time for a different environment.
#[derive(Debug, Clone)]
pub(super) struct Variants {
    /// The modules of one variant, in order, by path below site-packages without suffix; `{part}` stands for the variant.
    pub modules: Vec<String>,
    /// The variants, in the order in which they are tried.
    pub parts: Vec<String>,
}

/// A file that a package requests by its exact name, which may tell the release of CUDA that it is for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FileChoice {
    /// Path below site-packages; its last component may contain `{cuda-digits}`.
    pub file: String,
    /// The environment variable that replaces the digits.
    #[serde(default, rename = "override")]
    pub override_by: String,
    /// Without a file for the release: the one for the nearest older release of the same major, else for the nearest newer one.
    #[serde(default)]
    pub nearest: bool,
    /// What the program shows if there is no such file; `{file}` is its path.
    pub absent: String,
}

/// A shell pattern for a SONAME.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct SonamePattern(GlobMatcher);

/// A list of files that the package searches itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Preload {
    /// One of `lists`.
    pub list: String,
    /// One of `layouts`.
    pub layout: String,
    /// What happens if a file of the list is not found.
    pub missing: OnMissing,
    /// A file is left out if a library whose SONAME matches its name is loaded.
    #[serde(default)]
    pub unless_loaded: bool,
}

/// What a package does about a file that it does not find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OnMissing {
    /// The import fails.
    Fail,
    /// Silently skips the rest of the list.
    Stop,
    /// Continues with the next file.
    Skip,
}

/// What is tried after a step fails: files are loaded by path, and the step is repeated.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct OnFailure {
    /// Tried only if the loader's message names one of the list's libraries.
    #[serde(default)]
    pub if_named: bool,
    /// What is loaded first.
    pub preload: Preload,
    /// What the program shows if a file of the list is missing; `{file}` is its pattern.
    #[serde(default)]
    pub shown: String,
}

/// One file of a list, as `folder/pattern`.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "ListedFileRow")]
pub(super) struct ListedFile {
    pub folder: String,
    /// A shell pattern.
    pub file: String,
    /// The same pattern, for the SONAME.
    pub soname: SonamePattern,
    /// A missing file is ignored.
    pub optional: bool,
    /// Only in builds for such a CUDA (PEP 440 specifiers); empty for all.
    pub cuda: String,
}

/// The places where a list is looked for, below each directory of `sys.path` in turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ListLayout {
    /// Directories, first to last; `{folder}` is that of the entry.
    pub paths: Vec<String>,
    /// Environment variables: the directory that the first one with a value names takes the place of `sys.path`.
    #[serde(default)]
    pub variables: Vec<String>,
    /// The directory of `sys.path` counts only if this is in it.
    #[serde(default)]
    pub if_directory: String,
}

/// What is opened at first use.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FirstUse {
    /// The objects that open it, whose DT_RPATH or DT_RUNPATH counts: patterns on SONAME or file name.
    pub by: Vec<String>,
    /// In which releases: of the package; in the table of a library, of the object itself. Empty for all.
    #[serde(default)]
    pub releases: String,
    /// Only in builds for such a CUDA (PEP 440 specifiers); empty for all.
    #[serde(default)]
    pub cuda: String,
    /// `open` is repeated for each of these, as `{part}`.
    #[serde(default)]
    pub parts: Vec<String>,
    /// The names that are tried until one is found. A name with an unknown `{…}` is omitted.
    pub open: Vec<String>,
    /// RTLD_GLOBAL.
    #[serde(default)]
    pub global: bool,
    /// RTLD_LAZY.
    #[serde(default)]
    pub lazy: bool,
    /// The program continues without it.
    #[serde(default)]
    pub optional: bool,
    /// An optional addition that is usually missing, which is no fault.
    #[serde(default)]
    pub plugin: bool,
    /// What the program shows in place of the loader's message.
    #[serde(default)]
    pub shown: String,
    /// What an optional step continues without: `gpu`, `package` or `feature`.
    #[serde(default)]
    pub without: Without,
    /// The documented functions of the package that fail without it; empty if only the program decides whether it is needed.
    #[serde(default)]
    pub breaks: String,
    /// Where this is from, if it is not from where the rest of the table is.
    #[serde(default)]
    #[allow(dead_code, reason = "for readers of the table")]
    pub source: String,
    /// How sure it is, if not as sure as the table.
    #[serde(default)]
    #[allow(dead_code, reason = "for readers of the table")]
    pub confidence: Option<Confidence>,
    /// What the published wheels show in these releases only. `tools/knowledge` compares it.
    #[serde(default)]
    #[allow(dead_code, reason = "for readers of the table")]
    pub evidence: IgnoredAny,
}

/// A step as written in the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StepRow {
    import: Option<String>,
    any: Option<Vec<String>>,
    #[serde(default)]
    parts: Vec<String>,
    module: Option<Vec<String>>,
    standard: Option<Vec<String>>,
    open: Option<String>,
    choose: Option<FileChoice>,
    find: Option<Vec<String>>,
    preload: Option<Preload>,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    late: bool,
    #[serde(default)]
    global: bool,
    if_mapped: Option<String>,
    #[serde(default)]
    if_python: String,
    #[serde(default)]
    if_installed: BTreeMap<String, String>,
    unless_loaded: Option<SonamePattern>,
    unless_variable: Option<String>,
    #[serde(default)]
    by: String,
    on_failure: Option<OnFailure>,
    #[serde(default)]
    shown: String,
    #[serde(default)]
    without: Without,
}

impl TryFrom<StepRow> for Step {
    type Error = &'static str;

    fn try_from(row: StepRow) -> Result<Self, Self::Error> {
        let parts = row.parts;
        if row.any.is_some() == parts.is_empty() {
            return Err("`any` and `parts` belong together");
        }
        let any = row.any.map(|modules| Variants { modules, parts });
        let actions = [
            row.import.map(StepAction::Import),
            any.map(StepAction::Any),
            row.module.map(StepAction::Module),
            row.standard.map(StepAction::Standard),
            row.open.map(StepAction::Open),
            row.choose.map(StepAction::Choose),
            row.find.map(StepAction::Find),
            row.preload.map(StepAction::Preload),
        ];
        let mut actions = actions.into_iter().flatten();
        match (actions.next(), actions.next()) {
            (Some(action), None) => Ok(Step {
                action,
                optional: row.optional,
                required: row.required,
                late: row.late,
                global: row.global,
                if_mapped: row.if_mapped,
                if_python: row.if_python,
                if_installed: row.if_installed,
                unless_loaded: row.unless_loaded,
                unless_variable: row.unless_variable,
                by: row.by,
                on_failure: row.on_failure,
                shown: row.shown,
                without: row.without,
            }),
            _ => Err(
                "a step is one of import, any, module, standard, open, choose, find and preload",
            ),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ListedFileRow {
    Name(String),
    Full {
        file: String,
        #[serde(default)]
        optional: bool,
        #[serde(default)]
        cuda: String,
    },
}

impl TryFrom<ListedFileRow> for ListedFile {
    type Error = globset::Error;

    fn try_from(row: ListedFileRow) -> Result<Self, Self::Error> {
        let (path, optional, cuda) = match row {
            ListedFileRow::Name(path) => (path, false, String::new()),
            ListedFileRow::Full {
                file,
                optional,
                cuda,
            } => (file, optional, cuda),
        };
        let (folder, file) = path.split_once('/').unwrap_or(("", &path));
        Ok(ListedFile {
            folder: folder.to_owned(),
            soname: file.to_owned().try_into()?,
            file: file.to_owned(),
            optional,
            cuda,
        })
    }
}

impl TryFrom<String> for SonamePattern {
    type Error = globset::Error;

    fn try_from(pattern: String) -> Result<Self, Self::Error> {
        Ok(SonamePattern(Glob::new(&pattern)?.compile_matcher()))
    }
}

impl SonamePattern {
    /// Whether an object has such a SONAME.
    pub fn is_of(&self, object: &Object) -> bool {
        let soname = object.elf.soname.as_deref();
        soname.is_some_and(|soname| self.0.is_match(soname))
    }
}
