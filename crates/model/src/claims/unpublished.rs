//! What a reference claims and nobody ever published: `image.unpublished`.
//!
//! A table that does not know a release says nothing about it.

pub mod knowledge;

mod facts;
mod forms;
mod framework;
mod reference;
mod toolkit;

pub use facts::Unpublished;
use imgcheck_base::error::Result;
use knowledge::Publications;
pub use reference::Reference;

/// What nobody published of a reference. `publications` reads the tables, if one is needed.
///
/// # Errors
/// The errors of `publications`.
pub fn unpublished<'k>(
    reference: &Reference<'_>,
    publications: impl FnOnce() -> Result<&'k Publications>,
) -> Result<Vec<Unpublished>> {
    if reference.tag.is_none() && reference.claims.is_empty() {
        return Ok(Vec::new());
    }
    let publications = publications()?;
    let toolkits = toolkit::unpublished(reference, publications);
    let mut found = framework::unpublished(reference, publications);
    match toolkits.is_empty() {
        true => found.extend(forms::unpublished(reference, publications)),
        false => found.extend(toolkits),
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
