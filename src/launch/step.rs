//! One step on the way from the command of a container to the program that runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program or script that starts the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Path of the program or script.
    pub path: String,
    /// Why it is on the way: `ENTRYPOINT and CMD`, `#! line of /start.sh`, `/start.sh line 7`.
    pub reason: String,
}
