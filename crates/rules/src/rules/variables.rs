//! The facts as variables of expressions.

use std::sync::OnceLock;

use cel::Context;
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use serde::Serialize;

use super::facts::Facts;
use super::loader;
use super::tables::Tables;
use super::value::{self, Boxed};
use imgcheck_base::error::{Error, Result};

/// Variables that are expensive and rarely needed: computed when an expression first mentions them.
pub struct Variables<'f> {
    facts: &'f Facts,
    tables: &'f Tables,
    mapped: OnceLock<std::result::Result<Option<Boxed<'static>>, String>>,
}

impl<'f> Variables<'f> {
    /// The variables of some facts.
    pub fn new(facts: &'f Facts, tables: &'f Tables) -> Self {
        Variables {
            facts,
            tables,
            mapped: OnceLock::new(),
        }
    }

    /// `loader.mapped`; `None` if no image was read.
    fn mapped(&self) -> std::result::Result<Option<Boxed<'static>>, String> {
        let loader = self.facts.loader.as_deref();
        let value = |loader| value::shared(&loader::mapped(loader));
        loader.map(value).transpose()
    }

    /// # Errors
    ///
    /// A variable that an expression needed could not be serialized: it is not a missing fact.
    pub fn check(&self) -> Result<()> {
        match self.mapped.get() {
            Some(Err(problem)) => Err(unserialized(problem)),
            _ => Ok(()),
        }
    }
}

fn unserialized(problem: impl std::fmt::Display) -> Error {
    Error::Rule {
        problem: format!("the facts cannot be serialized: {problem}"),
    }
}

impl VariableResolver for Variables<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        if variable != "loader.mapped" {
            return self.tables.resolve(variable);
        }
        let mapped = self.mapped.get_or_init(|| self.mapped());
        let mapped = mapped.as_ref().ok()?.as_deref();
        mapped.map(CowVal::Borrowed)
    }
}

/// Makes the fields of the facts variables. An absent field leaves its variable undefined.
///
/// # Errors
///
/// The facts cannot be serialized.
pub fn bind(context: &mut Context<'_, '_>, facts: &impl Serialize) -> Result<()> {
    for (name, value) in value::shared_fields(facts).map_err(unserialized)? {
        context.add_variable_as_val(name, value);
    }
    Ok(())
}
