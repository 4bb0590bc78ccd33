//! The facts as variables of expressions.

use std::sync::OnceLock;

use cel::Context;
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use serde::Serialize;

use super::facts::Facts;
use super::loader;
use super::tables::Tables;
use super::value::{self, Boxed};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::reference::only_tag;
use imgcheck_base::version;
use imgcheck_model::claims::unpublished::{Reference, unpublished};

/// Variables that are expensive and rarely needed: computed when an expression first mentions them.
pub struct Variables<'f> {
    facts: &'f Facts,
    tables: &'f Tables,
    mapped: Computed,
    unpublished: Computed,
    settings: Computed,
    corrected: Computed,
}

/// A variable, once an expression has mentioned it; `None` if it is missing.
type Computed = OnceLock<std::result::Result<Option<Boxed<'static>>, String>>;

impl<'f> Variables<'f> {
    /// The variables of some facts.
    pub fn new(facts: &'f Facts, tables: &'f Tables) -> Self {
        Variables {
            facts,
            tables,
            mapped: OnceLock::new(),
            unpublished: OnceLock::new(),
            settings: OnceLock::new(),
            corrected: OnceLock::new(),
        }
    }

    /// `loader.mapped`; `None` if no image was read.
    fn mapped(&self) -> std::result::Result<Option<Boxed<'static>>, String> {
        let loader = self.facts.loader.as_deref();
        let value = |loader| value::shared(&loader::mapped(loader));
        loader.map(value).transpose()
    }

    /// `image.unpublished`.
    fn unpublished(&self) -> std::result::Result<Option<Boxed<'static>>, String> {
        let image = &self.facts.image;
        let reference = Reference {
            registry: &image.registry,
            repository: &image.repository,
            // Without tag and digest, registries answer with this one.
            tag: image
                .tag
                .as_deref()
                .or(image.digest.is_none().then_some("latest")),
            claims: &self.facts.claims,
        };
        let found = unpublished(&reference, || self.tables.publications());
        let found = found.map_err(|error| error.to_string())?;
        value::shared(&found).map(Some)
    }

    /// `image.settings`; `None` if no image was read.
    fn settings(&self) -> std::result::Result<Option<Boxed<'static>>, String> {
        let Some(environment) = &self.facts.image.process_env else {
            return Ok(None);
        };
        let settings = self.tables.settings();
        let settings = settings.map_err(|error| error.to_string())?;
        value::shared(&settings.faults(environment, self.facts)).map(Some)
    }

    /// `image.corrected`; `None` if no image was read.
    fn corrected(&self) -> std::result::Result<Option<Boxed<'static>>, String> {
        let Some(versions) = &self.facts.versions else {
            return Ok(None);
        };
        let reference = &self.facts.image.reference;
        // What can be pasted of an image without a name is its tag.
        let mut reference = only_tag::tag(reference).unwrap_or(reference).to_owned();
        let claims = self.facts.claims.iter();
        for claim in claims.filter(|it| matches!(it.origin.as_str(), "tag" | "repository")) {
            let found = versions.get(&claim.subject);
            let wrong = found.filter(|it| version::meets(it, &claim.version) == Some(false));
            // One text may have been within another.
            if let Some(found) = wrong.filter(|_| reference.contains(&claim.text)) {
                reference = version::renamed(&reference, &claim.text, &claim.version, found);
            }
        }
        for word in self.unmet_cudnn() {
            reference = version::without(&reference, word);
        }
        value::shared(&reference).map(Some)
    }

    /// The words of the tag that name cuDNN, if the image has none.
    fn unmet_cudnn(&self) -> Vec<&str> {
        let mut copies = self.facts.copies.iter().flatten();
        let has_cudnn =
            copies.any(|it| it.name == "cudnn" || it.details.contains_key("compiled-cudnn"));
        if has_cudnn || self.facts.image.tag.is_none() {
            return Vec::new();
        }
        let claims = self.facts.claims.iter();
        let tagged = claims.filter(|it| it.subject == "cudnn" && it.origin == "tag");
        let numbered = tagged.map(|it| it.text.as_str());
        numbered.chain(["cudnn"]).collect()
    }

    /// # Errors
    ///
    /// A variable that an expression needed could not be computed: it is not a missing fact.
    pub fn check(&self) -> Result<()> {
        let computed = [
            &self.mapped,
            &self.unpublished,
            &self.settings,
            &self.corrected,
        ];
        let problem = computed.iter().find_map(|it| it.get()?.as_ref().err());
        problem.map_or(Ok(()), |problem| Err(unserialized(problem)))
    }
}

fn unserialized(problem: impl std::fmt::Display) -> Error {
    Error::Rule {
        problem: format!("the facts cannot be serialized: {problem}"),
    }
}

impl VariableResolver for Variables<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let computed = match variable {
            "loader.mapped" => self.mapped.get_or_init(|| self.mapped()),
            "image.unpublished" => self.unpublished.get_or_init(|| self.unpublished()),
            "image.settings" => self.settings.get_or_init(|| self.settings()),
            "image.corrected" => self.corrected.get_or_init(|| self.corrected()),
            _ => return self.tables.resolve(variable),
        };
        let value = computed.as_ref().ok()?.as_deref();
        value.map(CowVal::Borrowed)
    }
}

/// Makes the fields of the facts variables. An absent field leaves its variable undefined.
///
/// # Errors
///
/// The facts cannot be serialized.
pub fn bind(context: &mut Context<'_, '_>, facts: &impl Serialize) -> Result<()> {
    for (name, value) in value::shared_fields(facts).map_err(unserialized)? {
        context.add_variable_as_val(name, value);
    }
    Ok(())
}
