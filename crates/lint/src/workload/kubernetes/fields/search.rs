//! Walks through a value by its type.

use std::collections::BTreeMap;

use super::refusal::{MOST, Refusal, refused_at};
use super::relations;
use super::scalar::{Kind, kind_of};
use super::values::Values;
use crate::workload::facts::RefusedField;
use crate::workload::text::Manifest;
use imgcheck_base::document::Node;
use imgcheck_base::spelling::nearest;

/// The fields of each type with the words for their types, such as `required list string`.
pub(super) type Types = BTreeMap<String, BTreeMap<String, String>>;

/// Its fields are those of another rule, which knows the names of resources.
const RESOURCES: &str = "ResourceRequirements";
const CONTAINER: &str = "Container";
/// What the API server says of a field that has to be there.
const REQUIRED: &str = "Required value";

/// A search of what is refused.
pub(super) struct Search<'s> {
    types: &'s Types,
    values: &'s Values,
    is_whole: bool,
    manifest: &'s Manifest<'s>,
    /// The name of the container that the search is in; else empty.
    container: &'s str,
    found: Vec<RefusedField>,
}

impl<'s> Search<'s> {
    /// A search in objects that are whole, or in patches.
    pub fn new(
        types: &'s Types,
        values: &'s Values,
        is_whole: bool,
        manifest: &'s Manifest,
    ) -> Self {
        Search {
            types,
            values,
            is_whole,
            manifest,
            container: "",
            found: Vec::new(),
        }
    }

    /// What is refused of a value of this type at this path.
    pub fn found(mut self, node: &'s Node, expected: &str, path: &str) -> Vec<RefusedField> {
        self.check(node, expected, path);
        self.found
    }

    /// Checks a value, and returns what it is.
    fn check(&mut self, node: &'s Node, expected: &str, path: &str) -> Kind {
        let expected = expected.strip_prefix("required ").unwrap_or(expected);
        let kind = kind_of(node, self.manifest);
        if matches!(kind, Kind::Null | Kind::Unknown) || self.found.len() >= MOST {
            return kind;
        }
        if let Some(of) = expected.strip_prefix("list ") {
            self.expect(node, kind, &[Kind::List], path);
            for (at, item) in node.items().enumerate() {
                self.check(item, of, &format!("{path}[{at}]"));
            }
            return kind;
        }
        if let Some(of) = expected.strip_prefix("map ") {
            self.expect(node, kind, &[Kind::Map], path);
            for (key, value) in node.entries() {
                self.check(value, of, &field(path, key.text().unwrap_or_default()));
            }
            return kind;
        }
        match expected {
            "string" => self.expect(node, kind, &[Kind::Text], path),
            "bool" => self.expect(node, kind, &[Kind::Boolean], path),
            "int" | "number" => self.expect(node, kind, &[Kind::Number], path),
            "int-or-string" => self.expect(node, kind, &[Kind::Number, Kind::Text], path),
            // Resources have a rule of their own.
            "quantity" | "any" => {}
            CONTAINER | "EphemeralContainer" => {
                let outer = std::mem::replace(
                    &mut self.container,
                    node.text_of("name").unwrap_or_default(),
                );
                self.object(node, kind, expected, path);
                self.container = outer;
            }
            name => self.object(node, kind, name, path),
        }
        kind
    }

    fn object(&mut self, node: &'s Node, kind: Kind, name: &str, path: &str) {
        self.expect(node, kind, &[Kind::Map], path);
        let Some(fields) = self.types.get(name).filter(|_| kind == Kind::Map) else {
            return;
        };
        for (key, value) in node.entries() {
            let Some(written) = key.text() else {
                continue;
            };
            match fields.get(written) {
                Some(expected) => {
                    let path = field(path, written);
                    let kind = self.check(value, expected, &path);
                    let of_field = format!("{name}.{written}");
                    let refused = self.values.refused(&of_field, value, kind);
                    self.refuse(&path, refused);
                }
                None if name == RESOURCES => {}
                None => self.unknown(key, written, fields, path),
            }
        }
        if self.is_whole {
            let is_missing = |(field, expected): &(&String, &String)| {
                expected.starts_with("required ") && node.get(field).is_none()
            };
            let missing = fields.iter().filter(is_missing);
            let required =
                missing.map(|(field, _)| (format!(".{field}"), node, REQUIRED.to_owned()));
            self.refuse(path, required.collect());
            self.refuse(path, relations::refused(name, node));
        }
    }

    fn refuse(&mut self, path: &str, refused: Vec<Refusal>) {
        for (below, node, says) in refused {
            let field = format!("{path}{below}");
            self.add(field.trim_start_matches('.').to_owned(), node, |it| {
                it.problem = "invalid".to_owned();
                it.says = says;
            });
        }
    }

    /// A field that the type does not have: one of a map in it, or a misspelled one. Another may be of a later release.
    fn unknown(
        &mut self,
        key: &Node,
        written: &str,
        fields: &BTreeMap<String, String>,
        path: &str,
    ) {
        let has = |kind: &String| {
            let name = kind.rsplit(' ').next().unwrap_or_default();
            let fields = self.types.get(name);
            fields.is_some_and(|it| it.contains_key(written))
        };
        let below = fields.iter().find(|(_, kind)| has(kind));
        let meant = below.map(|(name, _)| format!("{name}.{written}"));
        let known = fields.keys().map(String::as_str);
        let meant = meant.or_else(|| nearest(written, known).map(str::to_owned));
        if let Some(meant) = meant {
            self.add(field(path, written), key, |it| {
                it.problem = "unknown-field".to_owned();
                it.value = String::new();
                it.meant = meant;
            });
        }
    }

    fn expect(&mut self, node: &Node, kind: Kind, expected: &[Kind], path: &str) {
        if expected.contains(&kind) {
            return;
        }
        self.add(path.to_owned(), node, |it| {
            it.problem = "type".to_owned();
            it.is = kind.name().to_owned();
            it.takes = expected[0].name().to_owned();
        });
    }

    fn add(&mut self, field: String, node: &Node, complete: impl FnOnce(&mut RefusedField)) {
        if self.found.len() >= MOST {
            return;
        }
        let mut refused = RefusedField {
            container: self.container.to_owned(),
            ..refused_at(field, node, self.manifest)
        };
        complete(&mut refused);
        self.found.push(refused);
    }
}

fn field(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}
