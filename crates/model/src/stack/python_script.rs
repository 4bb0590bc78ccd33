//! The script that the command runs with Python.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::python::{Environment, PythonProgram};
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_image::{Node, RootFilesystem};
use imgcheck_launch::Launch;

/// The script that the command runs with Python.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PythonScript {
    /// Its absolute path.
    pub path: String,
    /// The image does not have it, and no volume or script that imgcheck knows brings it.
    pub missing: bool,
    /// The image has it.
    pub present: bool,
    /// The command certainly starts this Python, and nothing brings a script that the image does not have.
    pub certain: bool,
}

impl PythonScript {
    /// The script of the first environment that the command starts with one, itself or by a launcher.
    pub(super) fn of(
        environments: &[Environment],
        launch: &Launch,
        root: &RootFilesystem,
    ) -> Option<Self> {
        let is_known = launch.program.is_some() && launch.gaps.is_empty();
        environments.iter().find_map(|it| {
            let Some(PythonProgram::Script(path)) = &it.program else {
                return None;
            };
            let mut operands = launch.missing_operands.iter();
            let missing = operands.find(|it| launch.program.is_some() && it.path == *path);
            let is_started = it.is_started || it.launcher.is_some() && is_known;
            let main = format!("{path}/__main__.py");
            if root.resolve(path).is_ok_and(Node::is_directory) && root.resolve(&main).is_err() {
                return Some(PythonScript {
                    path: main,
                    missing: true,
                    ..PythonScript::default()
                });
            }
            Some(PythonScript {
                path: path.clone(),
                missing: missing.is_some(),
                present: root.resolve(path).is_ok(),
                certain: is_started && missing.is_none_or(|it| it.is_certain),
            })
        })
    }

    /// What is unknown of the command without the script.
    pub fn gap(&self) -> Option<Gap> {
        let question = match self.path.contains('$') {
            true => "a command in the form of a list expands no variables",
            false => "does a volume bring it?",
        };
        let message = format!(
            "Python runs {}, which is not in the image, so what it imports was not judged; {question}",
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
