//! What is asked and answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::{Object, object};
use imgcheck_base::error::Error;
use imgcheck_checker::Checker;
use imgcheck_launch::Overlay;

/// What to check.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// The image in its registry: `registry.example/team/train:2.8`. Paths and transports are refused.
    pub reference: String,
    /// The architecture of a multi-platform image: `amd64`, `arm64`; that of the server if absent.
    #[serde(default)]
    pub architecture: String,
    /// What a container replaces in the configuration of the image.
    #[serde(default, deserialize_with = "object")]
    pub overlay: Overlay,
    /// The machines that the image must run on; those of the configuration if absent.
    #[schemars(with = "Option<TargetRequest>")]
    pub targets: Option<Object<TargetRequest>>,
}

/// Machines that an image must run on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetRequest {
    /// GPUs by name or architecture: `h100`, `sm_90`.
    #[serde(default)]
    pub gpus: Vec<String>,
    /// The driver: `535.183.06`.
    pub driver: Option<String>,
}

impl TargetRequest {
    /// The checker for these machines.
    ///
    /// # Errors
    /// A name is unknown, or no machine has them together. One sentence names the field and what to write.
    pub fn apply(&self, checker: &Checker) -> Result<Checker, String> {
        let named = |field: &str, error: &Error| {
            let help = error.help().map(|it| format!("; {it}"));
            format!("`{field}`: {}{}", error.message(), help.unwrap_or_default())
        };
        let driver = self.driver.as_deref();
        let is_known = [
            ("targets.gpus", checker.for_target(&self.gpus, None)),
            ("targets.driver", checker.for_target(&[], driver)),
        ];
        for (field, known) in is_known {
            known.map_err(|error| named(field, &error))?;
        }
        let both = checker.for_target(&self.gpus, driver);
        both.map_err(|error| named("targets", &error))
    }
}

/// An image that is read now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Queued {
    /// Always `queued`.
    pub status: &'static str,
    /// The digest of the image.
    pub digest: String,
    /// Where to ask for the verdict.
    pub href: String,
}
