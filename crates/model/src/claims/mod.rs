//! What the reference, labels and environment of an image claim.
//!
//! How people write versions into tags is data: the grammar files of `rules/knowledge/tags/`, whose language [`mod@file`]
//! describes. This module only applies them.

pub mod file;
pub mod unpublished;

mod claim;
mod pattern;
mod publisher;
mod scan;

use std::collections::{BTreeMap, HashSet};

use imgcheck_base::error::Result;
use imgcheck_base::reference::name::Name;

pub use claim::Claim;
use file::{Grammars, Product, Token, Variable};
use pattern::Pattern;
use publisher::Publisher;
use scan::Scan;

/// Maximum length of a value of a label or variable, in bytes, that is read as a version. A longer one is not a version, but could hold so
/// many numbers that the claims, each of which quotes the value, would fill the memory.
const LONGEST_VALUE: usize = 1024;

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
    /// The grammar of some files. Its patterns are compiled when a reference first needs them.
    pub fn new(files: Vec<Grammars>) -> Grammar {
        let mut grammar = Grammar::default();
        files.into_iter().for_each(|file| grammar.add(file));
        grammar
    }

    /// Reads grammar files, given by name and text, and compiles every pattern.
    ///
    /// # Errors
    /// A file or pattern is invalid; the error shows file, line and column.
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

    /// The claims of a reference in the order of its text. A digest claims nothing.
    ///
    /// # Errors
    /// The text is not an image reference, or contains a placeholder.
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

    /// The claims of an image: of its reference, labels and environment. An invalid reference claims nothing.
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

    /// The claims of one label or variable. Their text is the whole `NAME=value`.
    fn assignment(
        &self,
        origin: &'static str,
        known: &[Variable],
        (name, value): (&str, &str),
        neighbors: &BTreeMap<String, String>,
    ) -> Vec<Claim> {
        if value.len() > LONGEST_VALUE {
            return Vec::new();
        }
        let mut scan = self.scan(origin, value);
        for variable in known.iter().filter(|variable| variable.name == name) {
            scan.read(&variable.value);
            if let Some(title) = &variable.tag_of {
                let title = neighbors.get(title).map_or("", String::as_str);
                self.read_tag(&mut scan, self.bare(title), &[]);
            }
        }
        let mut claims = scan.finish();
        for claim in &mut claims {
            claim.text = format!("{name}={value}");
        }
        claims
    }

    /// Reads a tag after the patterns of its publisher: tokens, then the bare version, then the tokens beside it.
    fn read_tag(&self, tag: &mut Scan<'_>, bare: &[Pattern], elsewhere: &[&str]) {
        self.read_tokens(tag, |_| true, elsewhere);
        tag.read_bare(bare, elsewhere);
        self.read_tokens(tag, |_| true, elsewhere);
    }

    /// Reads the tokens without conditions, and then those that count only beside others.
    fn read_tokens(&self, scan: &mut Scan<'_>, applies: fn(&Token) -> bool, elsewhere: &[&str]) {
        let (alone, beside): (Vec<&Token>, Vec<&Token>) = self
            .tokens
            .iter()
            .filter(|token| applies(token))
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

    /// The patterns of a product's bare version, by the full name of the product.
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

/// Each claim once per origin; tag and repository count as one origin.
fn distinct(claims: impl Iterator<Item = Claim>) -> Vec<Claim> {
    let mut seen = HashSet::new();
    let mut is_new = |claim: &Claim| {
        let origin = match claim.origin.as_str() {
            "repository" => "tag",
            origin => origin,
        };
        let key = [claim.subject.as_str(), claim.version.as_str(), origin];
        seen.insert(key.map(str::to_owned))
    };
    claims.filter(|claim| is_new(claim)).collect()
}
