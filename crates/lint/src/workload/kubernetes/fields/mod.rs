//! Fields that every API server refuses: values of another type, misspelled names, fields that have to be there, and values that it does not
//! take.
//!
//! Source: the OpenAPI document of Kubernetes (`rules/knowledge/kubernetes-fields.yaml`), and the strict decoding that `kubectl` asks for
//! (`--validate=strict`).

mod form;
mod refusal;
mod relations;
mod scalar;
mod schedule;
mod search;
mod values;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::workload::facts::RefusedField;
use crate::workload::text::Manifest;
use imgcheck_base::document::Node;
use imgcheck_base::error::Result;
use imgcheck_model::knowledge::{OnFirstUse, table};
pub(super) use refusal::{MOST, refused_at};
pub(super) use scalar::number;
use search::{Search, Types};
use values::Values;
pub(super) use values::quoted;

/// `rules/knowledge/kubernetes-fields.yaml`.
#[derive(Debug, Deserialize)]
pub(super) struct Fields {
    /// The types of whole objects, by API group.
    objects: BTreeMap<String, Vec<String>>,
    types: Types,
}

impl Fields {
    /// The built-in table, which is read on first use.
    ///
    /// # Errors
    /// The table is broken, which the tests exclude.
    pub fn builtin() -> Result<&'static Self> {
        static FIELDS: OnFirstUse<Fields> = OnFirstUse::new();
        FIELDS.get_or_make(|| table("kubernetes-fields"))
    }

    fn type_of<'o>(&self, object: &'o Node) -> Option<&'o str> {
        let version = object.text_of("apiVersion")?;
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let kind = object.text_of("kind")?;
        let is_listed = |kinds: &Vec<String>| version == "v1" && kinds.iter().any(|it| it == kind);
        self.objects
            .get(group)
            .is_some_and(is_listed)
            .then_some(kind)
    }

    /// What the API server refuses of an object; `None` if it does not know the kind itself. An object that is not `whole` is a patch of another.
    pub fn refused(
        &self,
        object: &Node,
        is_whole: bool,
        manifest: &Manifest,
    ) -> Option<Vec<RefusedField>> {
        let kind = self.type_of(object)?;
        Some(self.refused_as(kind, object, "", is_whole, manifest))
    }

    /// What an API server or a controller refuses of a part of an object that is of this type, at this path of the object.
    pub fn refused_as(
        &self,
        name: &str,
        part: &Node,
        path: &str,
        is_whole: bool,
        manifest: &Manifest,
    ) -> Vec<RefusedField> {
        // A test reads the table.
        let Ok(values) = Values::builtin() else {
            return Vec::new();
        };
        Search::new(&self.types, values, is_whole, manifest).found(part, name, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_the_table_is_there() -> Result<()> {
        let fields = Fields::builtin()?;
        let scalars = [
            "any",
            "bool",
            "int",
            "int-or-string",
            "number",
            "quantity",
            "string",
        ];
        let all = fields.types.values().flat_map(BTreeMap::values);
        for expected in all.chain(fields.objects.values().flatten()) {
            let name = expected.rsplit(' ').next().unwrap_or_default();
            assert!(
                scalars.contains(&name) || fields.types.contains_key(name),
                "{expected}"
            );
        }
        Ok(())
    }

    #[test]
    fn values_are_those_of_fields_that_there_are() -> Result<()> {
        let fields = Fields::builtin()?;
        for name in Values::builtin()?.fields() {
            let (kind, field) = name.split_once('.').unwrap_or_default();
            assert!(fields.types[kind].contains_key(field), "{name}");
        }
        Ok(())
    }
}
