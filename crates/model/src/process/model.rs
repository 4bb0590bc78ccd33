//! Which processes an image has, and what each of them loads.
//!
//! The packages of an environment are imported in one process, PyTorch first: programs that use several packages import it first,
//! and the other packages rely on what it has loaded. Frameworks that bring everything themselves (`process` in their tables) are
//! used alone, so each gets its own process, without PyTorch.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::installed::{PackageIndex, PythonSetup};
use super::knowledge::Knowledge;
use super::permissions;
use super::plan::LoadPlan;
use super::program::Program;
use super::programs;
use super::unreadable::Unreadable;
use crate::stack::{Environment, Labels, NativeModule, Stack};
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_base::limits::Limit;
use imgcheck_elf::ElfFacts;
use imgcheck_image::RootFilesystem;
use imgcheck_launch::{Launch, LoaderCommand};
use imgcheck_loader::{self as loader, ProcessBudget, System};

/// The programs of an image that are modeled, not yet started.
#[derive(Debug)]
pub struct Programs<'r, 'k> {
    pub(super) root: &'r RootFilesystem<'r>,
    pub(super) knowledge: &'k Knowledge,
    pub(super) programs: Vec<Program<'r>>,
    /// The programs of the command that have nothing to do with GPUs, such as a shell, the last one first: only whether they start matters.
    pub(super) commands: Vec<Program<'r>>,
    /// The Pythons that have none of the packages of the tables, but native modules of others.
    pub(super) without_packages: Vec<Program<'r>>,
    /// The native modules of all Python distributions.
    pub(super) modules: Vec<NativeModule>,
    /// The number of programs beyond [`Limit::Programs`].
    pub(super) left_out: usize,
    /// Files of Python and its packages that the user may not read.
    pub(super) unreadable: Vec<Unreadable>,
    /// What may change what the programs load and is not modeled.
    pub gaps: Vec<Gap>,
}

/// Interpreter, machine and class of a program, and whether it ignores LD_*.
type LoaderKey<'r> = (Option<&'r str>, u16, u8, bool);

/// What the programs of one image are started with.
struct Context<'c, 'r> {
    root: &'r RootFilesystem<'r>,
    launch: &'c Launch,
    knowledge: &'c Knowledge,
    budget: &'c ProcessBudget,
    /// The loaders by what they depend on.
    systems: RefCell<HashMap<LoaderKey<'r>, Option<Rc<System<'r>>>>>,
}

impl<'r, 'k> Programs<'r, 'k> {
    /// The programs of an image. `launch` says what the image starts, `stack` which Python environments it has.
    pub fn of(
        root: &'r RootFilesystem<'r>,
        launch: &Launch,
        stack: &Stack,
        knowledge: &'k Knowledge,
        budget: &ProcessBudget,
    ) -> Self {
        let context = Context {
            root,
            launch,
            knowledge,
            budget,
            systems: RefCell::default(),
        };
        let mut gaps = Vec::from_iter(audit(launch));
        let mut programs = context.pythons(stack, &mut gaps);
        gaps.extend(context.platform(&programs));
        let without_packages = context.without_packages(stack, &programs);
        let mut paths = programs::find(root, knowledge, launch);
        let most = usize::try_from(budget.bounds.limits.of(Limit::Programs)).unwrap_or(usize::MAX);
        let left_out = paths.len().saturating_sub(most);
        paths.truncate(most);
        for path in paths {
            programs.extend(context.program(path, &mut gaps));
        }
        if programs
            .iter()
            .any(|it| it.main && it.environment.is_empty())
        {
            for program in programs.iter_mut().filter(|it| !it.environment.is_empty()) {
                program.main = false;
            }
            programs.sort_by_key(|program| !program.main);
        }
        let unreadable = permissions::find(root, launch, stack, knowledge, &programs);
        Programs {
            root,
            knowledge,
            commands: context.commands(&programs, &mut gaps),
            programs,
            without_packages,
            modules: stack.native_modules.clone(),
            left_out,
            unreadable,
            gaps,
        }
    }
}

/// The loaders of programs of the image, by path: of those that are modeled, and of none if LD_AUDIT may change everything.
pub(crate) fn systems_of<'r, 'p>(
    root: &'r RootFilesystem<'r>,
    launch: &Launch,
    knowledge: &Knowledge,
    budget: &ProcessBudget,
    programs: impl Iterator<Item = &'p str>,
) -> HashMap<&'p str, Rc<System<'r>>> {
    let context = Context {
        root,
        launch,
        knowledge,
        budget,
        systems: RefCell::default(),
    };
    let programs = programs.filter(|_| audit(launch).is_none());
    let modeled = programs.filter_map(|it| Some((it, context.system(it)?)));
    modeled.collect()
}

impl<'r> Context<'_, 'r> {
    /// The processes of all Python environments, the main one first.
    fn pythons(&self, stack: &Stack, gaps: &mut Vec<Gap>) -> Vec<Program<'r>> {
        let index = PackageIndex::of(
            self.root,
            &self.launch.user.credentials,
            stack,
            self.knowledge,
        );
        let labels = Labels::of(&stack.environments);
        let mut programs = Vec::new();
        for environment in &stack.environments {
            let setup = index.setup(self.root, environment);
            let is_main = programs.is_empty() && !starts_other(stack, environment);
            let label = (!is_main).then(|| labels.label(environment));
            let own = self.of_environment(environment, &setup, label, gaps);
            if !own.is_empty() {
                gaps.extend(environment.gaps.iter().cloned());
            }
            programs.extend(own);
        }
        programs
    }

    /// The processes of one environment: one for most packages, and one for each framework that is used alone. `label` names the
    /// environment; `None` for the main one.
    fn of_environment(
        &self,
        environment: &Environment,
        setup: &PythonSetup,
        label: Option<String>,
        gaps: &mut Vec<Gap>,
    ) -> Vec<Program<'r>> {
        let is_installed = |plan: &&LoadPlan| setup.installed.contains_key(&plan.package);
        let is_companion =
            |plan: &LoadPlan| plan.companion || setup.installed.contains_key(&plan.companion_of);
        let packages = self.knowledge.packages().filter(|plan| !is_companion(plan));
        let packages: Vec<_> = packages.filter(is_installed).collect();
        let mut groups: Vec<&str> = packages.iter().map(|plan| plan.process.as_str()).collect();
        let mut seen = BTreeSet::new();
        groups.retain(|group| seen.insert(*group));
        groups.sort_by_key(|group| !group.is_empty());

        let main = label.is_none();
        let mut programs: Vec<Program> = Vec::new();
        for group in groups {
            let Some(system) = self.system(&environment.interpreter) else {
                gaps.extend(self.unknown_loader(&environment.interpreter));
                return programs;
            };
            let mut details = Vec::new();
            details.extend(label.as_deref());
            details.extend((!programs.is_empty()).then_some(group));
            let name = match details.is_empty() {
                true => "python".to_owned(),
                false => format!("python ({})", details.join(", ")),
            };
            let own = packages.iter().filter(|plan| plan.process == group);
            programs.push(Program {
                name,
                main,
                path: environment.interpreter.clone(),
                environment: environment.prefix.clone(),
                library_path_from: self.launch.library_path_from.clone(),
                system,
                setup: setup.clone(),
                packages: own.map(|plan| plan.package.clone()).collect(),
            });
        }
        programs
    }

    /// A process of each environment that has native modules and no process.
    fn without_packages(&self, stack: &Stack, programs: &[Program]) -> Vec<Program<'r>> {
        let sites: BTreeSet<&str> = stack
            .native_modules
            .iter()
            .map(|it| it.site.as_str())
            .collect();
        let labels = Labels::of(&stack.environments);
        let mut found = Vec::new();
        for (place, environment) in stack.environments.iter().enumerate() {
            let is_known = programs
                .iter()
                .any(|it| it.environment == environment.prefix);
            let has_modules = environment
                .sites
                .iter()
                .any(|site| sites.contains(site.as_str()));
            let Some(system) = self
                .system(&environment.interpreter)
                .filter(|_| has_modules && !is_known)
            else {
                continue;
            };
            let main = place == 0;
            found.push(Program {
                name: match main {
                    true => "python".to_owned(),
                    false => format!("python ({})", labels.label(environment)),
                },
                main,
                path: environment.interpreter.clone(),
                environment: environment.prefix.clone(),
                library_path_from: self.launch.library_path_from.clone(),
                system,
                setup: PythonSetup {
                    path: environment.sites.clone(),
                    release: environment.release.clone(),
                    ..PythonSetup::default()
                },
                packages: Vec::new(),
            });
        }
        found
    }

    /// The gap of `$PLATFORM` in a list of the loader: it is `haswell` or `xeon_phi` on processors of Intel, and `x86_64` on others (glibc
    /// 2.26 to 2.36 and later, sysdeps/x86/cpu-features.c), so which directory it names is up to the host.
    fn platform(&self, programs: &[Program]) -> Option<Gap> {
        let is_concerned = |it: &Program| it.system.has_levels();
        programs.iter().find(|it| it.main && is_concerned(it))?;
        let lists = ["LD_LIBRARY_PATH", "LD_PRELOAD"].into_iter();
        let mut lists = lists.map(|name| (name, self.launch.variable(name)));
        lists.find_map(|(name, value)| {
            let mut entries = value.split([':', ';', ' ']);
            let entry = entries.find(|it| self.depends_on_platform(it))?;
            Some(Gap {
                code: GapCode::LoaderNotModeled,
                message: format!(
                    "{name} contains {}, and what $PLATFORM is depends on the processor of the host: `haswell` on those of Intel, else `x86_64`",
                    entry.escape_debug()
                ),
                path: None,
                layer: None,
            })
        })
    }

    /// Whether one of the paths that an entry may be is in the image.
    fn depends_on_platform(&self, entry: &str) -> bool {
        const TOKENS: [&str; 2] = ["${PLATFORM}", "$PLATFORM"];
        const PLATFORMS: [&str; 3] = ["x86_64", "haswell", "xeon_phi"];
        let Some(token) = TOKENS.into_iter().find(|it| entry.contains(it)) else {
            return false;
        };
        // What another token stands for is not looked into.
        let is_there = |platform: &str| {
            let path = entry.replace(token, platform);
            path.contains('$') || self.root.resolve(&self.launch.absolute(&path)).is_ok()
        };
        PLATFORMS.into_iter().any(is_there)
    }

    /// Same as [`Programs::commands`]. What starts the last program is left out if it changes what is loaded: it started without that.
    fn commands(&self, programs: &[Program], gaps: &mut Vec<Gap>) -> Vec<Program<'r>> {
        let launch = self.launch;
        let starters = launch.chain.iter().map(|it| it.path.as_str());
        let starters = starters.filter(|_| launch.changes.is_empty());
        let paths = launch.executable.as_deref().into_iter().chain(starters);
        let file = |path: &str| self.root.resolve(path).ok();
        let mut known: BTreeSet<String> = programs
            .iter()
            .filter_map(|it| Some(file(&it.path)?.path()))
            .collect();
        let mut commands = Vec::new();
        for node in paths.filter_map(file) {
            let is_dynamic = node.elf().is_some_and(|it| it.interpreter.is_some());
            if is_dynamic && known.insert(node.path()) {
                let program = self.program(node.path(), gaps);
                commands.extend(program.map(|it| Program { main: true, ..it }));
            }
        }
        commands
    }

    /// A program without Python.
    fn program(&self, path: String, gaps: &mut Vec<Gap>) -> Option<Program<'r>> {
        let Some(system) = self.system(&path) else {
            gaps.extend(self.unknown_loader(&path));
            return None;
        };
        Some(Program {
            name: path.clone(),
            main: self.launch.executable.as_ref() == Some(&path),
            environment: String::new(),
            library_path_from: self.launch.library_path_from.clone(),
            system,
            setup: PythonSetup::default(),
            packages: Vec::new(),
            path,
        })
    }

    /// The gap of a program whose loader is not modeled.
    fn unknown_loader(&self, program: &str) -> Option<Gap> {
        let node = self.root.resolve(program).ok()?;
        let interpreter = node.elf().and_then(|elf| elf.interpreter.as_deref());
        let reason = match interpreter {
            Some(interpreter) => format!(
                "it runs with {interpreter}, which is outside the system's directories and is not a glibc loader whose built-in paths imgcheck can read"
            ),
            None => "it has no dynamic loader".to_owned(),
        };
        Some(Gap {
            code: GapCode::LoaderNotModeled,
            message: format!("what {program} loads is unknown: {reason}"),
            path: Some(node.path()),
            layer: node.layer(),
        })
    }

    /// The loader of a program. Programs share it, because its cache can be large.
    fn system(&self, program: &str) -> Option<Rc<System<'r>>> {
        let node = self.root.resolve(program).ok()?;
        let elf = node.elf()?;
        let is_secure = node.is_secure_for(&self.launch.user.credentials);
        let is_launched = self.launch.executable.as_ref() == Some(&node.path());
        if let Some(command) = self.launch.loader.as_ref().filter(|_| is_launched) {
            return self.by_command(elf, command).map(Rc::new);
        }
        let key = (
            elf.interpreter.as_deref(),
            elf.machine,
            elf.class,
            is_secure,
        );
        let mut systems = self.systems.borrow_mut();
        let known = systems.entry(key).or_insert_with(|| {
            let mut system = self.new_system(elf)?;
            if is_secure {
                system = system.in_secure_mode();
            }
            Some(Rc::new(system))
        });
        known.clone()
    }

    fn new_system(&self, elf: &ElfFacts) -> Option<System<'r>> {
        let launch = self.launch;
        let environment = launch.environment.clone();
        let mut system = System::of(self.root, elf, environment, &launch.working_directory)?;
        system.user = launch.user.credentials.clone();
        system.host_libraries = self.knowledge.host.clone();
        system.budget = self.budget.clone();
        system.subject = "the processes of the image".to_owned();
        Some(system)
    }

    /// The loader that is the command, whichever loader the program names.
    fn by_command(&self, elf: &ElfFacts, command: &LoaderCommand) -> Option<System<'r>> {
        let loader = command.loader.clone();
        let elf = ElfFacts {
            interpreter: Some(loader.clone()),
            ..elf.clone()
        };
        let system = self.new_system(&elf)?;
        Some(system.by_command(loader::Command {
            loader,
            program: self.launch.absolute(&command.program),
            inhibit_rpath: command.inhibit_rpath.clone(),
            inhibits_cache: command.inhibits_cache,
        }))
    }
}

/// The gap of LD_AUDIT: its libraries may change every search and every symbol (rtld-audit(7)).
fn audit(launch: &Launch) -> Option<Gap> {
    let libraries = launch.environment.get("LD_AUDIT")?;
    (!libraries.is_empty()).then(|| Gap {
        code: GapCode::LoaderNotModeled,
        message: format!(
            "LD_AUDIT={} may change which libraries every program loads",
            libraries.escape_debug()
        ),
        path: None,
        layer: None,
    })
}

/// Whether the image starts the Python of a different environment, which comes first.
fn starts_other(stack: &Stack, environment: &Environment) -> bool {
    let first = stack.environments.first();
    first.is_some_and(|first| first.is_started && first != environment)
}
