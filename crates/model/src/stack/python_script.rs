//! The script that the command runs with Python.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::python::{Environment, PythonProgram};
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
    /// The script of the first environment that the command starts with one, itself or by a launcher.
    pub(super) fn of(environments: &[Environment], launch: &Launch) -> Option<Self> {
        let is_known = launch.program.is_some() && launch.gaps.is_empty();
        environments.iter().find_map(|it| {
            let Some(PythonProgram::Script(path)) = &it.program else {
                return None;
            };
            let mut operands = launch.missing_operands.iter();
            let missing = operands.find(|it| launch.program.is_some() && it.path == *path);
            let is_started = it.is_started || it.launcher.is_some() && is_known;
            Some(PythonScript {
                path: path.clone(),
                missing: missing.is_some(),
                certain: is_started && missing.is_none_or(|it| it.is_certain),
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
