//! Objects of JSON. What serde derives for a type with fields also accepts an array of their values, which no schema allows.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What only an object is read as.
#[derive(Debug, Clone, Default)]
pub struct Object<T>(pub T);

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = ObjectVisitor(PhantomData);
        deserializer.deserialize_map(visitor).map(Object)
    }
}

/// Reads the body of a request.
///
/// # Errors
/// It is not JSON, or not an object of this type. One sentence names the field and what describes it.
pub fn from_body<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize::<_, Object<T>>(&mut json);
    let Object(value) = read.map_err(|error| {
        let field = match error.path().to_string() {
            path if path == "." => "the body".to_owned(),
            path => format!("`{path}`"),
        };
        format!("{field}: {}", error.inner())
    })?;
    json.end().map_err(|error| format!("the body: {error}"))?;
    Ok(value)
}

/// For `#[serde(deserialize_with = …)]`.
///
/// # Errors
/// It is not an object, or not one of this type.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|object| object.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Point {
        x: u8,
    }

    #[test]
    fn an_array_is_not_an_object() {
        assert_eq!(serde_json::from_str::<Point>("[1]").unwrap().x, 1);
        assert_eq!(
            serde_json::from_str::<Object<Point>>(r#"{"x": 1}"#)
                .unwrap()
                .0
                .x,
            1
        );
        let error = serde_json::from_str::<Object<Point>>("[1]").unwrap_err();
        assert!(error.to_string().contains("expected an object"), "{error}");
        let error = serde_json::from_str::<Object<Point>>("{}").unwrap_err();
        assert!(error.to_string().contains("missing field `x`"), "{error}");
    }

    #[test]
    fn a_wrong_field_is_named() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Line {
            points: Vec<Object<Point>>,
        }
        let read = |body: &str| from_body::<Line>(body.as_bytes()).map(|it| it.points.len());
        assert_eq!(read(r#"{"points": [{"x": 1}]} "#), Ok(1));
        for (body, expected) in [
            ("", "the body: EOF"),
            ("[]", "the body: invalid type: sequence, expected an object"),
            ("{}", "the body: missing field `points`"),
            (r#"{"points": []} x"#, "the body: trailing characters"),
            (r#"{"points": 7}"#, "`points`: invalid type: integer `7`"),
            (r#"{"points": [{"x": 1}, {"x": "y"}]}"#, "`points[1].x`: "),
            (r#"{"point": []}"#, "`point`: unknown field"),
        ] {
            let error = read(body).unwrap_err();
            assert!(error.starts_with(expected), "{body}: {error}");
        }
    }
}
