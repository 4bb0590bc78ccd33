//! Why an environment's Python does not start.

use super::Startup;
use super::search_path::SearchPath;
use crate::stack::modules;
use crate::stack::python::Environment;
use crate::stack::python_faults::StartRefusal;
use crate::stack::python_settings::PythonSettings;

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
        let interpreter = self.resolve(&environment.interpreter);
        let refusals = refusals
            .chain(home)
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
