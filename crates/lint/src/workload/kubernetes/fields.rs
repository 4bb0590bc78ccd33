//! Fields that every API server refuses: values of another type, and misspelled names.
//!
//! Source: the OpenAPI document of Kubernetes (`rules/knowledge/kubernetes-fields.yaml`), the strict decoding that `kubectl` asks for
//! (`--validate=strict`), and what sigs.k8s.io/yaml takes a value without quotes for (`resolve` of go-yaml 2: YAML 1.1).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::workload::facts::RefusedField;
use crate::workload::text::{Manifest, is_final};
use imgcheck_base::document::{Node, Value};
use imgcheck_base::error::Result;
use imgcheck_base::spelling::nearest;
use imgcheck_model::knowledge::{OnFirstUse, table};

/// The most refused fields of an object that are kept.
pub(super) const MOST: usize = 20;
/// The longest value that is shown, and the longest tag.
const LONGEST: usize = 60;
/// Its fields are those of another rule, which knows the names of resources.
const RESOURCES: &str = "ResourceRequirements";

/// `rules/knowledge/kubernetes-fields.yaml`.
#[derive(Debug, Deserialize)]
pub(super) struct Fields {
    /// The types of whole objects, by API group.
    objects: BTreeMap<String, Vec<String>>,
    types: BTreeMap<String, BTreeMap<String, String>>,
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

    /// What the API server refuses of an object; `None` if it does not know the kind itself.
    pub fn refused(&self, object: &Node, manifest: &Manifest) -> Option<Vec<RefusedField>> {
        let kind = self.type_of(object)?;
        Some(self.refused_as(kind, object, "", manifest))
    }

    /// What an API server or a controller refuses of a part of an object that is of this type, at this path of the object.
    pub fn refused_as(
        &self,
        name: &str,
        part: &Node,
        path: &str,
        manifest: &Manifest,
    ) -> Vec<RefusedField> {
        let mut search = Search {
            types: &self.types,
            manifest,
            found: Vec::new(),
        };
        search.check(part, name, path);
        search.found
    }
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Text,
    Number,
    Boolean,
    List,
    Map,
    /// A template or the parser of another version decides.
    Unknown,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Null => "nothing",
            Kind::Text => "text",
            Kind::Number => "a number",
            Kind::Boolean => "a truth value",
            Kind::List => "a list",
            Kind::Map => "a map",
            Kind::Unknown => "unknown",
        }
    }
}

struct Search<'s> {
    types: &'s BTreeMap<String, BTreeMap<String, String>>,
    manifest: &'s Manifest<'s>,
    found: Vec<RefusedField>,
}

impl Search<'_> {
    fn check(&mut self, node: &Node, expected: &str, path: &str) {
        let kind = self.kind_of(node);
        if matches!(kind, Kind::Null | Kind::Unknown) || self.found.len() >= MOST {
            return;
        }
        if let Some(of) = expected.strip_prefix("list ") {
            self.expect(node, kind, &[Kind::List], path);
            for (at, item) in node.items().enumerate() {
                self.check(item, of, &format!("{path}[{at}]"));
            }
            return;
        }
        if let Some(of) = expected.strip_prefix("map ") {
            self.expect(node, kind, &[Kind::Map], path);
            for (key, value) in node.entries() {
                self.check(value, of, &field(path, key.text().unwrap_or_default()));
            }
            return;
        }
        match expected {
            "string" => self.expect(node, kind, &[Kind::Text], path),
            "bool" => self.expect(node, kind, &[Kind::Boolean], path),
            "int" | "number" => self.expect(node, kind, &[Kind::Number], path),
            "int-or-string" => self.expect(node, kind, &[Kind::Number, Kind::Text], path),
            // Resources have a rule of their own.
            "quantity" | "any" => {}
            name => self.object(node, kind, name, path),
        }
    }

    fn object(&mut self, node: &Node, kind: Kind, name: &str, path: &str) {
        self.expect(node, kind, &[Kind::Map], path);
        let Some(fields) = self.types.get(name) else {
            return;
        };
        for (key, value) in node.entries() {
            let Some(written) = key.text() else {
                continue;
            };
            match fields.get(written) {
                Some(expected) => self.check(value, expected, &field(path, written)),
                None if name == RESOURCES => {}
                None => self.unknown(key, written, fields, path),
            }
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
            self.found.push(RefusedField {
                field: field(path, written),
                problem: "unknown-field".to_owned(),
                meant,
                location: self.manifest.location(key),
                ..RefusedField::default()
            });
        }
    }

    fn expect(&mut self, node: &Node, kind: Kind, expected: &[Kind], path: &str) {
        if expected.contains(&kind) {
            return;
        }
        let text = node.text().unwrap_or_default();
        let is_short = |it: &&str| it.len() <= LONGEST && !it.contains('\n');
        self.found.push(RefusedField {
            field: path.to_owned(),
            value: Some(text).filter(is_short).unwrap_or_default().to_owned(),
            problem: "type".to_owned(),
            is: kind.name().to_owned(),
            takes: expected[0].name().to_owned(),
            location: self.manifest.location(node),
            ..RefusedField::default()
        });
    }

    fn kind_of(&self, node: &Node) -> Kind {
        let text = match &node.value {
            Value::Null => return Kind::Null,
            Value::List(_) => return Kind::List,
            Value::Map(_) => return Kind::Map,
            Value::Plain => return Kind::Unknown,
            Value::Text(text) => text,
        };
        let (Some(before), Some(written)) = (
            self.manifest.text().get(..node.span.start),
            self.manifest.text().get(node.span.clone()),
        ) else {
            return Kind::Unknown;
        };
        let written = written.trim();
        if !is_final(text) || is_placeholder(text) || is_tagged(before) {
            return Kind::Unknown;
        }
        match written.chars().next() {
            Some('"' | '\'' | '|' | '>') => Kind::Text,
            _ if is_block_header(before) => Kind::Text,
            _ if written == text => plain(text),
            _ => Kind::Unknown,
        }
    }
}

/// Whether what is written before a value is the first line of a block scalar: `key: |-`.
fn is_block_header(before: &str) -> bool {
    let end = before.trim_end().len();
    // Its text is on the lines that follow.
    if !before[end..].contains('\n') {
        return false;
    }
    let header = before[..end].rsplit('\n').next().unwrap_or_default();
    let header = header.split(" #").next().unwrap_or_default().trim_end();
    let header = header.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
    let start = header.strip_suffix(['|', '>']);
    start.is_some_and(|it| it.is_empty() || it.ends_with(char::is_whitespace))
}

/// Whether what is written before a value ends with a tag, such as `!!str`.
fn is_tagged(before: &str) -> bool {
    let before = before.trim_end();
    let start = before.len().saturating_sub(LONGEST);
    let start = before.ceil_char_boundary(start);
    let word = before[start..].rsplit(char::is_whitespace).next();
    word.is_some_and(|it| it.trim_start_matches(['[', '{', ',']).starts_with('!'))
}

fn field(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

/// What a value without quotes is.
fn plain(text: &str) -> Kind {
    const NULL: [&str; 5] = ["", "~", "null", "Null", "NULL"];
    const BOOLEAN: [&str; 22] = [
        "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", "n", "N", "no",
        "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF",
    ];
    match text {
        it if NULL.contains(&it) => Kind::Null,
        it if BOOLEAN.contains(&it) => Kind::Boolean,
        it if it.starts_with('_') => Kind::Text,
        it if is_number(&it.replace('_', "")) => Kind::Number,
        // Infinity and the like are no JSON.
        it if it
            .trim_start_matches(['+', '-', '.'])
            .eq_ignore_ascii_case("inf") =>
        {
            Kind::Unknown
        }
        it if it.eq_ignore_ascii_case(".nan") => Kind::Unknown,
        _ => Kind::Text,
    }
}

/// Whether a text looks like one that another program replaces: `@PORT@`, `__PORT__`, `PORT`.
fn is_placeholder(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_-.".contains(c);
    let is_word = text.chars().all(is_name) && text.chars().any(|it| it.is_ascii_uppercase());
    (text.starts_with(['@', '_']) || is_word) && plain(text) == Kind::Text
}

/// An integer in any base, or `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let based = [
        ("0x", 16),
        ("0X", 16),
        ("0o", 8),
        ("0O", 8),
        ("0b", 2),
        ("0B", 2),
    ];
    let mut based = based.iter();
    if let Some((prefix, base)) = based.find(|(prefix, _)| digits.starts_with(prefix)) {
        return u64::from_str_radix(&digits[prefix.len()..], *base).is_ok();
    }
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (digits, None),
    };
    let is_digits = |it: &str| it.chars().all(|c| c.is_ascii_digit());
    let is_exponent = |it: &str| {
        let digits = it.strip_prefix(['-', '+']).unwrap_or(it);
        !digits.is_empty() && is_digits(digits)
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || !part.is_empty();
    let is_float = has_digits && is_digits(whole) && is_digits(part);
    // One that is too large is text.
    let is_finite = || text.parse::<f64>().is_ok_and(f64::is_finite);
    is_float && exponent.is_none_or(is_exponent) && is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_quotes_are_those_of_yaml_1_1() {
        for text in [
            "8000", "0755", "0x1F", "1e3", "1.5", ".5", "1.", "-1", "+1", "1_000", "08", "0b11",
        ] {
            assert_eq!(plain(text), Kind::Number, "{text}");
        }
        for text in [
            "_1",
            "95e4031",
            "1.2.3",
            "1:30",
            "1e",
            "0xg",
            "cu128",
            "-",
            ".",
            "2025-01-01",
            "1Gi",
            "tRue",
            "yes please",
        ] {
            assert_eq!(plain(text), Kind::Text, "{text}");
        }
        assert_eq!(plain("on"), Kind::Boolean);
        assert_eq!(plain("~"), Kind::Null);
        assert_eq!(plain("-.inf"), Kind::Unknown);
    }

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
}
