//! What a reference, the labels and the environment of an image promise.
//!
//! How people write versions into tags is data: the grammar files of `rules/knowledge/tags/`, whose language is
//! described in [`mod@file`]. This module only applies them.

pub mod file;

mod pattern;
mod publisher;
mod scan;

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::embedded;
use crate::error::Result;
use crate::reference::name::Name;

use file::{Grammars, Product, Token, Variable};
use pattern::Pattern;
use publisher::Publisher;
use scan::Scan;

/// The directory of the grammar files below `rules/`.
const DIRECTORY: &str = "knowledge/tags";

/// The longest value of a label or variable, in bytes, that is read as a version. Longer ones are no versions, but could hold so many
/// numbers that the claims, each of which quotes the value, would fill the memory.
const LONGEST_VALUE: usize = 1024;

/// One promise, with the text it was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// What it is about: `torch`, `cuda`, `cudnn`, `python`, `os`, `flavour`, `device` …
    pub subject: String,
    /// Exactly the components that are written: `cu118` is `11.8`, `py3` is `3`.
    pub version: String,
    /// Where it was read: `tag`, `repository`, `label`, `env`.
    pub origin: String,
    /// The piece of text: `v2.9`.
    pub text: String,
}

/// How versions are written into references, labels and environments.
#[derive(Debug, Default)]
pub struct Grammar {
    tokens: Vec<Token>,
    products: Vec<Product>,
    publishers: Vec<Publisher>,
    variables: Vec<Variable>,
    labels: Vec<Variable>,
}

impl Grammar {
    /// The grammar files that are built into the program. Their patterns are compiled when a reference first needs
    /// them, so loading takes the time of reading the YAML.
    pub fn builtin() -> Result<Grammar> {
        let mut grammar = Grammar::default();
        for (name, text) in embedded::files(DIRECTORY) {
            grammar.add(file::parse(name, text)?);
        }
        Ok(grammar)
    }

    /// Reads grammar files, given by name and text, and compiles every pattern, so that a mistake is reported with
    /// its file, line and column.
    pub fn load<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Grammar> {
        let mut grammar = Grammar::default();
        for (name, text) in files {
            file::check(name, text)?;
            grammar.add(file::parse(name, text)?);
        }
        Ok(grammar)
    }

    fn add(&mut self, file: Grammars) {
        self.tokens.extend(file.tokens);
        self.products.extend(file.products);
        self.publishers
            .extend(file.grammars.into_iter().map(Publisher::from));
        self.variables.extend(file.variables);
        self.labels.extend(file.labels);
    }

    /// What a reference promises, in the order in which it is written. A digest promises nothing.
    ///
    /// # Errors
    /// If the text is no image reference, or holds a placeholder.
    pub fn claims(&self, reference: &str) -> Result<Vec<Claim>> {
        let name: Name = reference.parse()?;
        let publisher = self
            .publishers
            .iter()
            .filter_map(|publisher| Some((publisher.specificity(&name)?, publisher)))
            .max_by_key(|(specificity, _)| *specificity)
            .map(|(_, publisher)| publisher);

        let mut repository = self.scan("repository", name.last_component());
        repository.read(publisher.map_or(&[], |publisher| &publisher.name));
        self.read_tokens(&mut repository, |token| !token.only_in_tags, &[]);

        let mut tag = self.scan("tag", name.tag.as_deref().unwrap_or_default());
        tag.read(publisher.map_or(&[], |publisher| &publisher.tag));
        let bare = publisher
            .and_then(|publisher| publisher.bare.as_deref())
            .unwrap_or_else(|| self.bare(name.last_component()));
        self.read_tag(&mut tag, bare, &repository.subjects());
        Ok(distinct(
            repository.finish().into_iter().chain(tag.finish()),
        ))
    }

    /// What an image promises: by its reference, its labels, and its environment. A reference that cannot be read
    /// promises nothing.
    pub fn image_claims<'v>(
        &self,
        reference: Option<&str>,
        labels: &BTreeMap<String, String>,
        env: impl IntoIterator<Item = (&'v String, &'v String)>,
    ) -> Vec<Claim> {
        let referred = reference.and_then(|reference| self.claims(reference).ok());
        let labelled = labels.iter().flat_map(|(name, value)| {
            self.assignment("label", &self.labels, (name, value), labels)
        });
        let unrelated = BTreeMap::new();
        let exported = env.into_iter().flat_map(|(name, value)| {
            self.assignment("env", &self.variables, (name, value), &unrelated)
        });
        distinct(
            referred
                .into_iter()
                .flatten()
                .chain(labelled)
                .chain(exported),
        )
    }

    fn scan<'t>(&self, origin: &'static str, text: &'t str) -> Scan<'t> {
        let words = self.tokens.iter().flat_map(|token| &token.near);
        Scan::new(origin, text, words.map(String::as_str))
    }

    /// What one label or variable promises. The text of such a claim is the whole `NAME=value`.
    fn assignment(
        &self,
        origin: &'static str,
        known: &[Variable],
        (name, value): (&str, &str),
        neighbours: &BTreeMap<String, String>,
    ) -> Vec<Claim> {
        if value.len() > LONGEST_VALUE {
            return Vec::new();
        }
        let mut scan = self.scan(origin, value);
        for variable in known.iter().filter(|variable| variable.name == name) {
            scan.read(&variable.value);
            if let Some(title) = &variable.tag_of {
                let title = neighbours.get(title).map_or("", String::as_str);
                self.read_tag(&mut scan, self.bare(title), &[]);
            }
        }
        let mut claims = scan.finish();
        for claim in &mut claims {
            claim.text = format!("{name}={value}");
        }
        claims
    }

    /// Reads what a tag says after its publisher's own patterns: tokens, then the bare version, then the tokens that
    /// stand beside it.
    fn read_tag(&self, tag: &mut Scan<'_>, bare: &[Pattern], elsewhere: &[&str]) {
        self.read_tokens(tag, |_| true, elsewhere);
        tag.read_bare(bare, elsewhere);
        self.read_tokens(tag, |_| true, elsewhere);
    }

    /// Reads the tokens that stand alone, and then those that count only beside others.
    fn read_tokens(&self, scan: &mut Scan<'_>, suits: fn(&Token) -> bool, elsewhere: &[&str]) {
        let (alone, beside): (Vec<&Token>, Vec<&Token>) = self
            .tokens
            .iter()
            .filter(|token| suits(token))
            .partition(|token| token.beside.is_empty());
        scan.read_tokens(&alone);
        let claimed = [scan.subjects().as_slice(), elsewhere].concat();
        let accompanied = |token: &&Token| {
            token
                .beside
                .iter()
                .any(|subject| claimed.contains(&subject.as_str()))
        };
        scan.read_tokens(&beside.into_iter().filter(accompanied).collect::<Vec<_>>());
    }

    /// How the bare version of a product is written, by the full name of the product.
    fn bare(&self, name: &str) -> &[Pattern] {
        let named = |product: &&Product| {
            product
                .names
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
        };
        self.products
            .iter()
            .find(named)
            .map_or(&[], |product| &product.bare)
    }
}

/// Each promise once for each place it was read in; tag and repository are one place.
fn distinct(claims: impl Iterator<Item = Claim>) -> Vec<Claim> {
    let mut seen = HashSet::new();
    let mut is_new = |claim: &Claim| {
        let place = match claim.origin.as_str() {
            "repository" => "tag",
            origin => origin,
        };
        let read = [claim.subject.as_str(), claim.version.as_str(), place];
        seen.insert(read.map(str::to_owned))
    };
    claims.filter(|claim| is_new(claim)).collect()
}
