//! The YAML of a rule file. The book explains each key under "Writing rules".

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema};
use serde::de::{self, SeqAccess, Visitor, value};
use serde::{Deserialize, Deserializer};

use super::case::RuleTest;
use imgcheck_base::error::Result;
use imgcheck_base::json_schema;
use imgcheck_base::yaml::{self, Pairs, Spanned};

/// Keys of earlier versions, and what to write now.
const RENAMED: &[(&str, &str)] = &[
    ("once", "this key is now called `deduplicate_by`"),
    ("explains", "this key is now called `cause_of`"),
    (
        "yields",
        "write `suppresses` with the id of this rule into the rules that this one listed",
    ),
];

/// A rule of imgcheck: what is wrong with an image, and what to do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "imgcheck rule")]
pub struct File {
    /// The name: lower-case words with dashes.
    #[schemars(with = "String", regex(pattern = "^[a-z0-9-]+$"))]
    pub id: Spanned<String>,
    /// The versions of imgcheck that may read this file, as cargo writes them: `>=0.2, <1`. Others refuse it.
    #[serde(rename = "required-version", default)]
    pub required_version: Option<String>,
    /// What is wrong, in one line.
    pub title: String,
    /// `error`, `warning`, `note`, or an expression that gives one of them.
    #[schemars(with = "String")]
    pub severity: Spanned<String>,
    /// `high`, `medium`, `low`, or an expression that gives one of them; `high` if absent.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub confidence: Option<Spanned<String>>,
    /// The first version of imgcheck that has the rule.
    pub since: String,
    /// Names for expressions. Each may use the names before it, and every other expression may use them.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub r#let: Pairs,
    /// Expression: a list; the rule is evaluated for each element, which is `it`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub each: Option<Spanned<String>>,
    /// Expression: whether the rule applies.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub when: Option<Spanned<String>>,
    /// Expression: whether something is wrong.
    #[schemars(with = "String")]
    pub fail: Spanned<String>,
    /// Expression: a text; of all elements with the same text only the first gives a finding.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub deduplicate_by: Option<Spanned<String>>,
    /// Expression: a list of the facts, beside `it`, that have the same cause as the finding.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub cause_of: Option<Spanned<String>>,
    /// Ids or patterns of the rules that report nothing about `it` and the facts of `cause_of`.
    #[serde(default)]
    pub suppresses: Vec<String>,
    /// Expression: the path of the file that is at fault.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub at: Option<Spanned<String>>,
    /// What is wrong, in one sentence; braces hold expressions.
    #[schemars(with = "Texts")]
    pub message: Spanned<Texts>,
    /// What to do; braces hold expressions.
    #[serde(default)]
    #[schemars(with = "Option<Texts>")]
    pub help: Option<Spanned<Texts>>,
    /// Markdown: what goes wrong at run time, how it looks, how to confirm it.
    pub why: String,
    /// Public threads where people met it.
    #[serde(default)]
    pub references: Vec<String>,
    /// Tests; a rule without tests does not pass `imgcheck rules test`.
    #[serde(default)]
    pub tests: Vec<RuleTest>,
}

/// The JSON Schema of a rule file.
pub fn schema() -> Schema {
    json_schema::of_input::<File>("rule.json")
}

impl File {
    /// Reads a rule file; `name` is the file as the user gave it.
    ///
    /// # Errors
    ///
    /// The file is not YAML, or a key is missing or unknown.
    pub fn read(name: &str, text: &str) -> Result<Self> {
        yaml::parse_with_renamed_keys(name, text, RENAMED)
    }
}

/// One text, or several with conditions.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum Texts {
    /// The only text.
    One(String),
    /// The first whose condition holds counts.
    Several(Vec<ConditionalText>),
}

/// A text and when it applies.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConditionalText {
    /// Expression: whether the text applies. The last text has none.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub when: Option<Spanned<String>>,
    /// The text; braces hold expressions.
    #[schemars(with = "String")]
    pub text: Spanned<String>,
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct TextOrList;
        impl<'de> Visitor<'de> for TextOrList {
            type Value = Texts;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text, or a list of `{when, text}`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Self::Value, E> {
                Ok(Texts::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                items: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                Vec::deserialize(value::SeqAccessDeserializer::new(items)).map(Texts::Several)
            }
        }
        deserializer.deserialize_any(TextOrList)
    }
}
