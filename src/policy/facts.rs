//! The policy as rules see it. Facts of an image have no `ignores`, and facts of a whole run have nothing else; a rule that uses
//! what is missing does not apply.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::apply::Policy;
use super::expectation::Requirement;
use super::ignore::Ignore;

/// What the policy requires.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyFacts {
    /// Requirements for every image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Vec<ExpectationFacts>>,
    /// Allowed combinations, one of which every image must match; empty if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks: Option<Vec<StackFacts>>,
    /// Components that must have the same version in all images of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consistent: Option<Vec<String>>,
    /// All images of the run, with the versions of those components. Absent if there are no such components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Vec<Member>>,
    /// The ignores, after all images of the run were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignores: Option<Vec<IgnoreFacts>>,
}

/// A requirement for every image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExpectationFacts {
    /// As it was written: `torch==2.8.*`.
    pub text: String,
    /// Name of a component, or `cuda`.
    pub name: String,
    /// The version specifiers.
    pub specifier: String,
    /// Where it was written: `--expect`, or file and line.
    pub origin: String,
}

/// An allowed combination.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StackFacts {
    /// Its name.
    pub name: String,
    /// All of them must be met.
    pub parts: Vec<RequirementFacts>,
}

/// A component of an allowed combination.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequirementFacts {
    /// Name of a component, or `cuda`.
    pub name: String,
    /// The version specifiers; empty if the component must be missing.
    pub specifier: String,
}

/// An image of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Member {
    /// Its name.
    pub image: String,
    /// Versions of loaded components, by name.
    pub versions: BTreeMap<String, String>,
}

/// An ignore of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IgnoreFacts {
    /// Id or pattern of the rules.
    pub rule: String,
    /// Pattern of images; empty for all.
    pub image: String,
    /// Pattern of files; empty for all.
    pub path: String,
    /// Why.
    pub reason: String,
    /// The last valid day, such as `2027-03-01`; empty without one.
    pub expires: String,
    /// Whether that day has passed.
    pub expired: bool,
    /// Whether it applies to an image or file of the run.
    pub concerned: bool,
    /// Whether it suppresses a finding of the run.
    pub used: bool,
    /// The configuration file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// Column after its last character.
    pub end_column: usize,
    /// The whole line.
    pub text: String,
}

/// The names of everything that was checked in a run.
#[derive(Debug, Clone, Copy)]
pub enum Subjects<'n> {
    /// Images.
    Images(&'n [&'n str]),
    /// Dockerfiles and similar files.
    Files(&'n [&'n str]),
}

impl Subjects<'_> {
    /// Whether an ignore applies to one of them. Rules for files have ids that start with `lint-`.
    fn concern(self, ignore: &Ignore) -> bool {
        let about_files = ignore.rule.starts_with("lint-");
        match self {
            Subjects::Images(names) => {
                !about_files && names.iter().any(|name| ignore.concerns(name))
            }
            Subjects::Files(names) => {
                let applies = |name: &&str| ignore.concerns(name) && ignore.covers(Some(name));
                about_files && names.iter().any(applies)
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
            // Without consistency checks, the other images do not matter.
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
