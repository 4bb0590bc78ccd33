//! The policy as rules see it. Facts of an image have no `ignores`, and facts of a whole run have nothing else; a rule that uses
//! what is missing does not apply.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::apply::Policy;
use super::expectation::{AllowedStack, Expectation};
use super::ignore::Ignore;
use super::size::SizeLimit;

/// What the policy requires.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyFacts {
    /// Requirements for every image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Vec<Expectation>>,
    /// Allowed combinations, one of which every image must match; empty if every combination is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks: Option<Vec<AllowedStack>>,
    /// How large every image may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<SizeLimit>>,
    /// Components that must have the same version in all images of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consistent: Option<Vec<String>>,
    /// All images of the run, with the versions of those components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Vec<Member>>,
    /// The ignores, after all images of the run were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignores: Option<Vec<IgnoreFacts>>,
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
    /// Id or pattern of the rules; empty if it is about gaps.
    pub rule: String,
    /// Code or pattern of the gaps; empty if it is about findings.
    pub gap: String,
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
    /// The name that an image of the run records of itself, if the pattern of images matches only that: an ignore applies to what the
    /// user types. Otherwise empty.
    pub recorded: String,
    /// Whether it suppresses a finding or gap of the run.
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
    Images {
        /// The references or paths that the user typed.
        typed: &'n [&'n str],
        /// The names that the images record of themselves.
        recorded: &'n [&'n str],
    },
    /// Dockerfiles and similar files.
    Files(&'n [&'n str]),
}

impl Subjects<'_> {
    /// Whether an ignore applies to one of them.
    fn concern(self, ignore: &Ignore) -> bool {
        match self {
            Subjects::Images { typed, .. } => {
                !about_files(ignore) && typed.iter().any(|name| ignore.concerns(name))
            }
            Subjects::Files(names) => {
                let applies = |name: &&str| ignore.concerns(name) && ignore.covers(Some(name));
                about_files(ignore) && names.iter().any(applies)
            }
        }
    }

    /// The first recorded name that an ignore matches, if it applies to no image.
    fn recorded(&self, ignore: &Ignore) -> Option<&str> {
        match self {
            Subjects::Images { recorded, .. } if !about_files(ignore) && !self.concern(ignore) => {
                let mut recorded = recorded.iter().copied();
                recorded.find(|name| ignore.concerns(name))
            }
            _ => None,
        }
    }
}

/// Rules for files have ids that start with `lint-`.
fn about_files(ignore: &Ignore) -> bool {
    ignore.rule().is_some_and(|rule| rule.starts_with("lint-"))
}

impl PolicyFacts {
    pub(super) fn of_image(policy: &Policy, fleet: &[Member]) -> Self {
        PolicyFacts {
            expect: Some(policy.expectations.clone()),
            stacks: Some(policy.stacks.clone()),
            sizes: Some(policy.sizes.clone()),
            consistent: Some(policy.consistent.clone()),
            fleet: Some(fleet.to_vec()),
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
            rule: ignore.rule().unwrap_or_default().to_owned(),
            gap: ignore.gap().unwrap_or_default().to_owned(),
            image: ignore.image.clone().unwrap_or_default(),
            path: ignore.path.clone().unwrap_or_default(),
            reason: ignore.reason.clone(),
            expires: ignore
                .expires
                .map(|day| day.to_string())
                .unwrap_or_default(),
            expired: ignore.expired(today),
            concerned: subjects.concern(ignore),
            recorded: subjects.recorded(ignore).unwrap_or_default().to_owned(),
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
