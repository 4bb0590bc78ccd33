//! The knowledge tables of `rules/knowledge/`: what is published, what fits what, each row with its source.
//!
//! A table is read when the first expression touches it, for most images need few of them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use serde_json::Value;

use super::schema::Shape;
use crate::embedded;

/// The tables by name: `known.pytorch_docker_tags` is `rules/knowledge/pytorch-docker-tags.yaml`.
#[derive(Debug)]
pub struct Knowledge {
    tables: BTreeMap<String, Table>,
}

#[derive(Debug)]
struct Table {
    text: &'static str,
    value: OnceLock<Option<Box<dyn Val>>>,
}

/// The built-in tables.
pub fn builtin() -> &'static Knowledge {
    static BUILTIN: OnceLock<Knowledge> = OnceLock::new();
    BUILTIN.get_or_init(|| Knowledge {
        tables: embedded::tables()
            .filter_map(|name| {
                let table = Table {
                    text: embedded::table(name)?,
                    value: OnceLock::new(),
                };
                Some((name.replace('-', "_"), table))
            })
            .collect(),
    })
}

impl Knowledge {
    /// The names of the tables, with `_` for `-`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// The data of a table.
    pub fn data(&self, name: &str) -> Option<Value> {
        self.tables.get(name)?.data()
    }

    /// The shape of a table.
    pub fn shape(&self, name: &str) -> Option<Shape> {
        self.data(name).as_ref().map(Shape::of)
    }
}

impl Table {
    /// Never `None`: the build wrote the text itself.
    fn data(&self) -> Option<Value> {
        serde_json::from_str(self.text).ok()
    }

    fn value(&self) -> Option<&dyn Val> {
        self.value
            .get_or_init(|| cel::to_value(self.data()?).ok()?.try_into().ok())
            .as_deref()
    }
}

/// CEL asks for `known.pytorch.releases`, then `known.pytorch`, which is the table.
impl VariableResolver for Knowledge {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let table = self.tables.get(variable.strip_prefix("known.")?)?;
        table.value().map(CowVal::Borrowed)
    }
}
