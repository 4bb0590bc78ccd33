//! The script that the command runs with Python.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::python::{Environment, PythonProgram};
use super::python_launcher::PythonLauncher;
use super::python_options::Options;
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_launch::Launch;

/// The script that the command runs with Python.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PythonScript {
    /// Its absolute path.
    pub path: String,
    /// The image does not have it, and no volume or script that imgcheck knows brings it.
    pub missing: bool,
    /// The command certainly starts this Python, and nothing brings a script that the image does not have.
    pub certain: bool,
}

impl PythonScript {
    /// The script that a launcher starts, else that of the first environment that the command starts with one.
    pub(super) fn of(
        environments: &[Environment],
        launch: &Launch,
        launchers: &[PythonLauncher],
    ) -> Option<Self> {
        let script = |path: String, is_started: bool| {
            let mut operands = launch.missing_operands.iter();
            let missing = operands.find(|it| launch.program.is_some() && it.path == path);
            PythonScript {
                missing: missing.is_some(),
                certain: is_started && missing.is_none_or(|it| it.is_certain),
                path,
            }
        };
        let is_started = launch.program.is_some() && launch.gaps.is_empty();
        let launched = launched(launch, launchers);
        let launched = launched.map(|it| script(launch.absolute(&it), is_started));
        launched.or_else(|| {
            environments.iter().find_map(|it| match &it.program {
                Some(PythonProgram::Script(path)) => Some(script(path.clone(), it.is_started)),
                _ => None,
            })
        })
    }

    /// What is unknown of the command without the script.
    pub fn gap(&self) -> Option<Gap> {
        let message = format!(
            "Python runs {}, which is not in the image, so what it imports was not judged; does a volume bring it?",
            self.path
        );
        self.missing.then(|| Gap {
            code: GapCode::LaunchNotUnderstood,
            message,
            path: Some(self.path.clone()),
            layer: None,
        })
    }
}

/// The script that the command starts by a launcher, if that is known.
fn launched(launch: &Launch, launchers: &[PythonLauncher]) -> Option<String> {
    let options = Options::of(launch.arguments.get(..launch.leading_arguments)?)?;
    let is_plain = |it: &&PythonLauncher| {
        let mut variables = it.variables.iter();
        !variables.any(|name| launch.environment.contains_key(name))
    };
    let mut launchers = launchers.iter().filter(is_plain);
    launchers.find_map(|it| it.script(&options).map(str::to_owned))
}
