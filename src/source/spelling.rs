//! Names in JSON that not all readers take for the same. Go's `encoding/json`, with which engines and registries read documents,
//! takes `Layers` for `layers`, and of several the last; then an engine may run other layers than those that were checked.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Names of OCI manifests, indexes and configurations that decide what an image is.
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

/// Names of the `manifest.json` of a docker archive.
pub(super) const DOCKER_ARCHIVE: &[&str] = &["Config", "RepoTags", "Layers"];

/// Objects whose names are free.
const FREE: &[&str] = &["annotations", "ExposedPorts", "Labels", "Volumes"];

/// An error if a name in the document is one of the known ones to Go, but is written differently.
pub(super) fn check(document: &[u8], known: &[&str]) -> serde_json::Result<()> {
    Spelling(known).deserialize(&mut serde_json::Deserializer::from_slice(document))
}

/// Whether Go takes one for the other (`foldName`): two letters beyond ASCII are folded to one of ASCII.
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
                    "`{name}` is not how `{known}` is written, and not all readers take it for that"
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
    fn a_name_has_one_spelling() {
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
