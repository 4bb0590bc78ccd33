//! The policy as rules see it. What is absent makes a rule that asks for it not applicable: the facts of an image have no
//! `ignores`, those of a whole call have nothing else.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ignore, Policy, Requirement};

/// What the team asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyFacts {
    /// What the image must hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Vec<ExpectationFacts>>,
    /// The combinations of which the image must be one; empty if any will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks: Option<Vec<StackFacts>>,
    /// Parts whose versions must agree over all images of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consistent: Option<Vec<String>>,
    /// All images of the call, this one too, with the versions of those parts. Absent if there are no such parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Vec<Member>>,
    /// The ignores, once all images of the call were judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignores: Option<Vec<IgnoreFacts>>,
}

/// An expectation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExpectationFacts {
    /// As it was written: `torch==2.8.*`.
    pub text: String,
    /// A name of `stack`, or `cuda`.
    pub name: String,
    /// What its version must fit.
    pub specifier: String,
    /// Where it was written: `--expect`, or file and line.
    pub origin: String,
}

/// An allowed combination.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StackFacts {
    /// What the team calls it.
    pub name: String,
    /// What must hold.
    pub parts: Vec<RequirementFacts>,
}

/// One part of an allowed combination.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequirementFacts {
    /// A name of `stack`, or `cuda`.
    pub name: String,
    /// What its version must fit; empty if there must be no such part.
    pub specifier: String,
}

/// One image of the call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Member {
    /// Its name.
    pub image: String,
    /// Versions by name, of what the process gets.
    pub versions: BTreeMap<String, String>,
}

/// An ignore of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IgnoreFacts {
    /// Id or pattern of the rules.
    pub rule: String,
    /// Pattern of the images; empty for all.
    pub image: String,
    /// Pattern of the files; empty for any.
    pub path: String,
    /// Why.
    pub reason: String,
    /// The last day, as `2027-03-01`; empty if it has none.
    pub expires: String,
    /// Whether that day is over.
    pub expired: bool,
    /// Whether an image or file of the call is one that it speaks of.
    pub concerned: bool,
    /// Whether a finding of the call is one that it speaks of.
    pub used: bool,
    /// The configuration file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// Column behind its last character.
    pub end_column: usize,
    /// The whole line.
    pub text: String,
}

/// What one call judged, by name.
#[derive(Debug, Clone, Copy)]
pub enum Subjects<'n> {
    /// Images.
    Images(&'n [&'n str]),
    /// Files that an image is built from.
    Files(&'n [&'n str]),
}

impl Subjects<'_> {
    /// Whether an ignore speaks of one of them. The rules about files are those whose ids begin with `lint-`: they are asked of
    /// nothing else, and of files nothing else is asked.
    fn concern(self, ignore: &Ignore) -> bool {
        let about_files = ignore.rule.starts_with("lint-");
        match self {
            Subjects::Images(names) => {
                !about_files && names.iter().any(|name| ignore.concerns(name))
            }
            Subjects::Files(names) => {
                let meant = |name: &&str| ignore.concerns(name) && ignore.covers(Some(name));
                about_files && names.iter().any(meant)
            }
        }
    }
}

impl From<&Requirement> for RequirementFacts {
    fn from(requirement: &Requirement) -> Self {
        RequirementFacts {
            name: requirement.name.clone(),
            specifier: requirement.specifier.clone(),
        }
    }
}

impl PolicyFacts {
    pub(super) fn of_image(policy: &Policy, fleet: &[Member]) -> Self {
        let expect = policy
            .expectations
            .iter()
            .map(|expectation| ExpectationFacts {
                text: expectation.text.clone(),
                name: expectation.requirement.name.clone(),
                specifier: expectation.requirement.specifier.clone(),
                origin: expectation.origin.clone(),
            });
        let stacks = policy.stacks.iter().map(|stack| StackFacts {
            name: stack.name.clone(),
            parts: stack
                .requirements
                .iter()
                .map(RequirementFacts::from)
                .collect(),
        });
        PolicyFacts {
            expect: Some(expect.collect()),
            stacks: Some(stacks.collect()),
            consistent: Some(policy.consistent.clone()),
            // Every image would be told of all the others.
            fleet: (!policy.consistent.is_empty()).then(|| fleet.to_vec()),
            ignores: None,
        }
    }

    pub(super) fn of_call(
        policy: &Policy,
        subjects: Subjects,
        used: &BTreeSet<usize>,
        today: NaiveDate,
    ) -> Self {
        let ignores = policy.ignores.iter().enumerate();
        let ignores = ignores.map(|(index, ignore)| IgnoreFacts {
            rule: ignore.rule.clone(),
            image: ignore.image.clone().unwrap_or_default(),
            path: ignore.path.clone().unwrap_or_default(),
            reason: ignore.reason.clone(),
            expires: ignore
                .expires
                .map(|day| day.to_string())
                .unwrap_or_default(),
            expired: ignore.expired(today),
            concerned: subjects.concern(ignore),
            used: used.contains(&index),
            file: ignore.location.file.clone(),
            line: ignore.location.line,
            column: ignore.location.column,
            end_column: ignore.location.end_column,
            text: ignore.location.text.clone(),
        });
        PolicyFacts {
            ignores: Some(ignores.collect()),
            ..PolicyFacts::default()
        }
    }
}
