//! Finds the file of a module.

use super::module::{Located, Module, ModuleKind};
use super::{Files, Found, Interpreter, Source};

impl<F: Files> Interpreter<'_, F> {
    /// Finds a module whose package is imported.
    pub(super) fn locate(&mut self, name: &str) -> Located<F::File> {
        if self.search.builtin.contains(name) {
            return Located::Module(Module::new(name, ModuleKind::Opaque, None, None));
        }
        let (package, last) = match name.rsplit_once('.') {
            None => (None, name),
            Some((package, last)) => (Some(package), last),
        };
        let path = match package {
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
            Some(package) => package.kind == ModuleKind::Standard,
            None => self.search.standard.contains(&directory),
        };
        match source {
            Source::Binary(file) => Module::new(name, ModuleKind::Opaque, Some(file), None),
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
        }
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
