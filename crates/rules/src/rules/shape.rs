//! The shape of values: which names and fields an expression may use, derived from the JSON Schema of the Rust types.
//!
//! A name or field that no report could ever have is an error when a rule is loaded, so that a typing mistake never silences a
//! rule.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use imgcheck_tables::vocabulary;

/// The static type of a value, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// The element of an empty list.
    Never,
    /// Anything.
    Any,
    /// Null.
    Null,
    /// True or false.
    Bool,
    /// A number.
    Number,
    /// Text.
    Text,
    /// A list of one shape.
    List(Box<Shape>),
    /// A map with keys that an image chooses, such as its environment.
    Map(Box<Shape>),
    /// A map whose keys are among the fixed ones.
    Keys(&'static [&'static str], Box<Shape>),
    /// Fields by name.
    Record(BTreeMap<String, Shape>),
}

/// The fields that are maps with keys of a fixed vocabulary, by their name in the facts.
const VOCABULARIES: &[(&str, &[&str])] = &[
    ("stack", vocabulary::COMPONENTS),
    ("versions", vocabulary::VERSIONS),
    ("details", vocabulary::DETAILS),
    ("readings", vocabulary::DETAILS),
    ("libraries", vocabulary::LIBRARIES),
];

/// Texts of a sample that must have a certain form, by field name.
const EXAMPLES: &[(&str, &str)] = &[
    ("severity", "error"),
    ("specifier", "==1.2.*"),
    ("specifiers", "==1.2.*"),
];

/// The text of a sample: a version, since most functions take versions.
const EXAMPLE: &str = "1.2.3";

/// The JSON Schema of a type as it is written, without references.
pub fn json_schema_of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

impl Shape {
    /// The shape of a type's values.
    pub fn of_type<T: JsonSchema>() -> Self {
        Shape::of_field("", &json_schema_of::<T>())
    }

    /// The shape that a JSON Schema without references describes; `name` is the field that has it.
    pub fn of_field(name: &str, schema: &Value) -> Self {
        let alternatives = ["anyOf", "oneOf"]
            .into_iter()
            .find_map(|key| schema[key].as_array());
        if let Some(alternatives) = alternatives {
            let shapes = alternatives.iter().map(|it| Shape::of_field(name, it));
            return shapes.fold(Shape::Never, Shape::join);
        }
        let types = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            kind => Vec::from_iter(kind.as_str()),
        };
        match types.into_iter().find(|kind| *kind != "null") {
            Some("string") => Shape::Text,
            Some("boolean") => Shape::Bool,
            Some("integer" | "number") => Shape::Number,
            Some("array") => Shape::list(Shape::of_field(name, &schema["items"])),
            Some("object") => Shape::of_object(name, schema),
            Some(_) => Shape::Any,
            None if schema["type"].is_null() && schema["const"].is_string() => Shape::Text,
            None if schema["type"].is_null() => Shape::Any,
            None => Shape::Null,
        }
    }

    fn of_object(name: &str, schema: &Value) -> Self {
        if let Some(fields) = schema["properties"].as_object() {
            let field =
                |(name, schema): (&String, &Value)| (name.clone(), Shape::of_field(name, schema));
            return Shape::Record(fields.iter().map(field).collect());
        }
        let value = Box::new(Shape::of_field("", &schema["additionalProperties"]));
        match VOCABULARIES.iter().find(|(field, _)| *field == name) {
            Some((_, keys)) => Shape::Keys(keys, value),
            None => Shape::Map(value),
        }
    }

    /// A value of this shape that has everything; `name` is the field that holds it.
    pub fn sample(&self, name: &str) -> Value {
        let entries = |keys: &[&str], value: &Shape| {
            let entry = |key: &&str| ((*key).to_owned(), value.sample(""));
            Value::Object(keys.iter().map(entry).collect())
        };
        match self {
            Shape::Never | Shape::Any | Shape::Null => Value::Null,
            Shape::Bool => json!(false),
            Shape::Number => json!(1),
            Shape::Text => {
                let example = EXAMPLES.iter().find(|(field, _)| *field == name);
                json!(example.map_or(EXAMPLE, |(_, example)| example))
            }
            Shape::List(element) => json!([element.sample(name)]),
            Shape::Map(value) => entries(&["NAME"], value),
            Shape::Keys(keys, value) => entries(keys, value),
            Shape::Record(fields) => {
                let field = |(name, shape): (&String, &Shape)| (name.clone(), shape.sample(name));
                Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
            }
        }
    }

    /// A list of one shape.
    pub fn list(element: Shape) -> Self {
        Shape::List(Box::new(element))
    }

    /// The shape of a data value: the rows of a knowledge table.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Shape::Null,
            Value::Bool(_) => Shape::Bool,
            Value::Number(_) => Shape::Number,
            Value::String(_) => Shape::Text,
            Value::Array(items) => {
                Shape::list(items.iter().map(Shape::of).fold(Shape::Never, Shape::join))
            }
            Value::Object(fields) => Shape::Record(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), Shape::of(value)))
                    .collect(),
            ),
        }
    }

    /// The shape of a value that has either shape; a record has the fields of both, for any of them may be missing.
    pub fn join(self, other: Shape) -> Shape {
        match (self, other) {
            (Shape::Never, shape) | (shape, Shape::Never) => shape,
            (Shape::Null, shape) | (shape, Shape::Null) => shape,
            (Shape::List(a), Shape::List(b)) => Shape::list(a.join(*b)),
            (Shape::Map(a), Shape::Map(b)) => Shape::Map(Box::new(a.join(*b))),
            (Shape::Record(mut a), Shape::Record(b)) => {
                for (name, shape) in b {
                    let joined = match a.remove(&name) {
                        Some(first) => first.join(shape),
                        None => shape,
                    };
                    a.insert(name, joined);
                }
                Shape::Record(a)
            }
            (a, b) if a == b => a,
            _ => Shape::Any,
        }
    }

    /// Whether a value has this shape; any of its fields may be missing.
    ///
    /// # Errors
    ///
    /// The message says what is wrong and where in the value.
    pub fn check(&self, place: &str, value: &Value) -> Result<(), String> {
        match (self, value) {
            (Shape::List(element), Value::Array(items)) => {
                let mut items = items.iter().enumerate();
                items
                    .try_for_each(|(index, item)| element.check(&format!("{place}[{index}]"), item))
            }
            (Shape::Record(_) | Shape::Keys(..) | Shape::Map(_), Value::Object(fields)) => {
                fields.iter().try_for_each(|(name, value)| {
                    let inner = format!("{place}.{name}");
                    match self.field(name) {
                        Some(shape) => shape.check(&inner, value),
                        None => Err(format!("there is no fact `{inner}`")),
                    }
                })
            }
            _ if Shape::of(value).fits(self) || *self == Shape::Any => Ok(()),
            _ => Err(format!(
                "`{place}` must be {}, it is {}",
                self.name(),
                Shape::of(value).name()
            )),
        }
    }

    /// The shape of a field or key that a value of this shape may have.
    pub fn field(&self, name: &str) -> Option<&Shape> {
        match self {
            Shape::Record(fields) => fields.get(name),
            Shape::Keys(keys, value) => keys.contains(&name).then_some(&**value),
            Shape::Map(value) => Some(value),
            _ => None,
        }
    }

    /// What a message calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Shape::Never | Shape::Any => "a value",
            Shape::Null => "null",
            Shape::Bool => "true or false",
            Shape::Number => "a number",
            Shape::Text => "a text",
            Shape::List(_) => "a list",
            Shape::Map(_) | Shape::Keys(..) | Shape::Record(_) => "a map",
        }
    }

    /// Whether a value of this shape may be used where the other is expected.
    pub fn fits(&self, expected: &Shape) -> bool {
        matches!(self, Shape::Never | Shape::Any) || self.name() == expected.name()
    }
}
