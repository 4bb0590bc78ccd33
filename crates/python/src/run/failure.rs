//! What an import raises, and who catches it.

use std::sync::Arc;

use crate::newer::NewerSyntax;

/// An exception that ends the execution of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The name of its class.
    pub class: String,
    /// The import that it is about; `None` for one that has nothing to do with an import.
    pub missing: Option<Arc<Missing>>,
}

/// An import that certainly fails.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missing {
    /// The module that is not found, that lacks the name, or that is not valid Python; the name that `dlopen` is given.
    pub module: String,
    /// The name that the module lacks; `None` if it is about the module itself.
    pub name: Option<String>,
    /// What the loader lacks; `None` if Python itself does not find the module or name.
    pub lacking: Option<Lacking>,
    /// What the source of the module has that this release of Python does not accept; `None` for one that none accepts.
    pub newer_syntax: Option<NewerSyntax>,
    /// It is a relative import that leads out of all packages; `module` is as written.
    pub is_relative: bool,
    /// The imports that lead there, outermost first: the last one fails. Of many, the last dozen.
    pub chain: Vec<Place>,
}

/// What the loader lacks to load a module or library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// The name of the library that it does not find, or the path of the one that is too old.
    pub library: String,
    /// The version that this one does not define, such as `GLIBCXX_3.4.30`; `None` if it is not found.
    pub version: Option<String>,
}

/// Where a module imports another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The importing module; empty for the command itself.
    pub module: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The line of the module's statement that is executed: that of the call if the import is in a function.
    pub statement: u32,
}

/// Whether something holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    Unknown,
}

impl From<bool> for Answer {
    fn from(holds: bool) -> Self {
        match holds {
            true => Answer::Yes,
            false => Answer::No,
        }
    }
}

pub(super) const NOT_FOUND: &str = "ModuleNotFoundError";
pub(super) const IMPORT_ERROR: &str = "ImportError";
pub(super) const ATTRIBUTE_ERROR: &str = "AttributeError";
pub(super) const OS_ERROR: &str = "OSError";
pub(super) const EXIT: &str = "SystemExit";
/// The class of what is raised by a source that the user may not read.
pub const PERMISSION_ERROR: &str = "PermissionError";
/// The class of what is raised by a source that is not valid Python.
pub const SYNTAX_ERROR: &str = "SyntaxError";

/// Classes of which none is the base class of another, but for [`IMPORT_ERROR`] and [`OS_ERROR`].
const KNOWN: [&str; 7] = [
    NOT_FOUND,
    IMPORT_ERROR,
    ATTRIBUTE_ERROR,
    OS_ERROR,
    EXIT,
    PERMISSION_ERROR,
    SYNTAX_ERROR,
];

/// Classes that are no base classes of those above.
const UNRELATED: [&str; 20] = [
    "ArithmeticError",
    "AssertionError",
    "AttributeError",
    "EOFError",
    "FileNotFoundError",
    "IndexError",
    "KeyError",
    "KeyboardInterrupt",
    "LookupError",
    "MemoryError",
    "NameError",
    "NotImplementedError",
    "PermissionError",
    "RecursionError",
    "RuntimeError",
    "StopIteration",
    "SyntaxError",
    "TypeError",
    "UnicodeDecodeError",
    "ValueError",
];

/// The names of one class.
const OS_ERRORS: [&str; 3] = [OS_ERROR, "EnvironmentError", "IOError"];

/// Whether an `except` with these classes catches an exception of a class.
pub(super) fn catches(classes: &[String], raised: &str) -> Answer {
    if classes.is_empty() {
        return Answer::Yes;
    }
    let mut answer = Answer::No;
    for class in classes {
        match class.as_str() {
            "BaseException" => return Answer::Yes,
            "Exception" if raised != EXIT => return Answer::Yes,
            "Exception" => {}
            IMPORT_ERROR if raised == NOT_FOUND => return Answer::Yes,
            class if class == raised => return Answer::Yes,
            class
                if [OS_ERROR, PERMISSION_ERROR].contains(&raised) && OS_ERRORS.contains(&class) =>
            {
                return Answer::Yes;
            }
            class => {
                let is_known = |class| KNOWN.contains(&class);
                let is_unrelated = is_known(raised)
                    && (UNRELATED.contains(&class)
                        || OS_ERRORS.contains(&class)
                        || is_known(class));
                if !is_unrelated {
                    answer = Answer::Unknown;
                }
            }
        }
    }
    answer
}
