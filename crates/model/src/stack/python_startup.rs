//! Where Python imports from, as the command, the environment, the user and the `.pth` files of the image set it.
//!
//! Source: CPython's `Modules/getpath.py`, `Python/pathconfig.c` (`_PyPathConfig_ComputeSysPath0`), `Lib/site.py`, and "Command line
//! and environment" of its documentation.

mod code;
mod command;
mod compiled;
mod refusals;
mod search_path;

use super::catalogue::Catalogue;
use super::interpreter;
use super::inventory::{Inventory, is_interpreter_name};
use super::python::{self, Environment, Labels, PythonProgram};
use super::python_faults::StartRefusal;
use super::python_launcher::Worker;
use super::python_options::Options;
use super::startup_knowledge::StartupKnowledge;
use command::{is_program, program};
use imgcheck_base::lexical::{directory_of, name_of};
use imgcheck_base::limits::{Limit, LimitExceeded, Limits};
use imgcheck_image::{Credentials, Node};
use imgcheck_launch::Launch;
use search_path::SearchPath;

/// Where lines end (`str.splitlines`).
const LINE_ENDS: [char; 10] = [
    '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}',
];

/// Completes the search paths of all environments.
///
/// # Errors
/// A search path has more directories than [`Limit::PythonDirectories`].
pub(super) fn complete(
    environments: &mut [Environment],
    inventory: &Inventory,
    launch: &Launch,
    catalogue: &Catalogue,
    limits: &Limits,
) -> Result<(), LimitExceeded> {
    let main = interpreter::environment(launch, inventory, environments).cloned();
    let options = Options::of(&launch.arguments);
    let user = &launch.user.credentials;
    let is_there = |path: &str| {
        let path = launch.absolute(path);
        inventory.root.resolve_as(&path, user).is_ok()
    };
    let worker = Worker::of(launch, &catalogue.settings.launchers, is_there);
    let (worker, not_followed) = match worker {
        Ok(worker) => (worker, None),
        Err(problem) => (None, Some(problem)),
    };
    let is_python = |name: &String| is_interpreter_name(name_of(name));
    let is_certain = launch.arguments.first().is_some_and(is_python)
        && launch.program.is_some()
        && launch.gaps.is_empty();
    let labels: Vec<String> = {
        let labels = Labels::of(environments);
        environments.iter().map(|it| labels.label(it)).collect()
    };
    for (environment, label) in environments.iter_mut().zip(labels) {
        let is_main = main.as_ref() == Some(environment);
        let own = options.as_ref().filter(|_| is_main);
        let startup = Startup {
            inventory,
            launch,
            knowledge: &catalogue.startup,
            user: &launch.user.credentials,
            options: own.cloned().unwrap_or_default(),
            starts: own.is_some(),
            most: limits.of(Limit::PythonDirectories),
        };
        let path = startup.search_path(environment);
        let worker = worker.as_ref().filter(|_| own.is_some());
        let path_of_worker = worker.map(|it| startup.path_of_worker(environment, it));
        for path in path_of_worker.iter().chain([&path]) {
            limits.check(Limit::PythonDirectories, path.directories.len() as u64)?;
        }
        environment.is_started =
            own.is_some_and(|options| is_program(options, launch, inventory, &environment.prefix));
        // If the command starts no Python, what its variables mean for one is said once.
        if own.is_some() || options.is_none() && (is_main || main.is_none()) {
            let refusals = startup.refusals(&path, environment, &catalogue.settings);
            environment.refusals = refusals
                .into_iter()
                .map(|it| StartRefusal {
                    environment: label.clone(),
                    certain: it.certain && own.is_some() && is_certain,
                    ..it
                })
                .collect();
        }
        environment.not_followed = own.and(not_followed.clone());
        environment.program = own.and_then(|options| program(options, launch));
        environment.search(path, own.is_some() && is_certain);
        if let Some((worker, path)) = worker.zip(path_of_worker) {
            environment.launcher = Some(Box::new(environment.clone()));
            let imported = worker.imported.clone();
            let imported = imported.map(|it| PythonProgram::Application(it.0, it.1));
            environment.program = imported.or_else(|| program(&worker.options, launch));
            environment.search(path, is_certain);
        }
    }
    Ok(())
}

impl Environment {
    /// Takes over a search path, and whether the image certainly starts a Python with it.
    fn search(&mut self, path: SearchPath, is_certain: bool) {
        self.is_certain = is_certain && path.gaps.is_empty();
        self.of_command = path.of_command;
        self.before_standard = path.before_standard;
        self.standard_library = path.standard_library;
        self.sites = path.directories;
        self.gaps = path.gaps;
    }
}

/// How one environment's Python starts.
#[derive(Clone)]
struct Startup<'s, 'r> {
    inventory: &'s Inventory<'r>,
    launch: &'s Launch,
    knowledge: &'s StartupKnowledge,
    user: &'s Credentials,
    options: Options,
    /// The command starts this Python.
    starts: bool,
    /// [`Limit::PythonDirectories`].
    most: u64,
}

impl<'r> Startup<'_, 'r> {
    /// A PYTHON* variable; empty if it is not set or ignored.
    fn variable(&self, name: &str) -> &str {
        match self.options.ignore_environment {
            true => "",
            false => self.launch.variable(name),
        }
    }

    /// The file at a path, which may be relative to the working directory.
    fn resolve(&self, path: &str) -> Option<Node<'r>> {
        let path = self.launch.absolute(path);
        self.inventory.root.resolve_as(&path, self.user).ok()
    }

    /// The search path of the Python that a launcher starts.
    fn path_of_worker(&self, environment: &Environment, worker: &Worker) -> SearchPath<'r> {
        let startup = Startup {
            options: worker.options.clone(),
            ..self.clone()
        };
        let mut path = startup.search_path(environment);
        if worker.may_search_working_directory {
            let directory = self.resolve(&self.launch.working_directory);
            directory.map(|it| path.push(it));
        }
        path
    }

    fn search_path(&self, environment: &Environment) -> SearchPath<'r> {
        let mut path = SearchPath {
            most: self.most,
            user: self.user.clone(),
            ..SearchPath::default()
        };
        if self.starts {
            let script = self.options.script.as_deref();
            let script = script.and_then(|it| Some((it, self.resolve(it)?)));
            if let Some((_, node)) = script.filter(|(name, node)| Self::is_archive(name, *node)) {
                path.push_element(node);
            }
            let first = self.first_directory();
            first
                .and_then(|it| self.resolve(&it))
                .map(|it| path.push(it));
        }
        path.of_command = path.directories.len();
        let python_path = self.variable("PYTHONPATH");
        if !python_path.is_empty() {
            for directory in python_path.split(':') {
                if let Some(node) = self.resolve(directory) {
                    path.push_element(node);
                }
            }
        }
        path.named = path.directories[path.of_command..].to_vec();
        path.before_standard = path.directories.len();
        path.standard_library = self.standard_library(environment);
        if !self.variable("PYTHONPLATLIBDIR").is_empty() {
            let message = "PYTHONPLATLIBDIR changes where Python finds its modules";
            path.gap(message.to_owned(), None);
        }
        for file in self.hidden_elements(environment) {
            path.gap(
                "Python takes its search path from this file".into(),
                Some(file),
            );
        }
        self.check_early_code(&mut path, environment);
        if self.options.no_site {
            return path;
        }
        if self.marker(environment).is_some() {
            for site in self.virtual_sites(environment) {
                self.add_site(&mut path, environment, &site);
            }
        }
        let has_user_site = self.has_user_site(environment);
        if has_user_site {
            self.add_site(&mut path, environment, &self.user_site(environment));
        }
        for site in self.own_sites(environment) {
            self.add_site(&mut path, environment, &site);
        }
        self.check_module(&mut path, environment, "sitecustomize");
        if has_user_site {
            self.check_module(&mut path, environment, "usercustomize");
        }
        path
    }

    /// Files that come before the package directories, and that no installation has: an archive of the standard library
    /// (`/usr/lib/python311.zip`), a file that replaces the search path (`python3.11._pth` beside the program; `getpath.py` reads it
    /// on all systems since 3.11), and one that names the directory of extension modules (`pybuilddir.txt` of a build directory).
    fn hidden_elements(&self, environment: &Environment) -> Vec<Node<'r>> {
        let base = directory_of(directory_of(&environment.interpreter)).to_owned();
        let digits = environment.release.replace('.', "");
        let program = self.launch.program.as_ref().filter(|_| self.starts);
        let bin = format!("{}/bin", environment.prefix);
        let programs = ["python", "python3"].map(|name| format!("{bin}/{name}"));
        let programs = programs
            .iter()
            .chain(program)
            .chain([&environment.interpreter]);
        let files = programs.flat_map(|program| {
            let build = format!("{}/pybuilddir.txt", directory_of(program));
            [format!("{program}._pth"), build]
        });
        let files = files.chain([format!("{base}/lib/python{digits}.zip")]);
        let files = files.chain([
            format!("{bin}/pyvenv.cfg"),
            format!("{base}/bin/pyvenv.cfg"),
        ]);
        let own = format!("{base}/pyvenv.cfg");
        let files = files.chain(self.is_own_home(&own, &base).then_some(own));
        files.filter_map(|file| self.resolve(&file)).collect()
    }

    /// Whether a `pyvenv.cfg` names the installation that it is in: Python then takes that for an environment without packages.
    fn is_own_home(&self, marker: &str, base: &str) -> bool {
        let Some(marker) = self.inventory.text(marker) else {
            return self.resolve(marker).is_some();
        };
        let keys = marker.text.lines().filter_map(|line| line.split_once('='));
        let mut homes = keys.filter(|(key, _)| key.trim().eq_ignore_ascii_case("home"));
        let bin = self.resolve(&format!("{base}/bin"));
        homes
            .next()
            .is_none_or(|(_, home)| self.resolve(home.trim()) == bin)
    }

    /// Whether Python may take a program for an archive: one is searched for modules (`python app.pyz`).
    fn is_archive(script: &str, node: Node) -> bool {
        const ENDINGS: [&str; 5] = [".pyz", ".pex", ".zip", ".whl", ".egg"];
        let is_named = ENDINGS.iter().any(|ending| script.ends_with(ending));
        !node.is_directory() && is_named
    }

    /// `sys.path[0]`: the directory of the script with its links resolved, the script itself if it is a directory, or the working
    /// directory. With `-P`, only a directory counts.
    fn first_directory(&self) -> Option<String> {
        let is_safe = self.options.safe_path || !self.variable("PYTHONSAFEPATH").is_empty();
        let script = self.options.script.as_deref();
        let node = script.and_then(|script| self.resolve(script));
        if let Some(directory) = node.filter(|node| node.is_directory()) {
            return Some(directory.path());
        }
        // A script may be mounted when the container starts.
        let path =
            script.map(|script| node.map_or_else(|| self.launch.absolute(script), Node::path));
        let directory = path.map_or_else(
            || self.launch.working_directory.clone(),
            |path| directory_of(&path).to_owned(),
        );
        (!is_safe).then_some(directory)
    }

    /// The directories of the standard library: below PYTHONHOME, where that is set, else those of the installation.
    fn standard_library(&self, environment: &Environment) -> Vec<String> {
        let base = match self.home() {
            "" => {
                let marker = self.marker(environment).unwrap_or_default();
                python::base_prefix(self.inventory, marker, &environment.interpreter)
            }
            home => home.to_owned(),
        };
        let base = base.trim_end_matches('/');
        let release = &environment.release;
        let libraries = ["lib", "lib64"].map(|lib| format!("{base}/{lib}/python{release}"));
        let libraries = libraries.into_iter().flat_map(|library| {
            let dynload = format!("{library}/lib-dynload");
            [library, dynload]
        });
        let mut found: Vec<String> = Vec::new();
        for directory in libraries.filter_map(|it| self.resolve(&it)) {
            let path = directory.path();
            if directory.is_directory() && !found.contains(&path) {
                found.push(path);
            }
        }
        found
    }

    /// The prefix in PYTHONHOME; empty if it is not set.
    fn home(&self) -> &str {
        let home = self.variable("PYTHONHOME");
        home.split(':').next().unwrap_or_default()
    }

    /// The environment's own package directories: below PYTHONHOME, where that is set, and those of a virtual environment.
    fn own_sites(&self, environment: &Environment) -> Vec<String> {
        let home = self.home();
        let Some(home) = self.resolve(home).filter(|_| !home.is_empty()) else {
            return environment.sites.clone();
        };
        let release = &environment.release;
        let is_debian = environment.interpreter.starts_with("/usr/bin/");
        let of_home = || python::sites(self.inventory, &home.path(), release, is_debian);
        let Some(marker) = self.marker(environment) else {
            return of_home();
        };
        let mut sites = self.virtual_sites(environment);
        if python::sees_system_packages(marker) {
            sites.extend(of_home());
        }
        sites
    }

    /// The package directories of a virtual environment itself, which come before the user's.
    fn virtual_sites(&self, environment: &Environment) -> Vec<String> {
        let Environment {
            prefix, release, ..
        } = environment;
        python::sites(self.inventory, prefix, release, false)
    }

    fn marker(&self, environment: &Environment) -> Option<&'r str> {
        let marker = format!("{}/pyvenv.cfg", environment.prefix);
        self.inventory.text(&marker).map(|marker| marker.text)
    }

    /// `ENABLE_USER_SITE` of the module `site`: off in a virtual environment that does not see system packages.
    fn has_user_site(&self, environment: &Environment) -> bool {
        let is_off = self.options.no_user_site || !self.variable("PYTHONNOUSERSITE").is_empty();
        let marker = self.marker(environment);
        !is_off && marker.is_none_or(python::sees_system_packages)
    }

    /// `USER_SITE` of the module `site`.
    fn user_site(&self, environment: &Environment) -> String {
        // `site.py` reads it even with -E.
        let base = match self.launch.variable("PYTHONUSERBASE") {
            "" => {
                let home = self.launch.home();
                format!("{}/.local", home.trim_end_matches('/'))
            }
            base => base.to_owned(),
        };
        format!("{base}/lib/python{}/site-packages", environment.release)
    }

    /// `addsitedir`: the directory, and the directories that its `.pth` files name.
    fn add_site(&self, path: &mut SearchPath<'r>, environment: &Environment, site: &str) {
        let Some(node) = self.resolve(site) else {
            return;
        };
        path.push(node);
        let mut files: Vec<Node> = node.children().collect();
        files.retain(|file| file.name().ends_with(".pth"));
        files.sort_by_key(|file| file.name());
        for file in files {
            self.read_pth(path, environment, &node.path(), file);
        }
    }

    fn read_pth(
        &self,
        path: &mut SearchPath<'r>,
        environment: &Environment,
        site: &str,
        file: Node<'r>,
    ) {
        let resolved = self.resolve(&file.path());
        let Some(text) = resolved.and_then(Node::text) else {
            if resolved.is_some_and(|node| node.content().is_some() && node.size() > 0) {
                path.gap(
                    "imgcheck has not read this file of Python's search path".into(),
                    Some(file),
                );
            }
            return;
        };
        // Since 3.12, Python splits lines as `str.splitlines` does; before, at carriage returns, too. Since 3.13, it skips a byte order mark.
        for line in text.trim_start_matches('\u{feff}').split(LINE_ENDS) {
            if line.starts_with("import ") || line.starts_with("import\t") {
                self.check_line(path, environment, line, file);
            } else if !line.starts_with('#') && !line.trim().is_empty() {
                let line = line.trim_end();
                let directory = match line.starts_with('/') {
                    true => line.to_owned(),
                    false => format!("{site}/{line}"),
                };
                if let Some(node) = self.resolve(&directory) {
                    path.push_element(node);
                }
            }
        }
    }
}
