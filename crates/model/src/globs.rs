//! Globs of the knowledge tables.

use globset::{Glob, GlobSet, GlobSetBuilder};

use imgcheck_base::error::{Error, Result};

/// A table, named by its path below `rules/knowledge/`, is wrong.
pub(crate) fn broken(table: &str, problem: &str) -> Error {
    Error::Rule {
        problem: format!("rules/knowledge/{table}.yaml: {problem}"),
    }
}

/// Compiles the globs of a table.
///
/// # Errors
/// One of them is invalid.
pub(crate) fn globs(table: &str, patterns: &[String]) -> Result<GlobSet> {
    let wrong = |error: globset::Error| broken(table, &error.to_string());
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(Glob::new(pattern).map_err(wrong)?);
    }
    set.build().map_err(wrong)
}
