//! Which library a file is, and what the readings of its recipe give.

use super::candidate::Candidate;
use super::depth::Depth;
use super::error::ElfError;
use super::facts::{Identity, Reading};
use super::pattern::Pattern;
use super::readers::constant_function;
use super::recipes::{Library, ReadingRecipe, Recipes, Signature};

/// Stub libraries are smaller than this, in bytes.
const MAX_STUB: u64 = 256 << 10;

/// Identifies a file and takes its readings.
pub(crate) fn identify(
    candidate: &Candidate,
    recipes: &Recipes,
) -> Result<Option<Identity>, ElfError> {
    let mut identity = match find(candidate, recipes)? {
        Some((library, part)) => Some(Identity {
            library: library.library.clone(),
            part: part.clone(),
            readings: take(candidate, &library.readings, part.as_deref())?,
        }),
        None => None,
    };
    let everywhere = take(candidate, &recipes.everywhere, None)?;
    if identity.is_none() && !everywhere.is_empty() {
        identity = recipes.unidentified.as_ref().map(|name| Identity {
            library: name.library.clone(),
            part: name.part.clone(),
            readings: Vec::new(),
        });
    }
    if let Some(identity) = &mut identity {
        identity.readings.extend(everywhere);
        identity.readings.sort_by_key(|reading| reading.kind);
    }
    Ok(identity)
}

fn find<'r>(
    candidate: &Candidate,
    recipes: &'r Recipes,
) -> Result<Option<(&'r Library, &'r Option<String>)>, ElfError> {
    for library in &recipes.libraries {
        for file in &library.files {
            if matches(candidate, file)? {
                return Ok(Some((library, &file.part)));
            }
        }
    }
    Ok(None)
}

fn matches(candidate: &Candidate, file: &Signature) -> Result<bool, ElfError> {
    let is_exported = |name: &String| candidate.export(name).is_some();
    let is_match = |pattern: &Pattern, text: &str| pattern.is_match(text.as_bytes());
    let exports_object = |pattern: &Pattern| {
        let mut exports = candidate.exports.iter();
        exports.any(|it| it.object && it.size == 4 && is_match(pattern, &it.name))
    };
    let has_soname = |it: &Pattern| candidate.soname.is_some_and(|soname| is_match(it, soname));
    let needs = |it: &Pattern| candidate.needed.iter().any(|needed| is_match(it, needed));
    let has_names = file.exports.iter().all(is_exported)
        && (file.any_export.is_empty() || file.any_export.iter().any(is_exported))
        && file.object.as_ref().is_none_or(exports_object)
        && file.soname.as_ref().is_none_or(has_soname)
        && file.needed.as_ref().is_none_or(needs);
    if !has_names {
        return Ok(false);
    }
    if let Some(returns) = &file.returns {
        let body = candidate.body(&returns.export)?;
        if constant_function(candidate.object.machine, &body) != Some(returns.value) {
            return Ok(false);
        }
    }
    match &file.text {
        Some(_) if candidate.object.size() > MAX_STUB => Ok(false),
        Some(pattern) => candidate.contains(pattern),
        None => Ok(true),
    }
}

fn take(
    candidate: &Candidate,
    recipes: &[ReadingRecipe],
    part: Option<&str>,
) -> Result<Vec<Reading>, ElfError> {
    let mut readings: Vec<Reading> = Vec::new();
    for recipe in recipes {
        let has_it = recipe.parts.is_empty()
            || part.is_some_and(|part| recipe.parts.iter().any(|it| it == part));
        let is_known = recipe.fallback && readings.iter().any(|it| it.fact == recipe.fact);
        let is_due = candidate.depth == Depth::Deep
            || recipe.small_gpu_files && candidate.is_small_gpu_file
            || !(recipe.deep || is_known);
        if !has_it || !is_due {
            continue;
        }
        let values = recipe.from.read(candidate, recipe.decode)?;
        readings.extend(values.into_iter().map(|(value, detail)| Reading {
            fact: recipe.fact.clone(),
            value,
            kind: recipe.from.kind(),
            detail,
        }));
    }
    Ok(readings)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::testing::Sample;

    /// libctranslate2 4.5.0 exports wrappers of cuBLAS functions under their own names.
    #[test]
    fn wrappers_of_another_library_do_not_identify_it() {
        let recipes = Recipes::new(imgcheck_tables::read("libraries").unwrap());
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
        // nvImageCodec 0.2.0 and 0.6.0.
        let codec = Sample::new(62)
            .function("nvimgcodecInstanceCreate", &[0xc3])
            .function("nvimgcodecCodeStreamCreateFromFile", &[0xc3])
            .function("cuInit", &[0xc3])
            .function("cuDriverGetVersion", &[0xc3]);
        assert_eq!(library(codec).as_deref(), Some("nvimgcodec"));
        let cublas = wrapper().function("cublasGetVersion_v2", &[0xc3]);
        assert_eq!(library(cublas).as_deref(), Some("cublas"));
    }
}
