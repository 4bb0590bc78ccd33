//! The knowledge tables of `rules/knowledge/`: what is published, what fits what, each row with its source.
//!
//! A table is read when the first expression touches it, for most images need few of them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use serde_json::Value;

use super::schema::Shape;
use crate::error::Result;
use crate::{embedded, yaml};

/// The tables by name: `known.pytorch` is `rules/knowledge/pytorch.yaml`.
#[derive(Debug)]
pub struct Knowledge {
    tables: BTreeMap<String, Table>,
}

#[derive(Debug)]
struct Table {
    file: &'static str,
    text: &'static str,
    data: OnceLock<Option<Value>>,
    value: OnceLock<Option<Box<dyn Val>>>,
}

/// The built-in tables.
pub fn builtin() -> &'static Knowledge {
    static BUILTIN: OnceLock<Knowledge> = OnceLock::new();
    BUILTIN.get_or_init(|| Knowledge {
        tables: embedded::files("knowledge")
            .into_iter()
            .filter_map(|(file, text)| {
                let name = file.strip_prefix("knowledge/")?.strip_suffix(".yaml")?;
                // Tables in folders are for other parts of the program.
                (!name.contains('/')).then(|| {
                    let table = Table {
                        file,
                        text,
                        data: OnceLock::new(),
                        value: OnceLock::new(),
                    };
                    (name.replace('-', "_"), table)
                })
            })
            .collect(),
    })
}

impl Knowledge {
    /// The names of the tables, with `_` for `-`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// The shape of a table.
    pub fn shape(&self, name: &str) -> Option<Shape> {
        self.tables.get(name)?.data().map(Shape::of)
    }

    /// Reads all tables.
    ///
    /// # Errors
    ///
    /// A table is not valid YAML.
    pub fn check(&self) -> Result<()> {
        self.tables
            .values()
            .try_for_each(|table| yaml::parse::<Value>(table.file, table.text).map(drop))
    }
}

impl Table {
    /// `None` if the built-in file is broken, which a test excludes.
    fn data(&self) -> Option<&Value> {
        self.data
            .get_or_init(|| yaml::parse(self.file, self.text).ok())
            .as_ref()
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
