//! The tables of `rules/knowledge/processes/`: which libraries a package loads, in which order and how.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How one Python package, or one library, loads others.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Plan {
    /// Its name in reports.
    pub package: String,
    /// Distributions that bring it, by normalised name (PEP 503); `*` stands for anything. None for a library.
    #[serde(default)]
    pub distributions: Vec<String>,
    /// What must be there below site-packages; without it the package cannot be imported.
    #[serde(default)]
    pub directory: String,
    /// Frameworks that are modelled in a process of their own name it here; all others share one.
    #[serde(default)]
    pub process: String,
    /// Imported only where another package imports it.
    #[serde(default)]
    pub companion: bool,
    /// Lists of libraries that are loaded by path, by the names that steps use.
    #[serde(default)]
    pub lists: BTreeMap<String, Vec<Entry>>,
    /// Where such a list is looked for.
    #[serde(default)]
    pub layouts: BTreeMap<String, Layout>,
    /// What its import does. The first row that a version satisfies counts.
    #[serde(default)]
    pub releases: Vec<Release>,
    /// What is opened at first use.
    #[serde(default)]
    pub uses: Vec<Use>,
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
    /// Concluded from names, strings or neighbouring releases.
    Inferred,
}

/// What the import of some releases does.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Release {
    /// Which releases (PEP 440 specifiers); empty for all.
    pub releases: String,
    /// In order.
    pub steps: Vec<Step>,
    /// Where this is from, if it is not from where the rest of the table is.
    #[serde(default)]
    #[allow(dead_code, reason = "for readers of the table")]
    pub source: String,
    /// How sure it is, if not as sure as the table.
    #[serde(default)]
    #[allow(dead_code, reason = "for readers of the table")]
    pub confidence: Option<Confidence>,
}

/// One step of an import.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Row")]
pub(super) struct Step {
    pub action: Action,
    /// If it fails the import goes on.
    pub optional: bool,
    /// Done at first use, when everything is imported.
    pub late: bool,
    /// RTLD_GLOBAL.
    pub global: bool,
    /// Done only if the path of a loaded file holds this text.
    pub if_mapped: Option<String>,
    /// Only with such a Python (PEP 440 specifiers); empty for all.
    pub if_python: String,
    /// The loaded object that opens, by file name, where it is not Python: its DT_RPATH or DT_RUNPATH counts.
    pub by: String,
    /// What is tried if it fails.
    pub on_failure: Option<OnFailure>,
    /// What the program shows in place of the loader's message.
    pub shown: String,
    /// What an optional one goes on without: `gpu`, `package` or `feature`.
    pub without: String,
}

/// What a step does.
#[derive(Debug, Clone)]
pub(super) enum Action {
    /// Imports another package of these tables, if it is installed.
    Import(String),
    /// Imports extension modules, by path below site-packages without suffix; one that is not there is passed over.
    Module(Vec<String>),
    /// Imports extension modules of Python's own library; one that is built in is passed over.
    Standard(Vec<String>),
    /// `ctypes.CDLL` of files of the package, by path below site-packages; `*` in the name opens all that match.
    Open(String),
    /// `ctypes.CDLL` of names that the loader searches; the first that is found ends it.
    Find(Vec<String>),
    /// `ctypes.CDLL` of a list of files, searched by the package itself.
    Preload(Preload),
}

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
}

/// What a package does about a file that it does not find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OnMissing {
    /// The import fails.
    Fail,
    /// The rest of the list is left, without a word.
    Stop,
    /// Goes on with the next one.
    Skip,
}

/// What is tried when a step failed: files are loaded by path, and then the step is done again.
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
#[serde(from = "EntryRow")]
pub(super) struct Entry {
    pub folder: String,
    /// A shell pattern.
    pub file: String,
    /// That it is missing never matters.
    pub optional: bool,
    /// Only in builds for such a CUDA (PEP 440 specifiers); empty for all.
    pub cuda: String,
}

/// The places where a list is looked for, below each directory of `sys.path` in turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Layout {
    /// Directories, first to last; `{folder}` is that of the entry.
    pub paths: Vec<String>,
    /// The directory of `sys.path` counts only if this is in it.
    #[serde(default)]
    pub if_directory: String,
}

/// What is opened at first use.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Use {
    /// The objects that open it, whose DT_RPATH or DT_RUNPATH counts: patterns on SONAME or file name.
    pub by: Vec<String>,
    /// In which releases: of the package; in the table of a library, of the object itself. Empty for all.
    #[serde(default)]
    pub releases: String,
    /// Only in builds for such a CUDA (PEP 440 specifiers); empty for all.
    #[serde(default)]
    pub cuda: String,
    /// `open` is done for each of these, as `{part}`.
    #[serde(default)]
    pub parts: Vec<String>,
    /// The names that are tried; the first that is found ends it. One with an unknown `{…}` is left out.
    pub open: Vec<String>,
    /// RTLD_GLOBAL.
    #[serde(default)]
    pub global: bool,
    /// RTLD_LAZY.
    #[serde(default)]
    pub lazy: bool,
    /// The program goes on without it.
    #[serde(default)]
    pub optional: bool,
    /// An addition that is usually not there: that nothing answers is no fault.
    #[serde(default)]
    pub plugin: bool,
    /// What the program shows in place of the loader's message.
    #[serde(default)]
    pub shown: String,
    /// What an optional one goes on without: `gpu`, `package` or `feature`.
    #[serde(default)]
    pub without: String,
    /// Where this is from, if it is not from where the rest of the table is.
    #[serde(default)]
    #[allow(dead_code, reason = "for readers of the table")]
    pub source: String,
    /// How sure it is, if not as sure as the table.
    #[serde(default)]
    #[allow(dead_code, reason = "for readers of the table")]
    pub confidence: Option<Confidence>,
}

/// A step as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Row {
    import: Option<String>,
    module: Option<Vec<String>>,
    standard: Option<Vec<String>>,
    open: Option<String>,
    find: Option<Vec<String>>,
    preload: Option<Preload>,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    late: bool,
    #[serde(default)]
    global: bool,
    if_mapped: Option<String>,
    #[serde(default)]
    if_python: String,
    #[serde(default)]
    by: String,
    on_failure: Option<OnFailure>,
    #[serde(default)]
    shown: String,
    #[serde(default)]
    without: String,
}

impl TryFrom<Row> for Step {
    type Error = &'static str;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let actions = [
            row.import.map(Action::Import),
            row.module.map(Action::Module),
            row.standard.map(Action::Standard),
            row.open.map(Action::Open),
            row.find.map(Action::Find),
            row.preload.map(Action::Preload),
        ];
        let mut actions = actions.into_iter().flatten();
        match (actions.next(), actions.next()) {
            (Some(action), None) => Ok(Step {
                action,
                optional: row.optional,
                late: row.late,
                global: row.global,
                if_mapped: row.if_mapped,
                if_python: row.if_python,
                by: row.by,
                on_failure: row.on_failure,
                shown: row.shown,
                without: row.without,
            }),
            _ => Err("a step is one of import, module, standard, open, find and preload"),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum EntryRow {
    Name(String),
    Full {
        file: String,
        #[serde(default)]
        optional: bool,
        #[serde(default)]
        cuda: String,
    },
}

impl From<EntryRow> for Entry {
    fn from(row: EntryRow) -> Self {
        let (path, optional, cuda) = match row {
            EntryRow::Name(path) => (path, false, String::new()),
            EntryRow::Full {
                file,
                optional,
                cuda,
            } => (file, optional, cuda),
        };
        let (folder, file) = path.split_once('/').unwrap_or(("", &path));
        Entry {
            folder: folder.to_owned(),
            file: file.to_owned(),
            optional,
            cuda,
        }
    }
}
