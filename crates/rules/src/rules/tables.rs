//! The knowledge tables as expressions see them: `known.pytorch_docker_tags` is `rules/knowledge/pytorch-docker-tags.yaml`.
//!
//! A table is read when an expression first mentions it, because most images need few of them.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;

use cel::common::value::CowVal;
use cel::context::VariableResolver;
use serde_json::Value;

use super::shape::Shape;
use super::value::{Boxed, Json};
use imgcheck_base::error::Result;
use imgcheck_model::claims::unpublished::knowledge::Publications;
use imgcheck_model::knowledge::{self, OnFirstUse};
use imgcheck_model::settings::Settings;

/// The tables by name, with `_` for `-`.
#[derive(Debug)]
pub struct Tables {
    tables: BTreeMap<String, Table>,
    publications: OnFirstUse<Publications>,
    settings: OnFirstUse<Settings>,
}

#[derive(Debug)]
struct Table {
    text: &'static str,
    /// Set at most once, so that a panic elsewhere leaves it valid.
    value: AssertUnwindSafe<OnceLock<Option<Boxed<'static>>>>,
}

impl Default for Tables {
    fn default() -> Self {
        let table = |name: &str| {
            let text = imgcheck_tables::table(name)?;
            let value = AssertUnwindSafe(OnceLock::new());
            Some((name.replace('-', "_"), Table { text, value }))
        };
        Tables {
            tables: imgcheck_tables::tables().filter_map(table).collect(),
            publications: OnFirstUse::default(),
            settings: OnFirstUse::default(),
        }
    }
}

impl Tables {
    /// The names of the tables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// The content of a table.
    pub fn data(&self, name: &str) -> Option<Value> {
        // Always valid: the build script wrote the text.
        serde_json::from_str(self.tables.get(name)?.text).ok()
    }

    /// What is published, and where.
    ///
    /// # Errors
    /// A table is broken, which the tests exclude.
    pub fn publications(&self) -> Result<&Publications> {
        self.publications.get_or_make(knowledge::publications)
    }

    /// What the variables of GPU packages may say.
    ///
    /// # Errors
    /// A table is broken, which the tests exclude.
    pub fn settings(&self) -> Result<&Settings> {
        self.settings.get_or_make(knowledge::settings)
    }

    /// The shape of a table.
    pub fn shape(&self, name: &str) -> Option<Shape> {
        self.data(name).as_ref().map(Shape::of)
    }
}

/// CEL asks for `known.pytorch.releases` and then for `known.pytorch`, which is the table.
impl VariableResolver for Tables {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let name = variable.strip_prefix("known.")?;
        let table = self.tables.get(name)?;
        let read = || serde_json::from_str(table.text).ok();
        let value = table.value.get_or_init(|| read().map(|Json(value)| value));
        value.as_deref().map(CowVal::Borrowed)
    }
}
