//! One step on the way from the command of a container to the program that runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::Cause;

/// A program or script that starts the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Path of the program or script.
    pub path: String,
    /// Why it is on the way: `ENTRYPOINT and CMD`, `#! line of /start.sh`, `/start.sh line 7`.
    pub reason: String,
}

impl Step {
    /// The program or script that a command starts.
    pub fn of(path: &str, cause: &Cause) -> Self {
        Step {
            path: path.to_owned(),
            reason: match cause.line {
                0 => cause.what.clone(),
                line => format!("{} line {line}", cause.path),
            },
        }
    }
}
