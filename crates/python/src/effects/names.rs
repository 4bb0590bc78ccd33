//! What the names of a module mean.

use std::collections::BTreeMap;

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Stmt, StmtFunctionDef, StmtImportFrom};
use ruff_text_size::TextSize;

use super::meaning::Meaning;
use super::{Change, Effects, GETATTR};

impl<'a> Effects<'a> {
    /// The names that only a plain `import` of one module binds, with that module.
    pub fn modules(&self) -> BTreeMap<&'a str, &'a str> {
        let plain = self.plain.iter().filter(|_| !self.has_stars);
        let modules = plain.filter_map(|(name, meaning)| match meaning {
            Some(Meaning::Module(module)) => Some((*name, *module)),
            _ => None,
        });
        modules.collect()
    }

    /// The names that only `from M import NAME` binds, with the module and the name.
    pub fn members(&self) -> BTreeMap<&'a str, (&'a str, &'a str)> {
        let plain = self.plain.iter().filter(|_| !self.has_stars);
        let members = plain.filter_map(|(name, meaning)| match meaning {
            Some(Meaning::Member(module, member)) => Some((*name, (*module, *member))),
            _ => None,
        });
        members.collect()
    }

    /// The functions of the module that calls by name certainly execute; none if a function may change what its imports find.
    pub fn functions(&self) -> BTreeMap<&'a str, &'a StmtFunctionDef> {
        let plain = self.plain.iter();
        let plain = plain.filter(|_| !self.has_stars && self.changing.is_empty());
        let functions = plain.filter_map(|(name, meaning)| match meaning {
            Some(Meaning::Function(function)) => Some((*name, *function)),
            _ => None,
        });
        functions.collect()
    }

    /// Whether a name is only bound to one class.
    pub(super) fn is_class(&self, name: &str) -> bool {
        self.plain.get(name) == Some(&Some(Meaning::Class))
    }

    /// From where on the module may have names that its text does not show.
    pub fn dynamic_names(&self) -> Option<TextSize> {
        self.dynamic_names
    }

    /// Whether a name in the body of a function is not the module's.
    pub fn is_local(function: &StmtFunctionDef, name: &str) -> bool {
        let mut effects = Effects {
            has_tricks: true,
            ..Effects::default()
        };
        effects.visit_body(&function.body);
        function.parameters.includes(name) || effects.plain.contains_key(name)
    }

    pub(super) fn bind(&mut self, name: &'a str) {
        if self.function.is_none() && self.classes == 0 {
            self.plain.insert(name, None);
        }
        self.bind_module(name);
    }

    /// Binds a name to what it means unless it is bound to something else, too.
    pub(super) fn bind_meaning(&mut self, name: &'a str, meaning: Option<Meaning<'a>>) {
        if self.function.is_none() && self.classes == 0 {
            self.mean(name, meaning);
        }
        self.bind_module(name);
    }

    fn mean(&mut self, name: &'a str, meaning: Option<Meaning<'a>>) {
        let known = self.plain.entry(name).or_insert(meaning);
        *known = known.filter(|it| meaning == Some(*it));
    }

    /// Binds a name without a word on what it is.
    fn bind_module(&mut self, name: &'a str) {
        self.has_local_globals |= name == "globals" && self.function.is_some();
        if self.function.is_none() && self.classes == 0 {
            self.names.insert(name);
            self.constants.insert(name, None);
            self.note_getattr(name);
        }
    }

    /// Binds a name of the module anywhere.
    pub(super) fn bind_own(&mut self, name: &'a str) {
        self.names.insert(name);
        self.constants.insert(name, None);
        self.plain.insert(name, None);
        self.note_getattr(name);
    }

    /// Notes a name that may be that of a `__getattr__`.
    fn note_getattr(&mut self, name: &str) {
        if name == GETATTR {
            let start = self.start();
            self.getattr.get_or_insert(start);
        }
    }

    pub(super) fn import(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let first = alias.name.split('.').next().unwrap_or_default();
                    let name = alias.asname.as_ref().map_or(first, |it| it.as_str());
                    self.imported.insert((self.number(), name));
                    let is_whole = alias.asname.is_none() || !alias.name.contains('.');
                    let module = if alias.asname.is_none() {
                        first
                    } else {
                        &alias.name
                    };
                    let module = Meaning::Module(module);
                    self.bind_meaning(name, Some(module).filter(|_| is_whole));
                }
            }
            Stmt::ImportFrom(import) => {
                let is_sys = import
                    .module
                    .as_ref()
                    .is_some_and(|it| it.as_str() == "sys");
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.imported.insert((self.number(), name));
                    if self.function.is_none() {
                        self.mean(name, member_of(import, &alias.name));
                    }
                    match name.as_str() == alias.name.as_str() {
                        true if self.function.is_some() => {}
                        true if name == GETATTR => self.bind(name),
                        true => drop(self.constants.insert(name, None)),
                        false => self.bind_module(name),
                    }
                    self.has_stars |= name.as_str() == "*";
                    // What becomes of them under another name is not followed.
                    match alias.name.as_str() {
                        "path" | "meta_path" | "path_hooks" if is_sys => {
                            self.change(Change::Path);
                            self.may_bind_any_name();
                        }
                        "modules" if is_sys => {
                            self.brings_submodules("");
                            self.may_bind_any_name();
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// A name that an import takes from a module that it names in full.
fn member_of<'a>(import: &'a StmtImportFrom, name: &'a str) -> Option<Meaning<'a>> {
    let module = import.module.as_ref().filter(|_| import.level == 0)?;
    Some(Meaning::Member(module, name))
}
