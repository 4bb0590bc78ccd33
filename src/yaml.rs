//! The one place that knows which YAML library is used.

use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// Reads a YAML document. `name` is the file as the user knows it; an error shows it with line, column and the line.
pub fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    serde_saphyr::from_str(text).map_err(|error| Error::Rule {
        problem: format!("{name}: {}", error.render()),
    })
}
