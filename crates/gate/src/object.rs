//! Objects of JSON. What serde derives for a type with fields also accepts an array of their values, which no schema allows.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// What only an object is read as.
#[derive(Debug, Clone, Default)]
pub struct Object<T>(pub T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        let value = serde_json::from_value(Value::Object(map));
        value.map(Object).map_err(D::Error::custom)
    }
}

/// For `#[serde(deserialize_with = …)]`.
///
/// # Errors
/// It is not an object, or not one of this type.
pub fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(
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
        assert!(error.to_string().contains("expected a map"), "{error}");
        let error = serde_json::from_str::<Object<Point>>("{}").unwrap_err();
        assert!(error.to_string().contains("missing field `x`"), "{error}");
    }
}
