//! Ambiguous names in JSON documents. Go's `encoding/json`, which container engines and registries use, accepts `Layers` for
//! `layers`, and the last of several; so Docker could run different layers than those that were checked.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Names in OCI manifests, indexes and configurations that determine the image.
pub(super) const OCI: &[&str] = &[
    "manifests",
    "config",
    "layers",
    "digest",
    "mediaType",
    "platform",
    "architecture",
    "os",
    "os.version",
    "os.features",
    "variant",
    "annotations",
    "rootfs",
    "diff_ids",
    "history",
    "Env",
    "Entrypoint",
    "Cmd",
    "WorkingDir",
    "Labels",
];

/// Names in the `manifest.json` of a docker archive.
pub(super) const DOCKER_ARCHIVE: &[&str] = &["Config", "RepoTags", "Layers"];

/// Objects with arbitrary names.
const FREE: &[&str] = &["annotations", "ExposedPorts", "Labels", "Volumes"];

/// # Errors
/// Go would take a name in the document for one of these names, but it is spelled differently.
pub(super) fn check(document: &[u8], known: &[&str]) -> serde_json::Result<()> {
    Spelling(known).deserialize(&mut serde_json::Deserializer::from_slice(document))
}

/// Whether Go takes one for the other (`foldName`, which also folds two non-ASCII letters to ASCII).
fn is_same(one: &str, other: &str) -> bool {
    let fold = |letter: char| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    one.chars().map(fold).eq(other.chars().map(fold))
}

#[derive(Clone, Copy)]
struct Spelling<'a>(&'a [&'a str]);

impl<'de> DeserializeSeed<'de> for Spelling<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Spelling<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Cow<str>>()? {
            if let Some(known) = self.0.iter().find(|known| is_same(known, &name))
                && *known != name
            {
                return Err(A::Error::custom(format!(
                    "`{name}` is an ambiguous spelling of `{known}`"
                )));
            }
            match FREE.iter().any(|free| *free == name) {
                true => map.next_value::<IgnoredAny>().map(drop)?,
                false => map.next_value_seed(self)?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_names_are_rejected() {
        for wrong in [
            r#"{"Layers": [], "layers": []}"#,
            r#"{"layer\u017f": []}"#,
            r#"{"config": {"ENV": []}}"#,
            r#"[{"manifests": [{"Digest": ""}]}]"#,
        ] {
            assert!(check(wrong.as_bytes(), OCI).is_err(), "{wrong}");
        }
        for right in [
            r#"{"layers": [], "config": {"Env": ["a"], "Image": null, "n": 1.5, "m": -1, "t": true}}"#,
            r#"{"config": {"Labels": {"OS": "x", "os": "y"}}, "annotations": {"Config": ""}}"#,
            r#"{"Size": 1, "container_config": {}}"#,
        ] {
            assert!(check(right.as_bytes(), OCI).is_ok(), "{right}");
        }
        let docker = br#"[{"Config": "", "RepoTags": [], "Layers": []}]"#;
        assert!(check(docker, DOCKER_ARCHIVE).is_ok());
    }
}
