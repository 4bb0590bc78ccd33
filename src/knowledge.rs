//! The built-in knowledge: the tables of `rules/knowledge/`, read once and handed to those who need them.
//!
//! The types of the tables are beside the code that uses them. The tables that only expressions use (`known.…`) belong to
//! [`RuleSet`](crate::rules::RuleSet).

use std::sync::Arc;

use crate::claims::Grammar;
use crate::elf::Recipes;
use crate::error::Result;
use crate::layer::FilePatterns;
use crate::process;
use crate::stack::{self, Catalogue, ToolkitRow};
use crate::targets;

/// All tables that reading and judging an image need.
#[derive(Debug)]
pub struct Knowledge {
    /// Which files of a layer are kept.
    pub patterns: Arc<FilePatterns>,
    /// How libraries are identified, and where their versions are.
    pub recipes: Arc<Recipes>,
    /// How versions are written into tags, labels and variables.
    pub grammar: Grammar,
    /// Which package belongs to which component.
    pub catalogue: Catalogue,
    /// The releases of the CUDA toolkit with their drivers.
    pub toolkits: Vec<ToolkitRow>,
    /// What the import of a Python package loads.
    pub processes: process::Knowledge,
    /// GPUs and drivers.
    pub targets: targets::Tables,
}

impl Knowledge {
    /// The built-in tables.
    ///
    /// # Errors
    /// A table is broken, which the tests exclude.
    pub fn builtin() -> Result<Self> {
        Ok(Knowledge {
            patterns: Arc::new(FilePatterns::builtin()?),
            recipes: Arc::new(Recipes::builtin()?),
            grammar: Grammar::builtin()?,
            catalogue: Catalogue::builtin()?,
            toolkits: stack::toolkits()?,
            processes: process::Knowledge::builtin()?,
            targets: targets::Tables::builtin()?,
        })
    }
}
