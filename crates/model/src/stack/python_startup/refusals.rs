//! Why an environment's Python does not start.

use super::Startup;
use super::search_path::SearchPath;
use crate::stack::modules;
use crate::stack::python::Environment;
use crate::stack::python_faults::StartRefusal;
use crate::stack::python_settings::PythonSettings;
use imgcheck_base::{excerpt, version};
use imgcheck_python::{Unread, certainly_exits, syntax};

/// How many characters of a program are shown.
const SHOWN: usize = 60;
/// Since this release, `-c` accepts a program that is indented as a whole.
const INDENTED: &str = "3.14";

impl Startup<'_, '_> {
    /// What the interpreter refuses, if it starts.
    pub(super) fn refusals(
        &self,
        path: &SearchPath,
        environment: &Environment,
        settings: &PythonSettings,
    ) -> Vec<StartRefusal> {
        let is_codec = |module: &str| {
            let mut directories = path.named.iter().chain(&path.standard_library);
            directories.any(|it| {
                self.resolve(&format!("{it}/encodings/{module}.py"))
                    .is_some()
            })
        };
        let release = &environment.release;
        let variable = |name: &str| self.variable(name);
        let refusals = settings.refusals(release, &self.options, variable, is_codec);
        let refusals = refusals
            .into_iter()
            .map(|it| (it.setting, it.says, it.is_certain));
        let is_run = !settings.prints_only(&self.options);
        let home = (is_run && self.lacks_encodings(path, environment)).then(|| {
            let setting = format!("PYTHONHOME={}", self.variable("PYTHONHOME"));
            let says = "ModuleNotFoundError: No module named 'encodings'";
            (setting, says.to_owned(), true)
        });
        let code = self.options.code.as_deref().filter(|_| is_run);
        let code = code.filter(|it| is_invalid(it, release)).map(|code| {
            let setting = format!(
                "-c {}",
                excerpt::shortened(&excerpt::without_controls(code), SHOWN)
            );
            (setting, "SyntaxError: invalid syntax".to_owned(), true)
        });
        let exit = self.exiting_module(path, environment).filter(|_| is_run);
        let exit = exit.map(|it| {
            let says = "it exits, and Python ends before it runs anything else";
            (it, says.to_owned(), true)
        });
        let interpreter = self.resolve(&environment.interpreter);
        let refusals =
            refusals
                .chain(home)
                .chain(code)
                .chain(exit)
                .map(|(setting, says, certain)| StartRefusal {
                    environment: String::new(),
                    interpreter: environment.interpreter.clone(),
                    layer: interpreter.and_then(|it| it.layer()),
                    setting,
                    says,
                    certain,
                });
        refusals.collect()
    }

    /// The file of `sitecustomize` if it certainly ends Python: `site` reports and ignores all other exceptions (`execsitecustomize`).
    fn exiting_module(&self, path: &SearchPath, environment: &Environment) -> Option<String> {
        let packages = path.directories.get(path.before_standard..)?;
        let directories = path.named.iter().chain(&path.standard_library);
        let mut directories = directories
            .chain(packages)
            .filter(|_| !self.options.no_site);
        let file = directories.find_map(|it| {
            let directory = self.resolve(it)?;
            modules::find(directory, "sitecustomize", &environment.release, self.user)
        })?;
        let exits = !self.is_replaced(environment, file) && certainly_exits(file.text()?);
        exits.then(|| file.path())
    }

    /// Whether PYTHONHOME leads to no package `encodings`, without which Python does not start.
    fn lacks_encodings(&self, path: &SearchPath, environment: &Environment) -> bool {
        let release = &environment.release;
        let home = self.home();
        let digits = release.replace('.', "");
        let archive = self.resolve(&format!("{home}/lib/python{digits}.zip"));
        let elements = self.variable("PYTHONPATH").split(':');
        let mut archives = elements.filter_map(|it| self.resolve(it));
        let has_archive = archive.is_some() || archives.any(|it| !it.is_directory());
        let mut directories = path.named.iter().chain(&path.standard_library);
        let has_encodings = directories.any(|it| {
            let directory = self.resolve(it);
            directory.is_some_and(|it| modules::find(it, "encodings", release, self.user).is_some())
        });
        !home.is_empty() && !has_archive && !has_encodings
    }
}

/// Whether the program after `-c` is not valid in any release of Python 3. What a manifest or template leaves open is not known.
fn is_invalid(code: &str, release: &str) -> bool {
    let is_open = ["$(", "${", "{{"].iter().any(|it| code.contains(it));
    let mut lines = code.lines().filter(|it| !it.trim().is_empty());
    let is_indented = lines.next().is_some_and(|it| it.starts_with([' ', '\t']));
    let is_python_3 = release.starts_with("3.");
    let may_be_indented = is_indented && version::is_since(release, INDENTED);
    is_python_3
        && !is_open
        && !may_be_indented
        && syntax::with_statements(code, |_| ()) == Err(Unread::Syntax)
}
