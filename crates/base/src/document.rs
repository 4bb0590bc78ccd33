//! A YAML or JSON document with the position of each value.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::error::Result;
use crate::yaml::{self, Spanned};

/// A value and its position in the text, in bytes.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it is.
    pub span: Range<usize>,
    /// What it is.
    pub value: Value,
}

/// What a document holds.
#[derive(Debug, Clone)]
pub enum Value {
    /// Nothing: `null`, `~` or no text.
    Null,
    /// The value of a text, without its quotes.
    Text(String),
    /// A number or truth value. Its text is the one in the file: `12.10` is not 12.1.
    Plain,
    /// A list.
    List(Vec<Node>),
    /// Keys and values in their order.
    Map(Vec<(Node, Node)>),
}

/// Reads all documents of a stream; empty ones are left out.
///
/// # Errors
/// Same as [`yaml::documents`].
pub fn read(name: &str, text: &str) -> Result<Vec<Node>> {
    let documents = yaml::documents::<Node>(name, text)?.into_iter();
    Ok(documents.map(|it| it.with_plain_texts(text)).collect())
}

/// Same as [`read`], as `kubectl` and Helm read manifests (sigs.k8s.io/yaml): of a key that a map has several times, the last counts.
///
/// # Errors
/// Same as [`yaml::documents`].
pub fn read_manifest(name: &str, text: &str) -> Result<Vec<Node>> {
    let documents = yaml::documents_with_repeated_keys::<Node>(name, text)?.into_iter();
    let documents = documents.map(|it| it.with_plain_texts(text));
    Ok(documents.map(Node::with_last_keys).collect())
}

/// Reads a text that may hold documents, without more values than it has bytes: aliases cannot make it larger.
///
/// # Errors
/// Same as [`yaml::documents`].
pub fn read_embedded(text: &str) -> Result<Vec<Node>> {
    let documents = yaml::documents_within::<Node>("", text, text.len())?.into_iter();
    Ok(documents.map(|it| it.with_plain_texts(text)).collect())
}

impl Node {
    /// A JSON value, without positions.
    pub fn of_json(json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let text = |text: &str| Value::Text(text.to_owned());
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(value) => text(&value.to_string()),
            Json::Number(number) => text(&number.to_string()),
            Json::String(value) => text(value),
            Json::Array(items) => Value::List(items.iter().map(Node::of_json).collect()),
            Json::Object(map) => {
                let key = |key: &str| Node {
                    span: 0..0,
                    value: text(key),
                };
                let entries = map.iter().map(|(name, it)| (key(name), Node::of_json(it)));
                Value::Map(entries.collect())
            }
        };
        Node { span: 0..0, value }
    }

    /// Gives numbers and truth values the text that they have in the file.
    fn with_plain_texts(mut self, text: &str) -> Self {
        self.value = match self.value {
            Value::Plain => {
                let written = text.get(self.span.clone()).unwrap_or_default();
                Value::Text(written.trim().to_owned())
            }
            Value::List(items) => {
                let items = items.into_iter().map(|it| it.with_plain_texts(text));
                Value::List(items.collect())
            }
            Value::Map(entries) => {
                let both = |(key, value): (Node, Node)| {
                    (key.with_plain_texts(text), value.with_plain_texts(text))
                };
                Value::Map(entries.into_iter().map(both).collect())
            }
            other => other,
        };
        self
    }

    /// Keeps the last of equal keys.
    fn with_last_keys(mut self) -> Self {
        self.value = match self.value {
            Value::List(items) => {
                Value::List(items.into_iter().map(Node::with_last_keys).collect())
            }
            Value::Map(entries) => {
                let mut known = BTreeSet::new();
                let is_last = |(key, _): &(Node, Node)| {
                    let text = key.text();
                    text.is_none_or(|it| known.insert(it.to_owned()))
                };
                let mut last: Vec<_> = entries.into_iter().rev().filter(is_last).collect();
                last.reverse();
                let both = |(key, value): (Node, Node)| (key, value.with_last_keys());
                Value::Map(last.into_iter().map(both).collect())
            }
            other => other,
        };
        self
    }

    /// The first key that is not text, such as that of `{{ template }}`.
    pub fn key_without_text(&self) -> Option<&Node> {
        let mut keys = self.entries().map(|(key, _)| key);
        let odd = keys.find(|key| key.text().is_none());
        let mut values = self.entries().map(|(_, value)| value).chain(self.items());
        odd.or_else(|| values.find_map(Node::key_without_text))
    }

    /// The value of a key; `None` also for null.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let mut entries = self.entries();
        let (_, value) = entries.find(|(name, _)| name.text() == Some(key))?;
        (!matches!(value.value, Value::Null)).then_some(value)
    }

    /// The value at keys that lead to it: `["spec", "template"]`.
    pub fn at<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Option<&Node> {
        keys.into_iter().try_fold(self, |node, key| node.get(key))
    }

    /// Same as [`at`](Self::at), to change it.
    pub fn at_mut(&mut self, keys: &[&str]) -> Option<&mut Node> {
        let Some((first, rest)) = keys.split_first() else {
            return Some(self);
        };
        let Value::Map(entries) = &mut self.value else {
            return None;
        };
        let mut entries = entries.iter_mut();
        let (_, value) = entries.find(|(key, _)| key.text() == Some(first))?;
        value.at_mut(rest)
    }

    /// Sets the value of a key, if this is a map.
    pub fn set(&mut self, key: &str, value: Node) {
        if let Value::Map(entries) = &mut self.value {
            entries.retain(|(name, _)| name.text() != Some(key));
            let name = Node {
                span: value.span.clone(),
                value: Value::Text(key.to_owned()),
            };
            entries.push((name, value));
        }
    }

    /// Takes the value of a key away.
    pub fn clear(&mut self, key: &str) {
        if let Some(value) = self.at_mut(&[key]) {
            value.value = Value::Null;
        }
    }

    /// Gives it, and what is in it, the position of something else.
    pub fn place_at(&mut self, span: &Range<usize>) {
        self.span = span.clone();
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|it| it.place_at(span)),
            Value::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
                key.place_at(span);
                value.place_at(span);
            }),
            _ => {}
        }
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a key.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> impl Iterator<Item = &Node> {
        match &self.value {
            Value::List(items) => items.as_slice(),
            _ => &[],
        }
        .iter()
    }

    /// Same as [`items`](Self::items), to change them.
    pub fn items_mut(&mut self) -> &mut [Node] {
        match &mut self.value {
            Value::List(items) => items,
            _ => &mut [],
        }
    }

    /// The items of the list at a path, to change them.
    pub fn items_at_mut(&mut self, path: &[&str]) -> &mut [Node] {
        self.at_mut(path).map_or(&mut [], Node::items_mut)
    }

    /// The items of the list of a key.
    pub fn items_of(&self, key: &str) -> impl Iterator<Item = &Node> {
        self.get(key).into_iter().flat_map(Node::items)
    }

    /// Keys and values of a map; none of anything else.
    pub fn entries(&self) -> impl Iterator<Item = &(Node, Node)> {
        match &self.value {
            Value::Map(entries) => entries.as_slice(),
            _ => &[],
        }
        .iter()
    }

    /// The texts of a map of texts.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries()
            .filter_map(|(key, value)| Some((key.text()?, value.text()?)))
    }

    /// Same as [`pairs`](Self::pairs), in a map.
    pub fn text_map(&self) -> BTreeMap<String, String> {
        let pairs = self.pairs();
        pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    /// The texts of a list of texts; one text alone is a list of one.
    pub fn texts(&self) -> Vec<String> {
        match &self.value {
            Value::Text(text) => vec![text.clone()],
            _ => self
                .items()
                .filter_map(|it| it.text().map(str::to_owned))
                .collect(),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Node {
            span: yaml::defined(&spanned),
            value: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Value, E> {
        Ok(Value::Plain)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Value, E> {
        Ok(Value::Plain)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Value, E> {
        Ok(Value::Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Plain)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}
