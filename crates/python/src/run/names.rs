//! Which names a module has.

use std::sync::Arc;

use super::failure::{Answer, Place};
use super::module::ModuleKind;
use super::{Files, Interpreter};
use crate::facts::{Import, ModuleFacts};

/// Modules that import all names of one another.
const MOST_STARS: usize = 200;

/// Names that every module has (`dir()` of an empty module) or gets with its first warning.
const OF_EVERY_MODULE: [&str; 37] = [
    "__all__",
    "__annotate__",
    "__annotations__",
    "__builtins__",
    "__cached__",
    "__class__",
    "__delattr__",
    "__dict__",
    "__dir__",
    "__doc__",
    "__eq__",
    "__file__",
    "__format__",
    "__ge__",
    "__getattribute__",
    "__getstate__",
    "__gt__",
    "__hash__",
    "__init__",
    "__init_subclass__",
    "__le__",
    "__loader__",
    "__lt__",
    "__name__",
    "__ne__",
    "__new__",
    "__package__",
    "__path__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__setattr__",
    "__sizeof__",
    "__spec__",
    "__str__",
    "__subclasshook__",
    "__warningregistry__",
];

impl<F: Files> Interpreter<'_, F> {
    /// Whether a module that was found may have a name: [`Answer::Yes`] if something may bind it.
    pub(super) fn has_name(&mut self, module: &str, name: &str) -> Answer {
        if self.is_filled(module, name) || self.may_be_set(name) {
            return Answer::Unknown;
        }
        self.binds(module, name, &mut Vec::new())
    }

    /// Whether something else may bind a name of a module: another that takes its place, or sets attributes of it.
    fn is_filled(&self, module: &str, name: &str) -> bool {
        let last = module.rsplit('.').next().unwrap_or_default();
        let mut native = self.search.native.iter();
        self.provided.contains(module)
            || self.filled.contains(last)
            || native.any(|it| it.modules.contains(module) && it.names.contains(name))
    }

    /// Whether a module may have a name that its text does not bind.
    pub(super) fn may_be_set(&self, name: &str) -> bool {
        let is_special = name.starts_with("__") && OF_EVERY_MODULE.contains(&name);
        is_special || self.patched.contains(name)
    }

    /// `seen` has the modules that were asked because others import all of their names.
    fn binds(&mut self, module: &str, name: &str, seen: &mut Vec<String>) -> Answer {
        if seen.iter().any(|it| it == module) {
            return Answer::No;
        }
        if seen.len() > MOST_STARS {
            return Answer::Unknown;
        }
        let Some(facts) = self.facts_of(module) else {
            let kind = self.modules.get(module).map(|it| it.kind);
            return match kind {
                Some(ModuleKind::Namespace) => Answer::No,
                _ => Answer::Unknown,
            };
        };
        let is_in = |names: &[String]| names.binary_search_by(|it| it.as_str().cmp(name)).is_ok();
        let has_reached = |line| self.reached(module).is_none_or(|reached| reached >= line);
        let is_dynamic = facts.dynamic_names_from.is_some_and(has_reached);
        if is_dynamic || is_in(&facts.answered) {
            return Answer::Unknown;
        }
        if is_in(&facts.names) {
            return Answer::Yes;
        }
        seen.push(module.to_owned());
        self.lookups += facts.steps.len() as u64;
        let reached = self.reached(module);
        // An import that is being executed has bound nothing yet, unless others are on its line.
        let is_alone = |line| facts.imports().filter(|it| it.line == line).count() == 1;
        let is_before = |line: u32| {
            reached.is_some_and(|reached| reached < line || reached == line && is_alone(line))
        };
        let mut answer = Answer::No;
        let of_module = facts.imports().filter(|it| it.called_from == 0);
        for import in of_module {
            let binds = import.names.iter().any(|it| it == name || it == "*");
            if !binds || is_before(import.line) {
                continue;
            }
            let source = self.absolute(module, import);
            if source.as_deref() == Some(module) {
                // The name has to be there already, or to be a submodule.
                continue;
            }
            if import.names.iter().any(|it| it == name) {
                return Answer::Yes;
            }
            let Some(source) = source else {
                answer = Answer::Unknown;
                continue;
            };
            match self.binds(&source, name, seen) {
                Answer::Yes => return Answer::Yes,
                // A submodule that was imported is a name of its package, too.
                Answer::No if !self.is_there(&format!("{source}.{name}")) => {}
                _ => answer = Answer::Unknown,
            }
        }
        let mut taken = facts.imports().flat_map(|it| &it.names);
        match answer {
            Answer::No if taken.any(|it| self.filling.contains(it)) => Answer::Unknown,
            answer => answer,
        }
    }

    /// The line that a module has reached whose import is not at its end: nothing after it was executed. The imports that lead from there to
    /// the present one are all of modules below it, which nothing can import before it.
    pub(super) fn reached(&self, module: &str) -> Option<u32> {
        let at = self.stack.iter().rposition(|it| it.module == module)?;
        let is_below = |place: &Place| {
            let rest = place.module.strip_prefix(module);
            rest.is_some_and(|it| it.starts_with('.'))
        };
        let place = self.stack.get(at)?;
        let is_inside = place.statement > 0 && self.stack.get(at + 1..)?.iter().all(is_below);
        is_inside.then_some(place.statement)
    }

    /// Whether a module that comes before one of the standard library certainly lacks an attribute.
    pub(super) fn lacks(&mut self, module: &str, name: &str) -> bool {
        let found = self.modules.get(module);
        let is_shadow = found.is_some_and(|it| self.is_shadow(it) && it.path.is_none());
        is_shadow && self.has_name(module, name) == Answer::No
    }

    /// The facts of a module that was found; those of the standard library are read only here.
    fn facts_of(&mut self, name: &str) -> Option<Arc<ModuleFacts>> {
        let module = self.modules.get(name)?;
        match (&module.facts, module.file, module.kind) {
            (_, _, ModuleKind::Opaque) => None,
            (Some(facts), ..) => Some(facts.clone()),
            (None, Some(file), ModuleKind::Standard) => self.files.facts(file),
            _ => None,
        }
    }

    /// The name of the module that an import names; `None` if it leads out of its package.
    pub(super) fn absolute(&self, importer: &str, import: &Import) -> Option<String> {
        if import.level == 0 {
            return Some(import.module.clone());
        }
        let is_package = self
            .modules
            .get(importer)
            .is_some_and(|it| it.path.is_some());
        let mut package = match is_package {
            true => importer,
            false => importer.rsplit_once('.')?.0,
        };
        for _ in 1..import.level {
            package = package.rsplit_once('.')?.0;
        }
        Some(match import.module.is_empty() {
            true => package.to_owned(),
            false => format!("{package}.{}", import.module),
        })
    }
}
