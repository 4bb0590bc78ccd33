//! Releases of a toolkit that do not exist.

use super::facts::Unpublished;
use super::knowledge::Publications;
use super::reference::Reference;
use crate::claims::claim::Claim;
use imgcheck_base::version::{first_numbers, meets, newer, release};

/// Minor releases that are missing between those that are known, then patch releases of the publisher's image.
pub fn unpublished(reference: &Reference<'_>, publications: &Publications) -> Vec<Unpublished> {
    let claims: Vec<&Claim> = reference.of(&publications.terms.toolkit.subject).collect();
    let minors = claims
        .iter()
        .filter_map(|it| minor(reference, publications, it));
    let patches = claims
        .iter()
        .filter_map(|it| patch(reference, publications, it));
    minors.chain(patches).collect()
}

fn major(version: &str) -> Option<u64> {
    release(version)?.first().copied()
}

fn minor_of(version: &str) -> Option<String> {
    first_numbers(version, 2)
}

/// The minor releases of a version's major, in the order of the releases.
fn minors_beside(version: &str, toolkits: &[String]) -> Vec<String> {
    let same_major = toolkits.iter().filter(|it| major(it) == major(version));
    let mut minors: Vec<String> = same_major.filter_map(|it| minor_of(it)).collect();
    minors.dedup();
    minors
}

fn is_newer(a: &str, b: &str) -> bool {
    newer(a, b) == Some(true)
}

fn minor(
    reference: &Reference<'_>,
    publications: &Publications,
    claim: &Claim,
) -> Option<Unpublished> {
    let (version, toolkits) = (&claim.version, &publications.toolkits);
    let is_between = toolkits.iter().any(|it| is_newer(it, version))
        && toolkits.iter().any(|it| is_newer(version, it));
    let line = minor_of(version)?;
    let is_known = toolkits.iter().any(|it| meets(it, &line) == Some(true));
    if !version.contains('.') || !is_between || is_known {
        return None;
    }
    let repository = publications.terms.toolkit.repository.as_str();
    let is_official = reference.repository.ends_with(repository);
    Some(Unpublished {
        cuda: version.clone(),
        published: minors_beside(version, toolkits),
        known: toolkits.len(),
        ..Unpublished::new("toolkit", is_official, claim)
    })
}

/// A patch release is judged where no later one can be expected: two later minor releases of its major and a later major are known, or two
/// later majors; else only if it is far from the last.
fn patch(
    reference: &Reference<'_>,
    publications: &Publications,
    claim: &Claim,
) -> Option<Unpublished> {
    let (version, toolkits) = (&claim.version, &publications.toolkits);
    let number = patch_number(reference, publications, claim)?;
    let line = minor_of(version)?;
    let same_line = toolkits
        .iter()
        .filter(|it| minor_of(it).as_ref() == Some(&line));
    let published: Vec<String> = same_line.cloned().collect();
    let last = published.last()?;
    let is_after_all = published.iter().all(|it| is_newer(version, it));
    if !is_after_all || !toolkits.iter().any(|it| is_newer(it, version)) {
        return None;
    }
    let own_major = major(version)?;
    let mut later = minors_beside(version, toolkits);
    later.retain(|it| is_newer(it, &line));
    let later_majors = toolkits.iter().filter_map(|it| major(it));
    let later_majors = later_majors
        .max()
        .unwrap_or_default()
        .saturating_sub(own_major);
    let is_finished = later_majors > 1 || (later_majors > 0 && later.len() > 1);
    let is_far = number > *release(last)?.get(2)? + 2;
    (is_finished || is_far).then(|| Unpublished {
        cuda: version.clone(),
        published,
        known: toolkits.len(),
        ..Unpublished::new("patch", true, claim)
    })
}

/// The number of the patch release that the tag of the publisher's image claims, if they are numbered from 0.
fn patch_number(
    reference: &Reference<'_>,
    publications: &Publications,
    claim: &Claim,
) -> Option<u64> {
    let toolkit = &publications.terms.toolkit;
    let registry = reference.registry(publications);
    let is_publisher = reference.repository == toolkit.repository
        && toolkit.registries.iter().any(|it| it == registry);
    let numbers: Vec<&str> = claim.version.split('.').collect();
    let [_, _, patch] = numbers.as_slice() else {
        return None;
    };
    let is_number = |it: &&str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let is_numbered = numbers.iter().all(is_number)
        && patch.len() <= 2
        && is_newer(&claim.version, &toolkit.patches.after)
        && is_newer(&toolkit.patches.before, &claim.version);
    (is_publisher && claim.origin == "tag" && is_numbered)
        .then(|| patch.parse().ok())
        .flatten()
}
