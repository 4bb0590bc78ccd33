//! A Python interpreter that imports packages: each step of the tables, played on the loader.

use std::collections::{BTreeMap, BTreeSet};

use globset::Glob;

use super::facts::Import;
use super::knowledge::{Knowledge, fits};
use super::plan::{Action, OnFailure, OnMissing, Plan, Preload, Step};
use super::run::{Cause, Fall, Request, Run, is_not_found};
use crate::image::{Node, RootFilesystem};
use crate::loader::{Failure, Mode, ObjectId};

/// A package of the tables that is installed.
#[derive(Debug, Clone, Default)]
pub(super) struct Installed {
    pub version: String,
    /// The directory that it is imported from.
    pub site: String,
    /// The CUDA that it was built for: `12.8`; empty if that is not known.
    pub cuda: String,
}

/// The Python of a process.
#[derive(Debug, Clone, Default)]
pub(super) struct Setting {
    /// The directories that packages are imported from, in order.
    pub path: Vec<String>,
    /// The directory of Python's own extension modules.
    pub dynload: Option<String>,
    /// Release of Python: `3.11`.
    pub release: String,
    /// The packages of the tables that are installed, by name.
    pub installed: BTreeMap<String, Installed>,
}

/// How the import of a package ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Importing,
    Imported,
    Failed,
}

/// Why an import stops.
struct Stopped;

/// Why a list of files is not loaded.
enum Unloaded<'s> {
    /// No file fits this pattern.
    Absent(String),
    /// The file of this path cannot be loaded.
    Failed(String, Failure<'s>),
}

pub(super) struct Interpreter<'s, 'k> {
    root: &'s RootFilesystem<'s>,
    knowledge: &'k Knowledge,
    setting: &'k Setting,
    pub run: Run<'s>,
    pub imports: Vec<Import>,
    states: BTreeMap<String, State>,
    /// The extension modules that are imported.
    modules: BTreeSet<String>,
    /// The object that ctypes calls dlopen from.
    ctypes: ObjectId,
    /// Packages of which nothing can be said, for they need one that is not modelled.
    unknown: BTreeSet<String>,
    /// Steps that are done at first use.
    late: Vec<(&'k Plan, &'k Step)>,
    /// `import`, and then `use`.
    phase: &'static str,
    /// Whether the import goes on without what the step under way opens, and what it goes on without.
    dispensable: (bool, String),
}

impl<'s, 'k> Interpreter<'s, 'k> {
    pub fn new(
        root: &'s RootFilesystem<'s>,
        knowledge: &'k Knowledge,
        setting: &'k Setting,
        run: Run<'s>,
    ) -> Self {
        Interpreter {
            root,
            knowledge,
            setting,
            run,
            imports: Vec::new(),
            states: BTreeMap::new(),
            modules: BTreeSet::new(),
            ctypes: 0,
            unknown: BTreeSet::new(),
            late: Vec::new(),
            phase: "import",
            dispensable: Default::default(),
        }
    }

    /// Imports a package, unless that was done or tried before.
    pub fn import(&mut self, plan: &'k Plan) -> bool {
        if let Some(state) = self.states.get(&plan.package) {
            return *state != State::Failed;
        }
        let Some(installed) = self.setting.installed.get(&plan.package) else {
            return true;
        };
        let Some(release) = plan.release(&installed.version) else {
            return true;
        };
        self.states.insert(plan.package.clone(), State::Importing);
        let (late, steps): (Vec<&Step>, Vec<&Step>) =
            release.steps.iter().partition(|step| step.late);
        self.late.extend(late.into_iter().map(|step| (plan, step)));
        let mut steps = steps.into_iter();
        let played: Result<(), Stopped> =
            steps.try_for_each(|step| self.step(plan, installed, step));
        let state = match played {
            Ok(()) => State::Imported,
            Err(Stopped) => State::Failed,
        };
        self.states.insert(plan.package.clone(), state);
        if !plan.companion && !self.unknown.contains(&plan.package) {
            self.imports.push(Import {
                package: plan.package.clone(),
                version: installed.version.clone(),
                succeeds: state == State::Imported,
            });
        }
        state == State::Imported
    }

    /// Does what the imported packages do at first use.
    pub fn first_uses(&mut self) {
        self.phase = "use";
        for (plan, step) in std::mem::take(&mut self.late) {
            let imported = self.states.get(&plan.package) == Some(&State::Imported);
            if let Some(installed) = self.setting.installed.get(&plan.package)
                && imported
            {
                // What fails is written down; the other first uses have nothing to do with it.
                let _ = self.step(plan, installed, step);
            }
        }
    }

    fn cause(&self, plan: &Plan) -> Cause {
        Cause {
            package: plan.package.clone(),
            when: self.phase,
            optional: self.dispensable.0,
            without: self.dispensable.1.clone(),
        }
    }

    fn step(&mut self, plan: &Plan, installed: &Installed, step: &Step) -> Result<(), Stopped> {
        if !self.applies(step) {
            return Ok(());
        }
        self.dispensable = (step.optional, step.without.clone());
        match &step.action {
            Action::Import(package) => self.import_other(plan, package, step.optional),
            Action::Standard(names) => {
                let directory = self.setting.dynload.clone();
                for name in names {
                    let module = directory.as_ref().map(|found| (found.clone(), name));
                    self.module(plan, step, module)?;
                }
                Ok(())
            }
            Action::Module(names) => {
                for name in names {
                    let site = self.site_of(installed, name);
                    self.module(plan, step, site.map(|site| (site, name)))?;
                }
                Ok(())
            }
            Action::Open(path) => self.open_files(plan, installed, step, path),
            Action::Find(names) => self.find(plan, installed, step, names),
            Action::Preload(list) => match self.preload(plan, installed, list, step.global) {
                Err(Unloaded::Failed(path, failure)) => {
                    self.settle(plan, step, &path, Err(failure))
                }
                Ok(()) | Err(Unloaded::Absent(_)) => Ok(()),
            },
        }
    }

    /// A package that cannot be imported has its own faults; who imports it is not blamed for them. Where it is not known what a
    /// package loads (an old release, an editable install), nothing is known of those that need it.
    fn import_other(
        &mut self,
        importer: &Plan,
        package: &str,
        optional: bool,
    ) -> Result<(), Stopped> {
        let Some(plan) = self.knowledge.plan(package) else {
            return Ok(());
        };
        let installed = self.setting.installed.get(package);
        let is_modelled = installed.is_some_and(|it| plan.release(&it.version).is_some());
        if !is_modelled && !optional {
            self.unknown.insert(importer.package.clone());
        }
        match (is_modelled && self.import(plan)) || optional {
            true => Ok(()),
            false => Err(Stopped),
        }
    }

    fn applies(&self, step: &Step) -> bool {
        let is_mapped = |text: &String| self.is_mapped(text);
        step.if_mapped.as_ref().is_none_or(is_mapped)
            && fits(&self.setting.release, &step.if_python)
    }

    fn is_mapped(&self, text: &str) -> bool {
        let mut objects = self.run.objects().iter();
        objects.any(|object| object.node.path().contains(text))
    }

    /// The directory that a path is imported from: that of the package, or another of the search path.
    fn site_of(&self, installed: &Installed, path: &str) -> Option<String> {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let has = |site: &&String| {
            let found = self.root.resolve(&format!("{site}/{directory}"));
            found.is_ok_and(Node::is_directory)
        };
        let own = std::iter::once(&installed.site);
        own.chain(&self.setting.path).find(has).cloned()
    }

    /// Imports an extension module; one that is not there is in Python, or built in.
    fn module(
        &mut self,
        plan: &Plan,
        step: &Step,
        module: Option<(String, &String)>,
    ) -> Result<(), Stopped> {
        let Some((site, name)) = module else {
            return Ok(());
        };
        let Some(path) = self.extension(&format!("{site}/{name}")) else {
            return Ok(());
        };
        if !self.modules.insert(path.clone()) {
            return Ok(());
        }
        let request = Request {
            name: &path,
            caller: 0,
            mode: Mode {
                global: step.global,
                ..Mode::default()
            },
        };
        let opened = self.run.open(&request, &self.cause(plan));
        if let (Ok(id), "_ctypes") = (&opened, name.as_str()) {
            self.ctypes = *id;
        }
        self.settle(plan, step, &path, opened.map(drop))
    }

    /// The file of an extension module: Python tries these suffixes in turn (`importlib.machinery.EXTENSION_SUFFIXES`).
    fn extension(&self, path: &str) -> Option<String> {
        let (directory, name) = path.rsplit_once('/')?;
        let node = self.root.resolve(directory).ok()?;
        let tag = self.setting.release.replace('.', "");
        let tuples = [
            "x86_64-linux-gnu",
            "aarch64-linux-gnu",
            "x86_64-linux-musl",
            "aarch64-linux-musl",
        ];
        let tagged = tuples.map(|tuple| format!("{name}.cpython-{tag}-{tuple}.so"));
        let plain = [format!("{name}.abi3.so"), format!("{name}.so")];
        let mut names = tagged.into_iter().chain(plain);
        let file = names.find(|file| node.lookup(file).is_some())?;
        Some(format!("{directory}/{file}"))
    }

    /// Opens files of the package. One that this build of the package does not have is passed over.
    fn open_files(
        &mut self,
        plan: &Plan,
        installed: &Installed,
        step: &Step,
        path: &str,
    ) -> Result<(), Stopped> {
        let Some(path) = fill(path, installed) else {
            return Ok(());
        };
        let Some(site) = self.site_of(installed, &path) else {
            return Ok(());
        };
        for file in self.matching(&format!("{site}/{path}")) {
            let mut opened = self.load(plan, &file, step.global);
            if let (Err(failure), Some(fallback)) = (&opened, &step.on_failure)
                && self.helps(plan, fallback, failure)
            {
                match self.preload(plan, installed, &fallback.preload, false) {
                    Ok(()) => opened = self.load(plan, &file, step.global),
                    Err(Unloaded::Absent(pattern)) => {
                        let shown = fallback.shown.replace("{file}", &pattern);
                        let step = Step {
                            shown,
                            ..step.clone()
                        };
                        return self.settle(plan, &step, &file, opened);
                    }
                    Err(Unloaded::Failed(path, failure)) => {
                        return self.settle(plan, step, &path, Err(failure));
                    }
                }
            }
            self.settle(plan, step, &file, opened)?;
        }
        Ok(())
    }

    /// Whether a package tries its fallback for a failure.
    fn helps(&self, plan: &Plan, fallback: &OnFailure, failure: &Failure) -> bool {
        let Some(fault) = failure.faults.first() else {
            return false;
        };
        let Some(process) = &self.run.process else {
            return false;
        };
        let message = fault.message(process.system().family);
        let list = plan.lists.get(&fallback.preload.list);
        let mut stems = list
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.file.split('.').next());
        !fallback.if_named || stems.any(|stem| message.contains(stem))
    }

    fn load(&mut self, plan: &Plan, path: &str, global: bool) -> Result<(), Failure<'s>> {
        self.load_for(plan, path, global, self.ctypes)
    }

    fn load_for(
        &mut self,
        plan: &Plan,
        name: &str,
        global: bool,
        caller: ObjectId,
    ) -> Result<(), Failure<'s>> {
        let mode = Mode {
            global,
            ..Mode::default()
        };
        let request = Request { name, caller, mode };
        self.run.open(&request, &self.cause(plan)).map(drop)
    }

    /// The files of a path, whose last component may be a pattern.
    fn matching(&self, path: &str) -> Vec<String> {
        let Some((directory, name)) = path.rsplit_once('/') else {
            return Vec::new();
        };
        if !name.contains(['*', '[', '?']) {
            let exists = self.root.resolve(path).is_ok();
            return exists.then(|| path.to_owned()).into_iter().collect();
        }
        let Ok(glob) = Glob::new(name) else {
            return Vec::new();
        };
        let matcher = glob.compile_matcher();
        self.root
            .read_dir(directory)
            .filter(|node| matcher.is_match(node.name()))
            .map(|node| format!("{directory}/{}", node.name()))
            .collect()
    }

    fn find(
        &mut self,
        plan: &Plan,
        installed: &Installed,
        step: &Step,
        names: &[String],
    ) -> Result<(), Stopped> {
        let names: Vec<String> = names
            .iter()
            .filter_map(|name| fill(name, installed))
            .collect();
        let Some(caller) = self.caller(step) else {
            return Ok(());
        };
        let mut last = None;
        for name in &names {
            match self.load_for(plan, name, step.global, caller) {
                Ok(()) => return Ok(()),
                Err(failure) => last = Some((name, failure)),
            }
        }
        match last {
            Some((name, failure)) => self.settle(plan, step, name, Err(failure)),
            None => Ok(()),
        }
    }

    /// Who opens: ctypes, or the object that the step names; nobody, if that is not loaded.
    fn caller(&self, step: &Step) -> Option<ObjectId> {
        if step.by.is_empty() {
            return Some(self.ctypes);
        }
        let mut objects = self.run.objects().iter();
        objects.position(|object| {
            let soname = object.elf.soname.as_deref();
            soname == Some(&step.by) || object.node.name() == step.by
        })
    }

    /// Loads a list of files that the package searches itself.
    fn preload(
        &mut self,
        plan: &Plan,
        installed: &Installed,
        list: &Preload,
        global: bool,
    ) -> Result<(), Unloaded<'s>> {
        let (Some(entries), Some(layout)) =
            (plan.lists.get(&list.list), plan.layouts.get(&list.layout))
        else {
            return Ok(());
        };
        for entry in entries {
            if !fits(&installed.cuda, &entry.cuda) {
                continue;
            }
            let found = self.setting.path.iter().find_map(|place| {
                let condition = &layout.if_directory;
                let counts = condition.is_empty()
                    || self.root.resolve(&format!("{place}/{condition}")).is_ok();
                let mut paths = layout.paths.iter().filter(|_| counts);
                paths.find_map(|path| {
                    let path = fill(&path.replace("{folder}", &entry.folder), installed)?;
                    // Of several, Python takes the first of the directory, whose order nobody knows.
                    let path = format!("{place}/{path}/{}", entry.file);
                    self.matching(&path).into_iter().next()
                })
            });
            let unloaded = match found {
                None => Unloaded::Absent(entry.file.clone()),
                Some(path) => match self.load(plan, &path, global) {
                    Ok(()) => continue,
                    Err(failure) => Unloaded::Failed(path, failure),
                },
            };
            match list.missing {
                _ if entry.optional => {}
                OnMissing::Skip => {}
                OnMissing::Stop => return Ok(()),
                OnMissing::Fail => return Err(unloaded),
            }
        }
        Ok(())
    }

    /// Notes a failure; the import goes on only behind an optional step.
    fn settle(
        &mut self,
        plan: &Plan,
        step: &Step,
        request: &str,
        opened: Result<(), Failure<'s>>,
    ) -> Result<(), Stopped> {
        let Err(failure) = opened else {
            return Ok(());
        };
        let is_of_host = self.knowledge.is_host_provided(request);
        if (step.optional || is_of_host) && is_not_found(&failure) {
            return Ok(());
        }
        self.run.falls.push(Fall {
            cause: self.cause(plan),
            opener: String::new(),
            optional: step.optional,
            shown: step.shown.clone(),
            without: step.without.clone(),
            alternatives: Vec::new(),
            request: request.to_owned(),
            failure,
        });
        match step.optional {
            true => Ok(()),
            false => Err(Stopped),
        }
    }
}

/// Replaces `{cuda-major}` and `{cuda-digits}`; `None` if the CUDA of the build is not known.
pub(super) fn fill(text: &str, installed: &Installed) -> Option<String> {
    if !text.contains("{cuda-") {
        return Some(text.to_owned());
    }
    let mut numbers = installed.cuda.split('.');
    let major = numbers.next().filter(|major| !major.is_empty())?;
    let minor = numbers.next()?;
    let filled = text.replace("{cuda-major}", major);
    Some(filled.replace("{cuda-digits}", &format!("{major}{minor}")))
}
