//! How old the built-in knowledge is.

use serde::{Deserialize, Serialize};

use imgcheck_base::error::{Error, Result};
use imgcheck_model::knowledge;
use imgcheck_report as report;

/// The knowledge tables, as `imgcheck knowledge status` prints them.
#[derive(Debug, Serialize)]
pub struct KnowledgeStatus {
    schema: &'static str,
    /// The day on which the tables were last compared with what is published: `2026-11-22`.
    pub date: String,
    /// The tables that say when they were compared, by name.
    pub tables: Vec<TableStatus>,
    /// The newest release of each project that the tables know, by name.
    pub releases: Vec<NewestRelease>,
}

/// One table of `rules/knowledge/`.
#[derive(Debug, Serialize)]
pub struct TableStatus {
    /// Path of the table below `knowledge/`, without extension.
    pub name: &'static str,
    /// The day on which it was compared with what is published.
    pub date: &'static str,
}

/// The newest stable release of a project that the tables know.
#[derive(Debug, Serialize, Deserialize)]
pub struct NewestRelease {
    /// Its name in the Python package index.
    pub project: String,
    /// The version.
    pub newest: String,
    /// The day on which it was uploaded; `unknown` where the index does not say.
    pub released: String,
}

impl KnowledgeStatus {
    /// Reads the tables.
    ///
    /// # Errors
    /// A table is broken, which the tests exclude.
    pub fn read() -> Result<Self> {
        #[derive(Deserialize)]
        struct Published {
            projects: Vec<NewestRelease>,
        }
        let published: Published = knowledge::table("published")?;
        let dates = knowledge::dates().into_iter();
        Ok(KnowledgeStatus {
            schema: "imgcheck/knowledge/v1",
            date: knowledge::date()?,
            tables: dates
                .map(|(name, date)| TableStatus { name, date })
                .collect(),
            releases: published.projects,
        })
    }

    /// The status as a JSON document.
    ///
    /// # Errors
    /// None in practice: no input can cause one.
    pub fn to_json(&self) -> Result<String> {
        report::to_json(self).map_err(|error| Error::output("the state of the tables", error))
    }
}
