//! Facts about imports.

use imgcheck_python::NewerSyntax;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What Python raises for a name that a module lacks, where no import asks for it.
const ATTRIBUTE_ERROR: &str = "AttributeError";

/// An import that certainly fails.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ImportFailure {
    /// What is executed: the script, `-c`, `<stdin>`, or a module.
    pub program: String,
    /// Whether the image starts it. Otherwise it is a package that is installed.
    pub is_command: bool,
    /// What imports it, if the import of the program does not: ``the first `torch.compile` ``.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub when: String,
    /// What fails when it needs the module, if only something else than the import of the program does: ``the first `torch.compile` ends with …``.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    /// The module that is not found, or that lacks the name: `typing_extensions`. The library that the program opens, if that fails:
    /// `libgomp.so.1`.
    pub module: String,
    /// The name that the module lacks; empty if there is no such module.
    pub name: String,
    /// The class of what Python raises: `ModuleNotFoundError`.
    pub raises: String,
    /// The file whose import fails; empty for the command itself.
    pub importer: String,
    /// The line of the import; 0 for the command itself.
    pub line: u32,
    /// Layer index of that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// The distribution with the file whose import fails, by normalized name (PEP 503); empty if none is known.
    pub distribution: String,
    /// The distribution that should bring the module; empty if none is known.
    pub missing: String,
    /// Its version in this environment, if it is installed; else empty.
    pub version: String,
    /// The requirement of the importing distribution on it, as written; empty if it has none.
    pub requirement: String,
    /// Why the module is absent.
    pub reason: AbsenceReason,
    /// The file to change, the copy that this Python does not see, the Python that removed the module, or the missing library; else empty.
    pub elsewhere: String,
    /// What the source has that this release of Python does not accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer_syntax: Option<NewerSyntax>,
    /// The version of symbols that the library in `elsewhere` does not define: `GLIBCXX_3.4.30`. Absent if it is not about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_version: Option<String>,
    /// Whether the directory of `elsewhere` comes first in the search path because the program is there, or is started there.
    pub is_beside_program: bool,
    /// The environment, by its prefix.
    pub environment: String,
    /// The directories in which this Python looks for modules besides the standard library, in order.
    pub searched: Vec<String>,
    /// Whether the image starts this Python for certain, and its whole search path is known.
    pub certain: bool,
}

impl ImportFailure {
    /// Whether another failure of the same Python has the same cause: a file, a library or a part of the standard library that no package
    /// brings, or the same import.
    pub(super) fn shares_cause(&self, other: &ImportFailure) -> bool {
        use AbsenceReason::{LibraryMissing, LibraryTooOld, NotInLibrary, Shadowed};
        let is_same_cause = match self.reason {
            Shadowed => true,
            LibraryMissing | LibraryTooOld | NotInLibrary => self.module == other.module,
            _ => {
                (&self.importer, self.line) == (&other.importer, other.line)
                    && (&self.module, &self.name) == (&other.module, &other.name)
            }
        };
        is_same_cause
            && (self.reason, &self.elsewhere) == (other.reason, &other.elsewhere)
            && (self.when.is_empty(), self.certain) == (other.when.is_empty(), other.certain)
            && self.environment == other.environment
    }

    /// What Python prints, and where.
    pub(super) fn shown(&self) -> String {
        if let Some(it) = &self.newer_syntax {
            return format!(
                "{}: {} needs Python 3.{} ({}, line {})",
                self.raises, it.what, it.minor, self.elsewhere, it.line
            );
        }
        let problem = match self.name.as_str() {
            "" if self.reason == AbsenceReason::InvalidSource => "invalid syntax".to_owned(),
            "" if self.reason == AbsenceReason::LibraryMissing => format!(
                "{}: cannot open shared object file: No such file or directory",
                self.elsewhere
            ),
            "" if self.reason == AbsenceReason::LibraryTooOld => format!(
                "{}: version `{}' not found",
                self.elsewhere,
                self.symbol_version.as_deref().unwrap_or_default()
            ),
            "" if self.reason == AbsenceReason::RelativeImport => {
                "attempted relative import beyond all packages".to_owned()
            }
            "" if self.reason == AbsenceReason::Unreadable => {
                format!("Permission denied: '{}'", self.elsewhere)
            }
            "" => format!("No module named '{}'", self.module),
            name if self.raises == ATTRIBUTE_ERROR => {
                format!("module '{}' has no attribute '{name}'", self.module)
            }
            name => format!("cannot import name '{name}' from '{}'", self.module),
        };
        let place = match self.importer.as_str() {
            "" => String::new(),
            importer if self.line == 0 => format!(" ({importer})"),
            importer => format!(" ({importer}, line {})", self.line),
        };
        format!("{}: {problem}{place}", self.raises)
    }
}

/// Why a module, or a name of one, is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AbsenceReason {
    /// Nothing of its distribution is in the image.
    #[default]
    NotInstalled,
    /// It is installed for another Python.
    OtherPython,
    /// Of its distribution only the metadata is left.
    MetadataOnly,
    /// The installed version has the module, but its files are not in the image.
    FilesMissing,
    /// A release of Python removed it from the standard library: `elsewhere` is that release.
    Removed,
    /// The installed version of the module does not have the name, or not this submodule.
    OtherVersion,
    /// The image leaves this part of the standard library out.
    NotInLibrary,
    /// The module is another one of the same name, which comes first in the search path: `elsewhere` is its file.
    Shadowed,
    /// The loader does not find a library: `elsewhere` is its name.
    LibraryMissing,
    /// A library does not define a version that is needed: `elsewhere` is its path.
    LibraryTooOld,
    /// The module is a package without `__main__`, so that `-m` cannot execute it.
    NotExecutable,
    /// Its source is not valid Python: `elsewhere` is the file.
    InvalidSource,
    /// It is a relative import that leads out of all packages.
    RelativeImport,
    /// The user may not read its source, or search the directory of its package: `elsewhere` is that.
    Unreadable,
    /// Its source is for a newer Python: `elsewhere` is the file, empty for the code after `-c`.
    NewerSyntax,
}

/// What a program imports, in the order of execution.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportTree {
    /// The environment, by its prefix.
    pub environment: String,
    /// What is executed: the script, `-c`, or a module.
    pub program: String,
    /// The modules.
    pub modules: Vec<ImportedModule>,
    /// What certainly ends it, as Python prints it.
    pub failures: Vec<String>,
    /// A module with a similar name, if the requested one does not exist; else empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub similar: String,
}

/// A module that is imported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportedModule {
    /// Its name.
    pub name: String,
    /// Its file; empty if it has none.
    pub file: String,
    /// The module that imports it first; empty for the program itself.
    pub importer: String,
    /// The line of that import.
    pub line: u32,
    /// What the import raises; empty if nothing is known to.
    pub raises: String,
    /// Its source was not read, or is not understood: after it, a module that is not found is no failure.
    pub is_unread: bool,
    /// It changes where modules are found: after it, a module that is not found is no failure.
    pub changes_search: bool,
}
