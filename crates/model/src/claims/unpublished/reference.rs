//! A reference with its claims.

use super::knowledge::Publications;
use crate::claims::claim::Claim;

/// The parts of a reference, and what it claims.
pub struct Reference<'r> {
    /// The registry; empty if it has none.
    pub registry: &'r str,
    /// The repository: `nvidia/cuda`.
    pub repository: &'r str,
    /// Tag of the reference; `None` without one.
    pub tag: Option<&'r str>,
    /// The claims of the image, also those of labels and variables.
    pub claims: &'r [Claim],
}

impl<'r> Reference<'r> {
    /// The claims of its tag and repository.
    pub fn named(&self) -> impl Iterator<Item = &'r Claim> {
        let is_named = |claim: &&Claim| matches!(claim.origin.as_str(), "tag" | "repository");
        self.claims.iter().filter(is_named)
    }

    /// The claims of its tag and repository of one subject.
    pub fn of(&self, subject: &str) -> impl Iterator<Item = &'r Claim> {
        self.named().filter(move |it| it.subject == subject)
    }

    /// The claimed versions of one subject.
    pub fn versions(&self, subject: &str) -> Vec<&'r str> {
        self.of(subject).map(|it| it.version.as_str()).collect()
    }

    /// The registry; that of names without one, under one name.
    pub fn registry<'s>(&'s self, publications: &'s Publications) -> &'s str {
        let mut names = publications.terms.hub_names.iter();
        match names.any(|it| it == self.registry) {
            true => &publications.terms.hub,
            false => self.registry,
        }
    }
}
