//! Plays the imports of a program: which file each module is, and which imports certainly fail.
//!
//! Source: CPython's `Lib/importlib/_bootstrap.py` (`_find_and_load`, `_handle_fromlist`) and `_bootstrap_external.py` (`PathFinder`,
//! `FileFinder`). Only what is certainly executed counts: functions are not entered, and a condition that depends on more than the
//! release and the platform skips its block. Where anything can happen, an import is unknown, which is never a failure.

mod blocks;
mod execute;
mod failure;
mod files;
mod module;
mod names;
mod platform;
mod search;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::facts::ModuleFacts;
use failure::Answer;
pub use failure::{Failure, Lacking, Missing, PERMISSION_ERROR, Place, SYNTAX_ERROR};
pub use files::{Files, Found, Source};
use module::{Located, State, Table};
pub use module::{Module, ModuleKind};
pub use platform::Platform;

/// Imports inside one another that are followed; CPython's recursion limit allows about as many.
const MOST_NESTED: usize = 400;

/// The name of the module that is executed as a program.
const MAIN: &str = "__main__";

/// The innermost imports that a failure names.
const MOST_PLACES: usize = 12;

/// How an interpreter finds modules.
#[derive(Debug, Clone, Default)]
pub struct Search<F> {
    /// The directories of `sys.path` that exist.
    pub path: Vec<F>,
    /// The directories of the standard library, whose modules are assumed to be importable.
    pub standard: Vec<F>,
    /// Whether the search path is known completely.
    pub is_known: bool,
    /// Modules that the interpreter itself may contain.
    pub builtin: BTreeSet<String>,
    /// Whether the sources of the standard library are executed, and not only those of [`Search::followed`].
    pub follows_standard: bool,
    /// Modules of the standard library whose sources are executed.
    pub followed: BTreeSet<String>,
    /// Modules of the standard library, which are no failure if they are absent.
    pub optional: BTreeSet<String>,
    /// Whether the directories of the standard library have all of it that there is: then an absent module is a failure.
    pub is_standard_whole: bool,
    /// Modules that are found in the standard library wherever the search path begins: those that every Python has imported by then.
    pub frozen: BTreeSet<String>,
    /// Modules that packages find by other means: top-level name of the package, and prefix of the modules.
    pub finders: Vec<(String, String)>,
    /// What functions of modules bring without files.
    pub brought: Vec<Brought>,
    /// Names that libraries bind.
    pub native: Vec<NativeNames>,
    /// What the import of a module imports besides what its text shows: the module, and what it needs.
    pub hidden: Vec<(String, String)>,
    /// Modules that change the search path, and restore it before their import ends.
    pub restoring: BTreeSet<String>,
    /// The interpreter.
    pub platform: Platform,
    /// Maximum number of directories in which modules are looked for. What is looked for after that is unknown; see [`Interpreter::lookups`].
    pub most_lookups: u64,
}

/// Modules that a function of a module brings without files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// The module with the function.
    pub by: String,
    /// The function.
    pub function: String,
    /// All modules that it brings are one of these or below it.
    pub prefixes: Vec<String>,
}

/// Names that a library binds in modules that have a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeNames {
    /// The modules.
    pub modules: BTreeSet<String>,
    /// The names, in each of them.
    pub names: BTreeSet<String>,
}

/// What becomes of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing that is known prevents it.
    Imported,
    /// It certainly raises.
    Failed(Arc<Failure>),
    /// It may succeed or not.
    Unknown,
}

/// An interpreter that imports modules.
pub struct Interpreter<'f, F: Files> {
    files: &'f F,
    search: &'f Search<F::File>,
    modules: Table<F::File>,
    /// Names that modules put into `sys.modules`.
    provided: HashSet<String>,
    /// Attributes that modules set on others.
    patched: HashSet<String>,
    /// The last parts of the names of modules on which others set attributes by names that are not known.
    filled: HashSet<String>,
    /// Functions that set attributes of the modules of their callers.
    filling: HashSet<String>,
    /// Whether a module changes where modules are found.
    is_search_changed: bool,
    /// Whether the whole standard library is executed: a module that comes before one of its own may break it.
    executes_standard: bool,
    lookups: u64,
    /// The imports that are being executed.
    stack: Vec<Place>,
    /// The module that is executed as a program; empty for an import.
    main: String,
}

impl<'f, F: Files> Interpreter<'f, F> {
    /// An interpreter that has imported nothing.
    pub fn new(files: &'f F, search: &'f Search<F::File>) -> Self {
        Interpreter {
            files,
            search,
            modules: Table::default(),
            provided: HashSet::new(),
            patched: HashSet::new(),
            filled: HashSet::new(),
            filling: HashSet::new(),
            is_search_changed: !search.is_known,
            executes_standard: search.follows_standard || search.has_shadow(files),
            lookups: 0,
            stack: Vec::new(),
            main: String::new(),
        }
    }

    /// `import NAME`, as `python -c` executes it.
    pub fn import(&mut self, name: &str) -> Outcome {
        self.within(Place::default(), |it| it.import_dotted(name))
    }

    /// Imports a module for an attribute of it; with an empty name for any.
    pub fn import_attribute(&mut self, module: &str, name: &str) -> Outcome {
        let outcome = self.import(module);
        let submodule = format!("{module}.{name}");
        let is_there = outcome != Outcome::Imported || name.is_empty() || self.is_there(&submodule);
        if is_there || self.has_name(module, name) != Answer::No {
            return outcome;
        }
        Outcome::Failed(self.failure(failure::ATTRIBUTE_ERROR, module, Some(name)))
    }

    /// Executes a source as `__main__`.
    pub fn run(&mut self, facts: Arc<ModuleFacts>) -> Outcome {
        self.main = MAIN.to_owned();
        let module = Module::new(MAIN, ModuleKind::Source, None, Some(facts));
        self.modules.insert(MAIN, module);
        self.execute(MAIN)
    }

    /// `python -m NAME`.
    pub fn run_module(&mut self, name: &str) -> Outcome {
        self.within(Place::default(), |it| {
            if let Some((package, _)) = name.rsplit_once('.') {
                let outcome = it.import_dotted(package);
                if outcome != Outcome::Imported {
                    return outcome;
                }
            }
            match it.locate(name) {
                Located::Module(module) if module.path.is_some() => {
                    let outcome = it.import_dotted(name);
                    it.main = format!("{name}.{MAIN}");
                    if outcome == Outcome::Imported && it.lacks_main(name) {
                        return Outcome::Failed(it.missing(&it.main, None));
                    }
                }
                _ => it.main = name.to_owned(),
            }
            let main = it.main.clone();
            it.import_dotted(&main)
        })
    }

    /// Whether the search path has a package or module, and not just a directory.
    pub fn is_there(&self, name: &str) -> bool {
        let mut path = self.search.path.clone();
        let mut is_file = false;
        for part in name.split('.') {
            let found = path.iter().find_map(|it| self.files.find(*it, part));
            (path, is_file) = match found {
                Some(Found::Package(directory, _)) => (vec![directory], true),
                Some(Found::Directory(directory)) => (vec![directory], false),
                Some(Found::Module(_)) => (Vec::new(), true),
                None => return false,
            };
        }
        is_file
    }

    /// In how many directories modules were looked for, and how many steps were executed.
    pub fn lookups(&self) -> u64 {
        self.lookups
    }

    /// The modules that were executed or found, in the order of their first import.
    pub fn modules(&self) -> impl Iterator<Item = &Module<F::File>> {
        self.modules.iter()
    }

    fn within<T>(&mut self, place: Place, run: impl FnOnce(&mut Self) -> T) -> T {
        self.stack.push(place);
        let result = run(self);
        self.stack.pop();
        result
    }

    /// Imports a module and the packages that it is in.
    fn import_dotted(&mut self, name: &str) -> Outcome {
        let ends = name.match_indices('.').map(|(at, _)| at);
        let mut outcome = Outcome::Imported;
        for end in ends.chain([name.len()]) {
            outcome = self.import_one(&name[..end]);
            if outcome != Outcome::Imported {
                break;
            }
        }
        outcome
    }

    /// Imports a module whose package is imported.
    fn import_one(&mut self, name: &str) -> Outcome {
        let changes = self.changes();
        match self.modules.get(name).map(|it| it.state.clone()) {
            Some(State::Failed(_, before)) if before != changes => self.modules.remove(name),
            Some(State::Failed(failure, _)) => return Outcome::Failed(failure),
            Some(State::Unknown) => return Outcome::Unknown,
            Some(State::Running | State::Done) => return Outcome::Imported,
            None => {}
        }
        let module = match self.locate(name) {
            Located::Module(module) => module,
            Located::Unknown => return Outcome::Unknown,
            Located::Absent => return Outcome::Failed(self.missing(name, None)),
        };
        let is_executed = module.is_executed();
        let lacking = self.unloadable(&module);
        let imported_by = self.stack.last().cloned().unwrap_or_default();
        self.modules.insert(
            name,
            Module {
                imported_by,
                ..module
            },
        );
        if let Some(lacking) = lacking {
            let failure = self.unloaded(failure::IMPORT_ERROR, name, lacking);
            return self.fail(name, failure);
        }
        match is_executed {
            true => self.execute(name),
            false => Outcome::Imported,
        }
    }

    /// What the loader lacks to load an extension module.
    fn unloadable(&self, module: &Module<F::File>) -> Option<Lacking> {
        let extension = module.file.filter(|_| module.kind == ModuleKind::Opaque)?;
        self.files.unloadable(&module.name, extension)
    }

    /// Executes a module that is in the table.
    fn execute(&mut self, name: &str) -> Outcome {
        let module = self.modules.get(name);
        let facts = module.and_then(|it| it.facts.clone());
        let source = module.filter(|it| it.kind == ModuleKind::Source);
        if source
            .and_then(|it| it.file)
            .is_some_and(|it| self.files.is_unreadable(it))
        {
            let failure = self.failure(PERMISSION_ERROR, name, None);
            return self.fail(name, failure);
        }
        // The parser knows Python 3 only.
        let is_invalid = facts.as_ref().is_some_and(|it| it.is_invalid());
        let release = self.search.platform.release;
        let newer = facts.as_ref().and_then(|it| it.newer_than(release));
        if release.0 == 3 && (is_invalid || newer.is_some()) {
            let missing = Missing {
                module: name.to_owned(),
                newer_syntax: newer.cloned(),
                ..Missing::default()
            };
            let failure = self.raised(SYNTAX_ERROR, missing);
            return self.fail(name, failure);
        }
        let Some(facts) = facts.filter(|it| it.unread.is_none()) else {
            // It may change anything.
            self.is_search_changed = true;
            self.modules.set(name, State::Done);
            return Outcome::Imported;
        };
        if self.stack.len() > MOST_NESTED || self.lookups > self.search.most_lookups {
            self.modules.set(name, State::Unknown);
            return Outcome::Unknown;
        }
        self.take_effects(name, &facts);
        match self
            .execute_steps(name, &facts)
            .and_then(|()| self.import_hidden(name))
        {
            Ok(()) => {
                self.modules.set(name, State::Done);
                Outcome::Imported
            }
            Err(failure) => self.fail(name, failure),
        }
    }

    /// Ends the import of a module that is in the table.
    fn fail(&mut self, name: &str, failure: Arc<Failure>) -> Outcome {
        let state = State::Failed(failure.clone(), self.changes());
        self.modules.set(name, state);
        Outcome::Failed(failure)
    }

    fn take_effects(&mut self, name: &str, facts: &ModuleFacts) {
        for guard in &facts.search_guards {
            let outcome = self.import_for(name, &format!("{name}.{guard}"));
            self.is_search_changed |= outcome != Outcome::Imported;
        }
        let (first, last) = (name.split('.').next(), name.rsplit('.').next());
        let mut finders = self.search.finders.iter();
        let is_known = finders.any(|(of, _)| [first, last].contains(&Some(of.as_str())));
        self.is_search_changed |= match name == self.main {
            true => facts.changes_search_as_main,
            false if self.search.restoring.contains(name) => false,
            false => facts.changes_search || facts.adds_finders && !is_known,
        };
        let provided = facts.provided.iter();
        self.provided
            .extend(provided.map(|it| provided_name(name, it)));
        self.patched.extend(facts.patched.iter().cloned());
        self.filled.extend(facts.filled.iter().cloned());
        self.filling.extend(facts.filling.iter().cloned());
    }

    /// What the import of a module imports that its text does not show.
    fn import_hidden(&mut self, module: &str) -> Result<(), Arc<Failure>> {
        let search = self.search;
        let of_module = search.hidden.iter().filter(|(it, _)| it == module);
        for (_, needed) in of_module {
            if let Outcome::Failed(failure) = self.import_for(module, needed) {
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Imports what a module needs, at no line of its text.
    fn import_for(&mut self, module: &str, needed: &str) -> Outcome {
        let place = Place {
            module: module.to_owned(),
            ..Place::default()
        };
        self.within(place, |it| it.import_dotted(needed))
    }

    /// What an import that failed depends on: it may succeed once that is another number.
    fn changes(&self) -> usize {
        self.provided.len() + usize::from(self.is_search_changed)
    }

    fn missing(&self, module: &str, name: Option<&str>) -> Arc<Failure> {
        let class = match name {
            None => failure::NOT_FOUND,
            Some(_) => failure::IMPORT_ERROR,
        };
        self.failure(class, module, name)
    }

    fn failure(&self, class: &str, module: &str, name: Option<&str>) -> Arc<Failure> {
        self.raised(
            class,
            Missing {
                module: module.to_owned(),
                name: name.map(str::to_owned),
                ..Missing::default()
            },
        )
    }

    /// The loader does not find a library for an extension module, or for the name of one.
    fn unloaded(&self, class: &str, module: &str, lacking: Lacking) -> Arc<Failure> {
        self.raised(
            class,
            Missing {
                module: module.to_owned(),
                lacking: Some(lacking),
                ..Missing::default()
            },
        )
    }

    fn raised(&self, class: &str, missing: Missing) -> Arc<Failure> {
        let chain = self.stack[self.stack.len().saturating_sub(MOST_PLACES)..].to_vec();
        Arc::new(Failure {
            class: class.to_owned(),
            missing: Some(Arc::new(Missing { chain, ..missing })),
        })
    }
}

/// The name of a module that another puts into `sys.modules`; one that begins with a dot is below it.
fn provided_name(by: &str, name: &str) -> String {
    match name.starts_with('.') {
        true => format!("{by}{name}"),
        false => name.to_owned(),
    }
}

#[cfg(test)]
pub(crate) fn fits_together(facts: &ModuleFacts) -> bool {
    blocks::of(&facts.steps).is_some()
}
