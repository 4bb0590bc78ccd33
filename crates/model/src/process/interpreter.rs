//! A Python interpreter that imports packages: plays each step of the tables on the loader.

use super::cause::{When, Without};
use std::collections::{BTreeMap, BTreeSet};

use super::facts::Import;
use super::installed::{InstalledPackage, PythonSetup};
use super::knowledge::{Knowledge, fits};
use super::plan::{LoadPlan, SonamePattern, Step, StepAction};
use super::playback::{Cause, LoadFailure, Playback, is_not_found};
use imgcheck_base::error::{Error, Result};
use imgcheck_image::RootFilesystem;
use imgcheck_loader::{Failure, ObjectId};

/// How far the import of a package is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImportState {
    Importing,
    Imported,
    Failed,
}

/// Why an import ends early.
pub(super) enum ImportStop {
    /// A step failed that the import cannot do without. The failure is noted.
    Failed,
    /// A limit is exceeded, or the request was cancelled.
    Error(Error),
}

impl From<Error> for ImportStop {
    fn from(error: Error) -> Self {
        ImportStop::Error(error)
    }
}

pub(super) struct Interpreter<'s, 'k> {
    pub root: &'s RootFilesystem<'s>,
    knowledge: &'k Knowledge,
    pub setup: &'k PythonSetup,
    pub playback: Playback<'s>,
    pub imports: Vec<Import>,
    states: BTreeMap<String, ImportState>,
    /// The extension modules that are imported already.
    pub modules: BTreeSet<String>,
    /// The object that ctypes calls dlopen from.
    pub ctypes: ObjectId,
    /// Packages whose outcome is unknown because they need a package that is not modeled.
    unknown: BTreeSet<String>,
    /// Steps of first use.
    late: Vec<(&'k LoadPlan, &'k Step)>,
    /// `import`, and then `use`.
    phase: When,
    /// Whether the current step or module is optional, and what the program continues without.
    optional: (bool, Without),
}

impl<'s, 'k> Interpreter<'s, 'k> {
    pub fn new(
        root: &'s RootFilesystem<'s>,
        knowledge: &'k Knowledge,
        setup: &'k PythonSetup,
        playback: Playback<'s>,
    ) -> Self {
        Interpreter {
            root,
            knowledge,
            setup,
            playback,
            imports: Vec::new(),
            states: BTreeMap::new(),
            modules: BTreeSet::new(),
            ctypes: 0,
            unknown: BTreeSet::new(),
            late: Vec::new(),
            phase: When::Import,
            optional: Default::default(),
        }
    }

    /// Imports a package, unless that was done or tried before. False if the import fails.
    pub fn import(&mut self, plan: &'k LoadPlan) -> Result<bool> {
        if let Some(state) = self.states.get(&plan.package) {
            return Ok(*state != ImportState::Failed);
        }
        let setup = self.setup;
        let Some(installed) = setup.installed.get(&plan.package) else {
            return Ok(true);
        };
        let Some(release) = plan.release(&installed.version) else {
            return Ok(true);
        };
        self.states
            .insert(plan.package.clone(), ImportState::Importing);
        let (late, steps): (Vec<&Step>, Vec<&Step>) =
            release.steps.iter().partition(|step| step.late);
        self.late.extend(late.into_iter().map(|step| (plan, step)));
        let mut steps = steps.into_iter();
        let state = match steps.try_for_each(|step| self.step(plan, installed, step)) {
            Ok(()) => ImportState::Imported,
            Err(ImportStop::Failed) => ImportState::Failed,
            Err(ImportStop::Error(error)) => return Err(error),
        };
        let succeeds = state == ImportState::Imported;
        self.states.insert(plan.package.clone(), state);
        if !plan.companion && !self.unknown.contains(&plan.package) {
            self.imports.push(Import {
                package: plan.package.clone(),
                version: installed.version.clone(),
                succeeds,
            });
        }
        Ok(succeeds)
    }

    /// Plays what the imported packages load at first use.
    pub fn first_uses(&mut self) -> Result<()> {
        self.phase = When::Use;
        let setup = self.setup;
        for (plan, step) in std::mem::take(&mut self.late) {
            let is_imported = self.states.get(&plan.package) == Some(&ImportState::Imported);
            if let Some(installed) = setup.installed.get(&plan.package)
                && is_imported
                && let Err(ImportStop::Error(error)) = self.step(plan, installed, step)
            {
                return Err(error);
            }
        }
        Ok(())
    }

    pub fn cause(&self, plan: &LoadPlan) -> Cause {
        Cause {
            package: plan.package.clone(),
            when: self.phase,
            optional: self.optional.0,
            without: self.optional.1,
        }
    }

    fn step(
        &mut self,
        plan: &LoadPlan,
        installed: &InstalledPackage,
        step: &Step,
    ) -> Result<(), ImportStop> {
        if !self.applies(step) {
            return Ok(());
        }
        self.optional = (step.optional, step.without);
        match &step.action {
            StepAction::Import(package) => match installed.fill(package) {
                Some(name) if step.required && !self.is_there(&name) => {
                    self.fail_without(plan, installed, step, &name)
                }
                Some(name) => self.import_other(plan, &name, step.optional),
                None => self.import_companions(plan),
            },
            StepAction::Any(variants) => self.import_any(plan, installed, step, variants),
            StepAction::Standard(names) => {
                let directory = self.setup.dynload.clone();
                for name in names {
                    let module = directory.as_ref().map(|found| (found.clone(), name));
                    self.import_module(plan, step, module)?;
                }
                Ok(())
            }
            StepAction::Module(names) => {
                for name in names {
                    let site = self.setup.site_of(self.root, installed, name);
                    self.import_module(plan, step, site.map(|site| (site, name)))?;
                }
                Ok(())
            }
            StepAction::Open(path) => self.open_files(plan, installed, step, path),
            StepAction::Choose(choice) => self.open_chosen(plan, installed, step, choice),
            StepAction::Find(names) => self.open_first(plan, installed, step, names),
            StepAction::Preload(list) => self.open_list(plan, installed, step, list),
        }
    }

    /// A package that cannot be imported has faults of its own, which are not those of the importer. If it is unknown what a
    /// package loads (an old release, an editable install), nothing is known about those that need it.
    fn import_other(
        &mut self,
        importer: &LoadPlan,
        package: &str,
        optional: bool,
    ) -> Result<(), ImportStop> {
        let Some(plan) = self.knowledge.plan(package) else {
            return Ok(());
        };
        let installed = self.setup.installed.get(package);
        let is_modeled = installed.is_some_and(|it| plan.release(&it.version).is_some());
        if !is_modeled && !optional {
            self.unknown.insert(importer.package.clone());
        }
        match (is_modeled && self.import(plan)?) || optional {
            true => Ok(()),
            false => Err(ImportStop::Failed),
        }
    }

    /// Which one a package imports is unknown: each that is there must be fit for it.
    fn import_companions(&mut self, importer: &LoadPlan) -> Result<(), ImportStop> {
        let knowledge = self.knowledge;
        for plan in knowledge.packages() {
            if plan.companion_of == importer.package {
                self.import(plan)?;
            }
        }
        Ok(())
    }

    /// The directory of a package, by its name.
    fn directory(&self, package: &str) -> String {
        let plan = self.knowledge.plan(package);
        let directory = plan.map(|plan| plan.directory.clone());
        directory.unwrap_or_else(|| package.replace('-', "_"))
    }

    /// Whether a package can be found, known version or not.
    fn is_there(&self, package: &str) -> bool {
        let directory = self.directory(package);
        let mut sites = self.setup.path.iter();
        sites.any(|site| self.root.resolve(&format!("{site}/{directory}")).is_ok())
    }

    /// Notes that a package which the import cannot do without is not there.
    fn fail_without(
        &mut self,
        plan: &LoadPlan,
        installed: &InstalledPackage,
        step: &Step,
        package: &str,
    ) -> Result<(), ImportStop> {
        let module = self.directory(package);
        let report = match installed.fill(&step.shown) {
            Some(shown) if !shown.is_empty() => shown,
            _ => format!("ModuleNotFoundError: No module named '{module}'"),
        };
        let failure = LoadFailure::absent(self.cause(plan), &module, report);
        self.playback.failures.push(failure);
        match step.optional {
            true => Ok(()),
            false => Err(ImportStop::Failed),
        }
    }

    fn applies(&self, step: &Step) -> bool {
        let is_mapped = |text: &String| {
            let mut objects = self.playback.objects().iter();
            objects.any(|object| object.node.path().contains(text))
        };
        let is_installed = |(package, releases): (&String, &String)| {
            let installed = self.setup.installed.get(package);
            installed.is_some_and(|it| fits(&it.version, releases))
        };
        step.if_mapped.as_ref().is_none_or(is_mapped)
            && fits(&self.setup.release, &step.if_python)
            && step.if_installed.iter().all(is_installed)
            && step
                .unless_variable
                .iter()
                .all(|it| self.variable(it).is_none())
            && step
                .unless_loaded
                .as_ref()
                .is_none_or(|it| !self.is_loaded(it))
    }

    /// Whether a library of such a SONAME is loaded.
    pub fn is_loaded(&self, pattern: &SonamePattern) -> bool {
        let mut objects = self.playback.objects().iter();
        objects.any(|object| pattern.is_of(object))
    }

    /// Notes the extension module that a step loads next. Its package may do without it in every step.
    pub fn begin_module(&mut self, step: &Step, path: &str) {
        self.optional.0 = step.optional || self.knowledge.optional_modules.is_match(path);
    }

    /// Notes a failure; the import continues only after an optional step.
    pub fn settle(
        &mut self,
        plan: &LoadPlan,
        step: &Step,
        request: &str,
        opened: Result<(), Failure<'s>>,
    ) -> Result<(), ImportStop> {
        let Err(failure) = opened else {
            return Ok(());
        };
        let is_of_host = self.knowledge.is_host_provided(request);
        let shown = match &step.action {
            StepAction::Choose(choice) if is_not_found(&failure) => &choice.absent,
            _ if (self.optional.0 || is_of_host) && is_not_found(&failure) => return Ok(()),
            _ => &step.shown,
        };
        self.playback.failures.push(LoadFailure {
            shown: shown.replace("{file}", request),
            ..LoadFailure::new(self.cause(plan), request, failure)
        });
        match self.optional.0 {
            true => Ok(()),
            false => Err(ImportStop::Failed),
        }
    }
}
