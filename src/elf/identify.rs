//! Which library a file is, and what the readings of its recipe give.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::Depth;
use super::constants;
use super::error::ElfError;
use super::facts::{Identity, Reading};
use super::object::Object;
use super::recipes::{Library, Part, Pattern, ReadingRecipe, Recipes};
use super::symbols::Export;

/// Stub libraries are smaller than this.
const STUB_LIMIT: u64 = 256 << 10;
/// Longer function bodies are read no further: getters are some hundred bytes long.
const BODY_LIMIT: u64 = 64 << 10;
/// Functions of size 0 (written in assembler) are read this far.
const BODY_MINIMUM: u64 = 16;

/// What identification and the readings look at.
pub(super) struct Subject<'a> {
    pub object: &'a Object<'a>,
    pub exports: &'a [Export],
    pub soname: Option<&'a str>,
    pub needed: &'a [String],
    pub depth: Depth,
}

impl Subject<'_> {
    /// An export by its name.
    pub fn export(&self, name: &str) -> Option<&Export> {
        self.exports.iter().find(|export| export.name == name)
    }

    /// The body of an exported function; empty if it has none in the file.
    pub fn body(&self, export: &Export) -> Result<Cow<'_, [u8]>, ElfError> {
        let length = export.size.clamp(BODY_MINIMUM, BODY_LIMIT);
        self.object.at_address(export.address, length)
    }

    fn is(&self, part: &Part) -> Result<bool, ElfError> {
        let exported = |name: &String| self.export(name).is_some();
        let matches = |pattern: &Pattern, text: &str| pattern.0.is_match(text.as_bytes());
        let named = part.exports.iter().all(exported)
            && (part.any_export.is_empty() || part.any_export.iter().any(exported))
            && part.object.as_ref().is_none_or(|pattern| {
                let mut objects = self.exports.iter().filter(|it| it.object && it.size == 4);
                objects.any(|export| matches(pattern, &export.name))
            })
            && part
                .soname
                .as_ref()
                .is_none_or(|it| self.soname.is_some_and(|soname| matches(it, soname)))
            && part
                .needed
                .as_ref()
                .is_none_or(|it| self.needed.iter().any(|needed| matches(it, needed)));
        if !named {
            return Ok(false);
        }
        if let Some(returns) = &part.returns {
            let Some(export) = self.export(&returns.export) else {
                return Ok(false);
            };
            let body = self.body(export)?;
            if constants::only_returns(self.object.machine, &body) != Some(returns.value) {
                return Ok(false);
            }
        }
        match &part.text {
            Some(pattern) => self.holds(pattern),
            None => Ok(true),
        }
    }

    fn holds(&self, pattern: &Pattern) -> Result<bool, ElfError> {
        if self.object.size() > STUB_LIMIT {
            return Ok(false);
        }
        for range in self.object.constants() {
            let found = self.object.windows(range, 0, |_, bytes| {
                if pattern.0.is_match(bytes) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            if found.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Identifies a file and takes its readings.
pub(super) fn identify(subject: &Subject, recipes: &Recipes) -> Result<Option<Identity>, ElfError> {
    let mut identity = match find(subject, recipes)? {
        Some((library, part)) => Some(Identity {
            library: library.library.clone(),
            part: part.clone(),
            readings: take(subject, &library.readings, part.as_deref())?,
        }),
        None => None,
    };
    let everywhere = take(subject, &recipes.everywhere, None)?;
    if !everywhere.is_empty() {
        if identity.is_none() {
            identity = recipes.unidentified.as_ref().map(|name| Identity {
                library: name.library.clone(),
                part: name.part.clone(),
                readings: Vec::new(),
            });
        }
        if let Some(identity) = &mut identity {
            identity.readings.extend(everywhere);
        }
    }
    if let Some(identity) = &mut identity {
        identity.readings.sort_by_key(|reading| reading.kind);
    }
    Ok(identity)
}

fn find<'r>(
    subject: &Subject,
    recipes: &'r Recipes,
) -> Result<Option<(&'r Library, &'r Option<String>)>, ElfError> {
    for library in &recipes.libraries {
        for part in &library.parts {
            if subject.is(part)? {
                return Ok(Some((library, &part.part)));
            }
        }
    }
    Ok(None)
}

fn take(
    subject: &Subject,
    recipes: &[ReadingRecipe],
    part: Option<&str>,
) -> Result<Vec<Reading>, ElfError> {
    let mut readings: Vec<Reading> = Vec::new();
    for recipe in recipes {
        let of_part = recipe.parts.is_empty()
            || part.is_some_and(|part| recipe.parts.iter().any(|it| it == part));
        let known = recipe.fallback && readings.iter().any(|it| it.fact == recipe.fact);
        let wanted = subject.depth == Depth::Deep || !(recipe.deep || known);
        if !of_part || !wanted {
            continue;
        }
        for (value, detail) in recipe.from.read(subject, recipe.decode)? {
            readings.push(Reading {
                fact: recipe.fact.clone(),
                value,
                kind: recipe.from.kind(),
                detail,
            });
        }
    }
    Ok(readings)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::elf::testing::Sample;

    /// What libctranslate2 4.5.0 has of cuBLAS: wrappers of some functions, under their own names.
    #[test]
    fn a_library_that_wraps_functions_of_another_is_not_that_one() {
        let recipes = Recipes::builtin().unwrap();
        let library = |sample: Sample| {
            let facts = sample.facts(&recipes, Depth::Default);
            facts.identity.map(|identity| identity.library)
        };
        let wrapper = || {
            Sample::new(62)
                .soname("libctranslate2.so.4")
                .function("cublasCreate_v2", &[0xc3])
                .function("cublasSgemm_v2", &[0xc3])
        };
        assert_eq!(library(wrapper()), None);
        let cublas = wrapper().function("cublasGetVersion_v2", &[0xc3]);
        assert_eq!(library(cublas).as_deref(), Some("cublas"));
    }
}
