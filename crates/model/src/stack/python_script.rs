//! The script that the command runs with Python.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::python::{Environment, PythonProgram};
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_base::lexical::directory_of;
use imgcheck_image::RootFilesystem;
use imgcheck_launch::Launch;

/// The script that the command runs with Python.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PythonScript {
    /// Its absolute path.
    pub path: String,
    /// The image does not have it, and no volume or script that imgcheck knows brings it.
    pub missing: bool,
    /// The command certainly starts this Python, and the image has the directory of the script.
    pub certain: bool,
}

impl PythonScript {
    /// The script of the first environment that the command starts with one.
    pub(super) fn of(
        environments: &[Environment],
        launch: &Launch,
        root: &RootFilesystem,
    ) -> Option<Self> {
        environments.iter().find_map(|it| match &it.program {
            Some(PythonProgram::Script(path)) => Some(PythonScript {
                path: path.clone(),
                missing: launch.program.is_some() && launch.missing_operands.contains(path),
                certain: it.is_started && root.resolve(directory_of(path)).is_ok(),
            }),
            _ => None,
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
