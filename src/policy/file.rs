//! The keys of a configuration file. What their values mean is checked in [`super::config`].

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, json};

use super::expectation::subjects;
use crate::limits::{self, Limits};
use crate::yaml::Spanned;

/// The configuration of imgcheck: `.imgcheck.yaml`.
#[derive(Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[schemars(title = "imgcheck configuration")]
pub(super) struct File {
    /// The least severity that makes the exit code 1.
    #[schemars(with = "Option<FailOn>")]
    pub fail_on: Option<Spanned<String>>,
    /// Rule files, or directories of them, relative to this file.
    #[schemars(with = "Vec<String>")]
    pub rules: Vec<Spanned<String>>,
    /// Other severities for some rules, by id or pattern (`claim-*`).
    #[schemars(with = "std::collections::BTreeMap<String, SeverityName>")]
    pub severities: Pairs<Spanned<String>>,
    /// The machines that the images must run on.
    pub targets: Vec<TargetEntry>,
    /// What each image must hold: a name of the stack and PEP 440 specifiers.
    #[schemars(with = "Vec<String>", example = ["torch==2.8.*", "cudnn>=9.7"])]
    pub expect: Vec<Spanned<String>>,
    /// Allowed combinations, of which each image must be one: a `name`, and versions or specifiers by names of the stack; a
    /// version alone means `==`, `none` that there must be no such part.
    #[schemars(with = "Vec<StackRow>")]
    pub stacks: Vec<Pairs<Spanned<String>>>,
    /// Names of the stack whose versions must agree over all images of one call.
    #[schemars(with = "Vec<StackName>")]
    pub consistent: Vec<Spanned<String>>,
    /// Findings that do not count, each with a reason.
    pub ignore: Vec<IgnoreEntry>,
    /// What an image may ask for, by the names of the limits: `entries: 5000000`, `layer-bytes: 500GiB`, `time: 4h`.
    #[schemars(with = "LimitValues")]
    pub limits: Pairs<Spanned<String>>,
    /// A report in JSON, or a file of `--write-baseline`, relative to this file: what it has is known, and does not fail.
    #[schemars(with = "Option<String>")]
    pub baseline: Option<Spanned<String>>,
}

/// A machine, or a group of equal ones.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetEntry {
    /// What the team calls it.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Its GPUs, by name or architecture: `a100`, `sm_90`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub gpus: Vec<Spanned<String>>,
    /// The version of its driver: `535.183.06`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub driver: Option<Spanned<String>>,
}

/// Some findings that do not count.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IgnoreEntry {
    /// Id of a rule, or a pattern of ids: `load-*`.
    #[schemars(with = "String")]
    pub rule: Spanned<String>,
    /// Pattern of the image's reference: `registry.example/team/*`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub image: Option<Spanned<String>>,
    /// Pattern of the file that the finding is about: `/opt/legacy/*`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub path: Option<Spanned<String>>,
    /// Why these findings do not count; for the people who read it later.
    // Optional only here, so that its absence is explained.
    #[schemars(with = "String")]
    pub reason: Option<Spanned<String>>,
    /// The last day that it holds, as in `2027-03-01`.
    #[serde(default)]
    #[schemars(with = "Option<String>", regex(pattern = r"^\d{4}-\d{2}-\d{2}$"))]
    pub expires: Option<Spanned<String>>,
}

/// What `fail-on` may be; for the schema.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)]
enum FailOn {
    Error,
    Warning,
    Note,
    Never,
}

/// What a severity may be; for the schema.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)]
enum SeverityName {
    Error,
    Warning,
    Note,
    Off,
}

/// A name of the stack; for the schema.
struct StackName;

impl JsonSchema for StackName {
    fn schema_name() -> Cow<'static, str> {
        "StackName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = subjects().collect();
        json_schema!({"type": "string", "enum": names})
    }
}

/// Limits with their values; for the schema.
struct LimitValues;

impl JsonSchema for LimitValues {
    fn schema_name() -> Cow<'static, str> {
        "Limits".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let usual = Limits::default();
        let properties = limits::ALL.iter().map(|limit| {
            let usual = limit.format(usual.of(*limit));
            let value = json!({
                "type": ["integer", "string"],
                "minimum": 1,
                "pattern": limit.unit().pattern(),
                "description": format!("At most so much: {}. {usual} by default.", limit.about()),
            });
            (limit.name().to_owned(), value)
        });
        let properties: Map<_, _> = properties.collect();
        json_schema!({"type": "object", "properties": properties, "additionalProperties": false})
    }
}

/// An allowed combination; for the schema.
struct StackRow;

impl JsonSchema for StackRow {
    fn schema_name() -> Cow<'static, str> {
        "AllowedStack".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut properties = Map::new();
        let name = json!({"type": "string", "description": "What the team calls it."});
        properties.insert("name".to_owned(), name);
        for subject in subjects() {
            let about = format!("The version of {subject}, specifiers, or none.");
            let version = json!({"type": "string", "description": about});
            properties.insert(subject.to_owned(), version);
        }
        json_schema!({"type": "object", "properties": properties, "additionalProperties": false})
    }
}

/// A map in the order of the file.
#[derive(Debug)]
pub(super) struct Pairs<T>(pub Vec<(Spanned<String>, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Pairs(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Pairs<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(InOrder(PhantomData))
    }
}
