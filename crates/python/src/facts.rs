//! The facts of one module.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::newer::NewerSyntax;

/// What the source of one module says about its import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModuleFacts {
    /// Why nothing is known about the module. Then it may import and bind anything.
    pub unread: Option<Unread>,
    /// What its execution does, in order. Blocks are flat: each ends with [`Step::End`].
    pub steps: Vec<Step>,
    /// Names that the module may bind, sorted. Those of `from M import NAME` without `as` are left out: the steps have them.
    pub names: Vec<String>,
    /// The line before which the module certainly has no names that are not listed; `None` if it never has. It may have them because of a
    /// `__getattr__` that may answer any name, `globals()`, `exec()` or its own entry in `sys.modules`; in a function, the line is that of the outermost one.
    pub dynamic_names_from: Option<u32>,
    /// The names for which its `__getattr__` may return something, sorted; none if it may for any.
    #[serde(default)]
    pub answered: Vec<String>,
    /// Modules may be found below the module that have no file there: it uses `__path__` or changes `sys.modules`.
    pub has_dynamic_submodules: bool,
    /// It may change where modules below it are found: it uses `__path__`.
    #[serde(default)]
    pub uses_path: bool,
    /// It changes where any import searches: `sys.path` or a directory of packages.
    pub changes_search: bool,
    /// Modules below this one, each of which it imports in a `try` whose handler changes where any import searches: only if one fails.
    #[serde(default)]
    pub search_guards: Vec<String>,
    /// It changes who searches: `sys.meta_path` or `sys.path_hooks`.
    pub adds_finders: bool,
    /// A function or method of it, which another module may call, does either.
    #[serde(default)]
    pub has_search_changing_functions: bool,
    /// It does either when it is executed as a program.
    pub changes_search_as_main: bool,
    /// The code because of which modules may be found below the module that have no file there; none if that is not known.
    #[serde(default)]
    pub dynamic_submodules: Vec<DynamicSubmodules>,
    /// The modules that it puts into `sys.modules` by name. One that begins with a dot is below the module itself.
    pub provided: Vec<String>,
    /// Names of attributes that it sets on what it imports, sorted.
    pub patched: Vec<String>,
    /// Names of what it imports and sets attributes on whose names its text does not show, sorted.
    #[serde(default)]
    pub filled: Vec<String>,
    /// Functions that set attributes of modules which they look up in `sys.modules`, by names that the text does not show.
    #[serde(default)]
    pub filling: Vec<String>,
    /// Syntax that only newer releases of Python accept: of each release the first. That in functions is there only if they were read.
    #[serde(default)]
    pub newer_syntax: Vec<NewerSyntax>,
}

/// Code that may bring modules without files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DynamicSubmodules {
    /// The line before which it is certainly not executed: that of its statement, or of the outermost function around it.
    pub line: u32,
    /// The name of that function; empty if there is none.
    pub function: String,
    /// What follows the name of the module in those of all that it brings: `._C.`; empty if that is not known.
    #[serde(default)]
    pub prefix: String,
}

/// An attribute of an imported module that the execution needs: `getLogger` of `logging`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Use {
    /// The line, counted from 1.
    pub line: u32,
    /// The module, as a plain `import` names it.
    pub module: String,
    /// The attribute.
    pub name: String,
}

/// Why the source of a module was not examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Unread {
    /// It is longer than [`ModuleFacts::MOST_BYTES`].
    TooLong,
    /// It is in a directory whose sources are not read, such as that of tests.
    PassedOver,
    /// Its expressions or blocks are nested too deeply.
    TooDeep,
    /// It is not valid Python.
    Syntax,
    /// It is in another encoding than UTF-8.
    Encoding,
}

/// A step of the execution of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Step {
    /// `import` or `from … import`.
    Import(Import),
    /// `try`. Then follow its body, [`Step::Except`], [`Step::Else`] and [`Step::Finally`] with theirs, and [`Step::End`].
    Try,
    /// `except` with the names of the exceptions without module; none for all. An expression is `?`.
    Except(Vec<String>),
    /// `if`. Then follow its body, [`Step::Else`] with the alternative, and [`Step::End`].
    If(Condition),
    /// A block that may run or not, such as the body of a loop; ends with [`Step::End`].
    Maybe,
    /// The alternative of the innermost block.
    Else,
    /// The `finally` of the innermost block.
    Finally,
    /// The end of the innermost block.
    End,
    /// The attribute of an imported module that is certainly needed.
    Use(Use),
    /// `ctypes.CDLL` of a name that the loader searches: its line, and the name.
    Open(u32, String),
    /// `raise` with the name of the exception without module; empty for one that is raised again, `?` for an expression.
    Raise(String),
    /// `sys.exit()` and its like.
    Exit,
    /// In a `try`: statements that may raise anything.
    Other,
}

/// An import of one module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Import {
    /// The line, counted from 1.
    pub line: u32,
    /// The number of leading dots.
    pub level: u32,
    /// The name of the module, without leading dots.
    pub module: String,
    /// The names after `from … import`, `*` for all; none for a plain `import`.
    pub names: Vec<String>,
    /// The line of the module's statement that calls the function with the import, whose names are then not those of the module; 0 if it is in
    /// no function.
    #[serde(default)]
    pub called_from: u32,
}

impl ModuleFacts {
    /// Longer sources are not examined. Few published modules are longer than a megabyte, and none of them imports much.
    pub const MOST_BYTES: u64 = 2 << 20;

    /// Whether no release of Python accepts the source.
    pub(crate) fn is_invalid(&self) -> bool {
        self.unread == Some(Unread::Syntax)
    }

    /// The first syntax that a release of Python does not accept.
    pub(crate) fn newer_than(&self, release: (u32, u32)) -> Option<&NewerSyntax> {
        let newer = self.newer_syntax.iter();
        let newer = newer.filter(|it| release < (3, it.minor));
        newer.min_by_key(|it| it.line)
    }

    /// The facts of a module whose source is not examined.
    pub fn unread(why: Unread) -> Self {
        ModuleFacts {
            unread: Some(why),
            dynamic_names_from: Some(0),
            has_dynamic_submodules: true,
            uses_path: true,
            ..ModuleFacts::default()
        }
    }

    /// All imports, whether they are executed or not.
    pub fn imports(&self) -> impl Iterator<Item = &Import> {
        self.steps.iter().filter_map(|step| match step {
            Step::Import(import) => Some(import),
            _ => None,
        })
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> u64 {
        let text = |text: &String| size_of::<String>() + text.len();
        let texts = |all: &[String]| all.iter().map(text).sum::<usize>();
        let step = |step: &Step| {
            let more = match step {
                Step::Import(import) => import.module.len() + texts(&import.names),
                Step::Except(names) => texts(names),
                Step::Use(it) => it.module.len() + it.name.len(),
                Step::Raise(name) | Step::Open(_, name) => name.len(),
                Step::If(condition) => condition.memory(),
                _ => 0,
            };
            size_of::<Step>() + more
        };
        let steps: usize = self.steps.iter().map(step).sum();
        let names = [
            &self.names,
            &self.answered,
            &self.provided,
            &self.patched,
            &self.filled,
            &self.filling,
            &self.search_guards,
        ];
        let names: usize = names.iter().map(|it| texts(it)).sum();
        let newer = self.newer_syntax.iter();
        let newer: usize = newer.map(|it| size_of_val(it) + it.what.len()).sum();
        let code = self.dynamic_submodules.iter();
        let code: usize = code
            .map(|it| size_of_val(it) + it.function.len() + it.prefix.len())
            .sum();
        (size_of::<Self>() + steps + names + newer + code) as u64
    }
}
