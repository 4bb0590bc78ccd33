//! Finds the file of a module.

use super::module::{Module, ModuleKind};
use super::{Files, Found, Interpreter, Source};

/// Where a module is.
pub(super) enum Located<F> {
    Module(Module<F>),
    /// It may be found or not.
    Unknown,
    /// It is certainly not found.
    Absent,
}

impl<F: Files> Interpreter<'_, F> {
    /// Finds a module whose package is imported.
    pub(super) fn locate(&mut self, name: &str) -> Located<F::File> {
        let (package, last) = match name.rsplit_once('.') {
            None => return self.locate_top(name),
            Some(names) => names,
        };
        let path = self.modules.get(package).and_then(|it| it.path.clone());
        for directory in path.iter().flatten() {
            if let Some(found) = self.look(*directory, last) {
                let is_standard = self.is_standard(package);
                return Located::Module(self.module(name, found, is_standard));
            }
        }
        self.not_found(name, Some(package))
    }

    fn locate_top(&mut self, name: &str) -> Located<F::File> {
        if self.search.builtin.contains(name) {
            return Located::Module(Module::new(name, ModuleKind::Opaque, None, None));
        }
        let mut portions = Vec::new();
        for directory in &self.search.path {
            match self.look(*directory, name) {
                Some(Found::Directory(portion)) => portions.push(portion),
                Some(found) => {
                    let is_standard = self.search.standard.contains(directory);
                    return Located::Module(self.module(name, found, is_standard));
                }
                None => {}
            }
        }
        match portions.is_empty() {
            true => self.not_found(name, None),
            false => Located::Module(Module {
                path: Some(portions),
                ..Module::new(name, ModuleKind::Namespace, None, None)
            }),
        }
    }

    fn look(&mut self, directory: F::File, name: &str) -> Option<Found<F::File>> {
        self.lookups += 1;
        self.is_search_changed |= self.lookups > self.search.most_lookups;
        match self.lookups > self.search.most_lookups {
            true => None,
            false => self.files.find(directory, name),
        }
    }

    fn is_standard(&self, package: &str) -> bool {
        let package = self.modules.get(package);
        package.is_some_and(|it| it.kind == ModuleKind::Standard)
    }

    fn module(&self, name: &str, found: Found<F::File>, is_standard: bool) -> Module<F::File> {
        let (path, source) = match found {
            Found::Package(directory, source) => (Some(vec![directory]), source),
            Found::Module(source) => (None, source),
            Found::Directory(directory) => {
                return Module {
                    path: Some(vec![directory]),
                    ..Module::new(name, ModuleKind::Namespace, None, None)
                };
            }
        };
        let module = match source {
            Source::Binary(file) => Module::new(name, ModuleKind::Opaque, Some(file), None),
            Source::Text(file) => {
                let kind = match is_standard {
                    true => ModuleKind::Standard,
                    false => ModuleKind::Source,
                };
                let facts = (!is_standard).then(|| self.files.facts(file)).flatten();
                Module::new(name, kind, Some(file), facts)
            }
        };
        Module { path, ..module }
    }

    /// A module that no directory has: anything else that could bring it makes it unknown.
    fn not_found(&mut self, name: &str, package: Option<&str>) -> Located<F::File> {
        let has_finder = |(_, prefix): &(String, String)| {
            let rest = name.strip_prefix(prefix.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if self.provided.contains(name) {
            return Located::Module(Module::new(name, ModuleKind::Opaque, None, None));
        }
        let is_optional = self.search.optional.contains(name);
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

    /// Whether a package may have submodules without files.
    fn may_have_more(&mut self, package: &str, name: &str) -> bool {
        let Some(module) = self.modules.get(package) else {
            return true;
        };
        match module.kind {
            ModuleKind::Opaque => true,
            ModuleKind::Namespace => false,
            ModuleKind::Source | ModuleKind::Standard => {
                let facts = module.facts.clone();
                let facts = facts.or_else(|| module.file.and_then(|it| self.files.facts(it)));
                facts.is_none_or(|it| {
                    it.has_dynamic_submodules || it.provided.iter().any(|it| it == name)
                })
            }
        }
    }
}
