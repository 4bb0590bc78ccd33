//! Who should bring what is missing, and why it is not there.

use imgcheck_base::lexical::directory_of;
use imgcheck_base::version::requirement::{Requirement, normalized};
use imgcheck_image::{Access, Node};
use imgcheck_python::run::{Interpreter, Missing, Module, Outcome, PERMISSION_ERROR, SYNTAX_ERROR};

use super::facts::{AbsenceReason, ImportFailure, ImportTree, ImportedModule};
use super::files::ImageFiles;
use super::pythons::Pythons;
use crate::stack::{Distribution, Environment};

/// Describes the imports of one program.
pub(super) struct Explainer<'e, 'i, 'r> {
    pub pythons: &'e Pythons<'i, 'r>,
    pub environment: &'e Environment,
    pub label: &'e str,
    pub program: &'e str,
    pub is_command: bool,
}

impl<'r> Explainer<'_, '_, 'r> {
    /// What certainly fails, if something does.
    pub fn outcome(
        &self,
        interpreter: &Interpreter<ImageFiles<'_, 'r>>,
        outcome: &Outcome,
    ) -> Option<ImportFailure> {
        let Outcome::Failed(failure) = outcome else {
            return None;
        };
        let missing = failure.missing.as_ref()?;
        Some(self.failure(interpreter, missing, &failure.class))
    }

    fn failure(
        &self,
        interpreter: &Interpreter<ImageFiles<'_, 'r>>,
        missing: &Missing,
        raises: &str,
    ) -> ImportFailure {
        let place = missing.chain.last();
        let importer = place.and_then(|it| self.file_of(interpreter, &it.module));
        let own = importer.and_then(|node| self.owner(&node.path()));
        let known = self.pythons.knowledge.distribution_of(&missing.module);
        let requirement = own.and_then(|it| requirement(it, &known));
        let bringing = self.installed(&known);
        let blamed = self.blamed(interpreter, missing, raises);
        let (reason, elsewhere) = match blamed {
            Some((reason, file)) => (reason, file.map(Node::path).unwrap_or_default()),
            None => self.reason(missing, &known, bringing),
        };
        let blamed = blamed.and_then(|(_, file)| file);
        // A name that no table has may be that of a module of the program.
        let top = missing.module.split('.').next().unwrap_or_default();
        let is_guess = self.is_command && own.is_none() && known == normalized(top);
        let known = match is_guess && reason == AbsenceReason::NotInstalled {
            true => String::new(),
            false => known,
        };
        ImportFailure {
            program: self.program.to_owned(),
            is_command: self.is_command,
            is_beside_program: reason == AbsenceReason::Shadowed && self.is_beside(&elsewhere),
            when: String::new(),
            outcome: String::new(),
            module: missing.module.clone(),
            name: missing.name.clone().unwrap_or_default(),
            raises: raises.to_owned(),
            importer: importer.map(Node::path).unwrap_or_default(),
            line: place.map_or(0, |it| it.line),
            layer: blamed.or(importer).and_then(Node::layer),
            distribution: own.map(|it| it.name.clone()).unwrap_or_default(),
            version: bringing.map(|it| it.version.clone()).unwrap_or_default(),
            requirement: requirement.unwrap_or_default(),
            missing: known,
            reason,
            elsewhere,
            newer_syntax: missing.newer_syntax.clone(),
            symbol_version: missing.lacking.as_ref().and_then(|it| it.version.clone()),
            environment: self.label.to_owned(),
            searched: self.environment.sites.clone(),
            certain: match self.is_command {
                true => self.environment.is_certain,
                false => self.pythons.launch.gaps.is_empty(),
            },
        }
    }

    /// The file to change if it is not the importing one, and what is wrong with it; no file for the code after `-c`.
    fn blamed(
        &self,
        interpreter: &Interpreter<ImageFiles<'_, 'r>>,
        missing: &Missing,
        raises: &str,
    ) -> Option<(AbsenceReason, Option<Node<'r>>)> {
        let source = || self.file_of(interpreter, &missing.module);
        match raises {
            SYNTAX_ERROR if missing.newer_syntax.is_some() => {
                return Some((AbsenceReason::NewerSyntax, source()));
            }
            SYNTAX_ERROR => return Some((AbsenceReason::InvalidSource, source())),
            PERMISSION_ERROR => return Some((AbsenceReason::Unreadable, source())),
            _ if missing.is_relative || missing.lacking.is_some() => return None,
            _ => {}
        }
        let shadow = interpreter.shadow(&missing.module);
        let shadow = shadow.map(|it| (AbsenceReason::Shadowed, it));
        let closed = || self.closed(interpreter, &missing.module);
        let closed = || closed().map(|it| (AbsenceReason::Unreadable, it));
        let (reason, file) = shadow.or_else(closed)?;
        Some((reason, Some(file)))
    }

    /// Whether a file is in the directory that Python searches before those of PYTHONPATH.
    fn is_beside(&self, file: &str) -> bool {
        let launch = self.pythons.launch;
        let mut named = launch.variable("PYTHONPATH").split(':');
        let directory = |path: &str| self.pythons.root.resolve(&launch.absolute(path)).ok();
        let own = directory(directory_of(file));
        own.is_some() && !named.any(|it| !it.is_empty() && directory(it) == own)
    }

    /// The directory of a package around a module, or of itself, that the user may not search.
    fn closed(
        &self,
        interpreter: &Interpreter<ImageFiles<'_, 'r>>,
        module: &str,
    ) -> Option<Node<'r>> {
        let is_around = |it: &&Module<Node<'r>>| {
            let rest = module.strip_prefix(it.name.as_str());
            rest.is_some_and(|it| it.is_empty() || it.starts_with('.'))
        };
        let around = interpreter.modules().filter(is_around);
        let mut directories = around.flat_map(|it| it.path.iter().flatten());
        let user = self.pythons.user();
        directories
            .find(|it| !it.allows(user, Access::Execute))
            .copied()
    }

    /// Whether it is the command itself that is a package without `__main__`.
    fn is_main_of_package(&self, missing: &Missing) -> bool {
        let package = missing.module.strip_suffix(".__main__");
        self.is_command && package == Some(self.program)
    }

    /// What was imported, in order.
    pub fn tree(&self, interpreter: &Interpreter<ImageFiles<'_, 'r>>) -> ImportTree {
        let modules = interpreter.modules().map(|module| ImportedModule {
            name: module.name.clone(),
            file: module.file.map(Node::path).unwrap_or_default(),
            importer: module.imported_by.module.clone(),
            line: module.imported_by.line,
            is_unread: module.is_unread(),
            changes_search: module.changes_search(),
            raises: module
                .failure()
                .map(|it| it.class.clone())
                .unwrap_or_default(),
        });
        ImportTree {
            environment: self.label.to_owned(),
            program: self.program.to_owned(),
            modules: modules.collect(),
            failures: Vec::new(),
            similar: String::new(),
        }
    }

    fn file_of(
        &self,
        interpreter: &Interpreter<ImageFiles<'_, 'r>>,
        module: &str,
    ) -> Option<Node<'r>> {
        let is_it = |it: &&Module<Node<'r>>| it.name == module;
        match interpreter.modules().find(is_it).and_then(|it| it.file) {
            None if self.is_command && module == "__main__" => {
                let root = self.pythons.root;
                root.resolve_as(self.program, self.pythons.user()).ok()
            }
            file => file,
        }
    }

    /// The distribution of a file below a directory of packages, judging by the name of its package.
    fn owner(&self, path: &str) -> Option<&Distribution> {
        let mut sites = self.environment.sites.iter();
        let rest = sites.find_map(|site| path.strip_prefix(site.as_str())?.strip_prefix('/'))?;
        let module = rest.strip_suffix(".py").unwrap_or(rest).replace('/', ".");
        self.installed(&self.pythons.knowledge.distribution_of(&module))
    }

    /// A distribution of this environment.
    pub fn installed(&self, name: &str) -> Option<&Distribution> {
        let mut all = self.pythons.distributions.iter();
        all.find(|it| it.name == name && self.environment.sites.contains(&it.site))
    }

    /// Whether a distribution was installed with a module, or with a submodule of the missing name.
    fn lists(&self, distribution: &Distribution, missing: &Missing) -> bool {
        let names = [Some(&missing.module), missing.name.as_ref()];
        let names: Vec<String> = names.into_iter().flatten().cloned().collect();
        let path = names.join(".").replace('.', "/");
        let is_it = |line: &str| {
            let rest = line.strip_prefix(&path);
            rest.is_some_and(|it| it.starts_with(".py,") || it.starts_with("/__init__.py,"))
        };
        let record = self.record(distribution);
        record.is_some_and(|text| text.lines().any(is_it))
    }

    /// The list of the files that a distribution was installed with; `None` without one.
    fn record(&self, distribution: &Distribution) -> Option<&str> {
        let record = self.pythons.root.resolve(&distribution.record()).ok()?;
        record.text().filter(|it| it.contains(".py,"))
    }

    fn reason(
        &self,
        missing: &Missing,
        name: &str,
        installed: Option<&Distribution>,
    ) -> (AbsenceReason, String) {
        if missing.is_relative {
            return (AbsenceReason::RelativeImport, String::new());
        }
        if let Some(lacking) = &missing.lacking {
            let reason = match lacking.version {
                Some(_) => AbsenceReason::LibraryTooOld,
                None => AbsenceReason::LibraryMissing,
            };
            return (reason, lacking.library.clone());
        }
        if self.is_main_of_package(missing) {
            return (AbsenceReason::NotExecutable, String::new());
        }
        if installed.is_some_and(|it| self.lists(it, missing)) {
            return (AbsenceReason::FilesMissing, String::new());
        }
        let is_part = missing.name.is_some() || missing.module.contains('.');
        if is_part {
            return (AbsenceReason::OtherVersion, String::new());
        }
        if let Some(release) = self.pythons.knowledge.removed(&missing.module) {
            return (AbsenceReason::Removed, release.clone());
        }
        if self.pythons.knowledge.is_standard(&missing.module) {
            return (AbsenceReason::NotInLibrary, String::new());
        }
        if installed.is_some_and(|it| self.record(it).is_some()) {
            return (AbsenceReason::OtherVersion, String::new());
        }
        if let Some(distribution) = installed {
            return (
                AbsenceReason::MetadataOnly,
                directory_of(&distribution.path).to_owned(),
            );
        }
        let mut all = self.pythons.distributions.iter();
        match all.find(|it| it.name == name) {
            Some(other) => (AbsenceReason::OtherPython, other.site.clone()),
            None => (AbsenceReason::NotInstalled, String::new()),
        }
    }
}

/// The requirement of a distribution on another.
fn requirement(distribution: &Distribution, name: &str) -> Option<String> {
    let mut all = distribution.requires.iter();
    let found = all.find(|text| {
        let requirement = Requirement::parse(text);
        requirement.is_ok_and(|it| normalized(it.name) == name)
    });
    found.cloned()
}
