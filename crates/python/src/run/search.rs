//! Finds the file of a module.

use std::sync::Arc;

use super::module::{Located, Module, ModuleKind};
use super::{Files, Found, Interpreter, MAIN, Outcome, Search, Source, provided_name};
use crate::facts::{DynamicSubmodules, ModuleFacts};

impl<F: Files> Interpreter<'_, F> {
    /// Finds a module whose package is imported.
    pub(super) fn locate(&mut self, name: &str) -> Located<F::File> {
        // Python makes `__main__` before it imports anything (`add_main_module` in Python/pylifecycle.c).
        let is_there = name == MAIN || self.provided.contains(name);
        if is_there || self.search.builtin.contains(name) {
            return Located::Module(Module::new(name, ModuleKind::Opaque, None, None));
        }
        let (package, last) = match name.rsplit_once('.') {
            None => (None, name),
            Some((package, last)) => (Some(package), last),
        };
        let path = match package {
            None if self.search.frozen.contains(name) => self.search.standard.clone(),
            None => self.search.path.clone(),
            Some(package) => {
                let module = self.modules.get(package);
                module.and_then(|it| it.path.clone()).unwrap_or_default()
            }
        };
        let mut portions = Vec::new();
        for directory in path {
            match self.look(directory, last) {
                Some(Found::Package(path, source)) => {
                    let module = self.module(name, directory, source);
                    return Located::Module(Module {
                        path: Some(vec![path]),
                        ..module
                    });
                }
                Some(Found::Module(source)) => {
                    return Located::Module(self.module(name, directory, source));
                }
                Some(Found::Directory(portion)) => portions.push(portion),
                None => {}
            }
        }
        match portions.is_empty() {
            true => self.not_found(name, package),
            false => Located::Module(Module {
                path: Some(portions),
                ..Module::new(name, ModuleKind::Namespace, None, None)
            }),
        }
    }

    /// Whether a package that was imported certainly has no `__main__`: `runpy` looks for its file, and nothing else counts than where.
    pub(super) fn lacks_main(&self, package: &str) -> bool {
        let Some(module) = self.modules.get(package) else {
            return false;
        };
        let facts = self.source_facts(module);
        let is_plain = match module.kind {
            ModuleKind::Namespace => true,
            ModuleKind::Opaque => false,
            ModuleKind::Source | ModuleKind::Standard => facts.is_some_and(|it| !it.uses_path),
        };
        let name = format!("{package}.{MAIN}");
        let mut directories = module.path.iter().flatten();
        let has_file = directories.any(|it| self.files.find(*it, MAIN).is_some());
        is_plain && !has_file && !self.is_search_changed && !self.provided.contains(&name)
    }

    /// How the import of a module fails whose name no directory has; `None` if something may bring it.
    ///
    /// Unlike [`Interpreter::import`], it takes a package at its files: it is for modules that no other module puts into `sys.modules`.
    pub fn absence(&self, name: &str) -> Option<Outcome> {
        if self.is_search_changed || self.provided.contains(name) {
            return None;
        }
        let mut path = self.search.path.clone();
        for part in name.split('.') {
            let found = path.iter().filter_map(|it| self.files.find(*it, part));
            let found: Vec<Found<F::File>> = found.collect();
            if found.is_empty() {
                return Some(Outcome::Failed(self.missing(name, None)));
            }
            let below = found.into_iter().filter_map(|it| match it {
                Found::Package(directory, _) | Found::Directory(directory) => Some(directory),
                Found::Module(_) => None,
            });
            path = below.collect();
        }
        None
    }

    fn look(&mut self, directory: F::File, name: &str) -> Option<Found<F::File>> {
        self.lookups += 1;
        self.is_search_changed |= self.lookups > self.search.most_lookups;
        match self.lookups > self.search.most_lookups {
            true => None,
            false => self.files.find(directory, name),
        }
    }

    /// A module that was found in a directory.
    fn module(&self, name: &str, directory: F::File, source: Source<F::File>) -> Module<F::File> {
        let above = name
            .rsplit_once('.')
            .and_then(|(it, _)| self.modules.get(it));
        let is_standard = match above {
            Some(package) => package.is_standard,
            None => self.search.standard.contains(&directory),
        };
        let module = match source {
            Source::Binary(file) => Module::new(name, ModuleKind::Opaque, Some(file), None),
            Source::Text(file) if is_standard && self.follows(name) => {
                let facts = self.files.facts(file);
                Module::new(name, ModuleKind::Source, Some(file), facts)
            }
            Source::Compiled(file, _) if is_standard => {
                Module::new(name, ModuleKind::Opaque, Some(file), None)
            }
            Source::Compiled(file, source) => {
                let facts = self.files.facts(source);
                Module::new(name, ModuleKind::Opaque, Some(file), facts)
            }
            Source::Text(file) if is_standard => {
                Module::new(name, ModuleKind::Standard, Some(file), None)
            }
            Source::Text(file) => {
                let facts = self.files.facts(file);
                Module::new(name, ModuleKind::Source, Some(file), facts)
            }
        };
        Module {
            is_standard,
            ..module
        }
    }

    /// Whether the source of a module of the standard library is executed.
    fn follows(&self, name: &str) -> bool {
        self.executes_standard || self.search.followed.contains(name)
    }

    /// The file of a module, or of the package that it is in, if the search path has another of the same name after it.
    pub fn shadow(&self, module: &str) -> Option<F::File> {
        let top = module.split('.').next()?;
        let file = self.modules.get(top)?.file?;
        let is_other = |directory: &F::File| match self.files.find(*directory, top) {
            Some(Found::Package(_, source) | Found::Module(source)) => !source.has(file),
            Some(Found::Directory(_)) | None => false,
        };
        let has = |directory: &&F::File| match self.files.find(**directory, top) {
            Some(Found::Package(_, source) | Found::Module(source)) => source.has(file),
            Some(Found::Directory(_)) | None => false,
        };
        let mut path = self.search.path.iter().skip_while(|it| !has(it));
        path.any(is_other).then_some(file)
    }

    /// Whether a module is a file that comes before the one of the standard library.
    pub(super) fn is_shadow(&self, module: &Module<F::File>) -> bool {
        let is_own = module.kind == ModuleKind::Source && !module.is_standard;
        is_own && self.search.optional.contains(&module.name)
    }

    /// A module that no directory has: anything else that could bring it makes it unknown.
    fn not_found(&mut self, name: &str, package: Option<&str>) -> Located<F::File> {
        let has_finder = |(package, prefix): &(String, String)| {
            let rest = name.strip_prefix(prefix.as_str());
            let is_below = |rest: &str| rest.is_empty() || rest.starts_with('.');
            let mut copies = name.match_indices(prefix.as_str());
            rest.is_some_and(is_below) && self.is_there(package)
                // A vendored copy.
                || copies.any(|(at, _)| name[..at].ends_with('.') && is_below(&name[at + prefix.len()..]))
        };
        let is_standard = self.search.optional.contains(name);
        let is_optional = is_standard && !self.search.is_standard_whole;
        if is_optional || self.search.finders.iter().any(has_finder) || self.is_search_changed {
            return Located::Unknown;
        }
        let mut above = package;
        while let Some(package) = above {
            if self.may_have_more(package, name) {
                return Located::Unknown;
            }
            above = package.rsplit_once('.').map(|(above, _)| above);
        }
        Located::Absent
    }

    /// The facts of the source of a module, whether it is executed or not.
    fn source_facts(&self, module: &Module<F::File>) -> Option<Arc<ModuleFacts>> {
        let facts = module.facts.clone();
        facts.or_else(|| self.files.facts(module.file?))
    }

    /// Whether a package may have submodules without files.
    fn may_have_more(&mut self, package: &str, name: &str) -> bool {
        let module = self.modules.get(package);
        let Some(module) = module.filter(|_| !self.provided.contains(package)) else {
            return true;
        };
        match module.kind {
            ModuleKind::Opaque => true,
            ModuleKind::Namespace => false,
            ModuleKind::Source | ModuleKind::Standard => {
                let facts = self.source_facts(module);
                facts.is_none_or(|facts| {
                    let mut provided = facts.provided.iter();
                    self.brings(package, &facts, name)
                        || provided.any(|it| provided_name(package, it) == name)
                })
            }
        }
    }

    /// Whether the code of a package may have brought a module that has no file.
    fn brings(&self, package: &str, facts: &ModuleFacts, name: &str) -> bool {
        let reached = self.reached(package);
        let is_below = |prefix: &String| {
            let rest = name.strip_prefix(prefix.as_str());
            rest.is_some_and(|it| it.is_empty() || it.starts_with('.'))
        };
        let may = |code: &DynamicSubmodules| {
            let mut known = self.search.brought.iter();
            let known = known.find(|it| it.by == package && it.function == code.function);
            let is_known = known.is_none_or(|it| it.prefixes.iter().any(is_below));
            let rest = name.strip_prefix(package);
            let has_prefix = rest.is_none_or(|it| it.starts_with(&code.prefix));
            is_known && has_prefix && reached.is_none_or(|line| line >= code.line)
        };
        facts.has_dynamic_submodules
            && (facts.dynamic_submodules.is_empty() || facts.dynamic_submodules.iter().any(may))
    }
}

impl<T: Copy + Eq + std::hash::Hash> Search<T> {
    /// Whether a directory before the standard library has a module of the same name as one of it.
    pub(super) fn has_shadow(&self, files: &impl Files<File = T>) -> bool {
        let before = self.path.iter();
        let before = before.take_while(|it| !self.standard.contains(it));
        let is_shadowed = |directory: &T, name: &String| {
            let found = files.find(*directory, name);
            matches!(found, Some(Found::Package(..) | Found::Module(_)))
        };
        let mut names = self.optional.iter().filter(|it| !self.frozen.contains(*it));
        let before: Vec<&T> = before.collect();
        names.any(|name| before.iter().any(|it| is_shadowed(it, name)))
    }
}
