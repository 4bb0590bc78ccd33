//! What a finding takes from the element of `each` that it is about.

use cel::Value;
use cel::objects::Key;

use crate::claims::Claim;
use crate::finding::Location;

/// When the faults that a finding accounts for stop the program; the first comes first in reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consequence {
    /// The program does not start, or an import fails.
    AtOnce,
    /// A first use fails.
    AtFirstUse,
    /// The loader reports no fault.
    Other,
}

/// The first consequence of some facts. Only faults of the loader model have an `outcome`; one that the program survives counts as
/// a first use.
pub fn consequence(facts: &[Value]) -> Consequence {
    let of = |fact: &Value| {
        let Value::Map(fields) = fact else {
            return Consequence::Other;
        };
        let field = |name: &str| fields.map.get(&Key::from(name));
        let is_first = |value: &Value| matches!(value, Value::String(when) if matches!(when.as_str(), "start" | "import"));
        match (field("outcome"), field("optional"), field("when")) {
            (None, ..) => Consequence::Other,
            (_, Some(Value::Bool(false)), Some(when)) if is_first(when) => Consequence::AtOnce,
            _ => Consequence::AtFirstUse,
        }
    };
    facts.iter().map(of).min().unwrap_or(Consequence::Other)
}

/// What an element is about: the element itself if it is text, else its `subject`, `name` or `claim`.
pub fn subject(item: &Value) -> Option<String> {
    match item {
        Value::String(text) => Some(text.to_string()),
        Value::Map(map) => ["subject", "name", "claim"]
            .into_iter()
            .find_map(|key| subject(map.map.get(&Key::from(key))?)),
        _ => None,
    }
}

/// The claim that an element is, or its `claim`, or the first of its `claims`.
pub fn claim(item: &Value) -> Option<Claim> {
    let Value::Map(fields) = item else {
        return None;
    };
    if let Some(inner) = fields.map.get(&Key::from("claim")) {
        return claim(inner);
    }
    if let Some(Value::List(several)) = fields.map.get(&Key::from("claims")) {
        return claim(several.first()?);
    }
    let text = |name: &str| match fields.map.get(&Key::from(name))? {
        Value::String(text) => Some(text.to_string()),
        _ => None,
    };
    Some(Claim {
        subject: text("subject")?,
        version: text("version")?,
        origin: text("origin")?,
        text: text("text")?,
    })
}

/// The place in a file that an element is, or its `location`.
pub fn location(item: &Value) -> Option<Location> {
    let field = |value: &Value, name: &str| match value {
        Value::Map(fields) => fields.map.get(&Key::from(name)).cloned(),
        _ => None,
    };
    let place = field(item, "location").unwrap_or_else(|| item.clone());
    let text = |name: &str| match field(&place, name)? {
        Value::String(text) => Some(text.to_string()),
        _ => None,
    };
    let number = |name: &str| match field(&place, name)? {
        Value::Int(number) => usize::try_from(number).ok(),
        Value::UInt(number) => usize::try_from(number).ok(),
        _ => None,
    };
    let location = Location {
        file: text("file")?,
        line: number("line")?,
        column: number("column")?,
        end_column: number("end_column")?,
        text: text("text")?,
    };
    // The facts of a test may have none.
    (location.line > 0).then_some(location)
}
