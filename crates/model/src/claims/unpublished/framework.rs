//! Releases, tags and builds of a framework for a toolkit that were never published.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Unpublished;
use super::knowledge::{Publications, Release, Variant};
use super::reference::Reference;
use crate::claims::claim::Claim;
use imgcheck_base::version::{first_numbers, meets, newer, release};

type Tag = BTreeMap<String, String>;

/// The official image, its mirrors, and others that claim the framework and the toolkit.
struct Named<'r> {
    reference: &'r Reference<'r>,
    publications: &'r Publications,
    /// Whether the publisher publishes it in this registry.
    is_publisher: bool,
    /// Whether its tags are those of the publisher, in whatever registry.
    is_mirror: bool,
    /// Whether all its tags are known.
    is_on_hub: bool,
    /// The claimed versions of the toolkit.
    toolkits: Vec<&'r str>,
}

/// What is not published of a reference.
pub fn unpublished(reference: &Reference<'_>, publications: &Publications) -> Vec<Unpublished> {
    let named = Named::new(reference, publications);
    let claims = named.claims();
    let released = claims.iter().filter_map(|it| named.release(it));
    let tagged = claims.iter().filter_map(|it| named.tag(it));
    let built = claims.iter().filter_map(|it| named.build(it));
    let bare = named.bare();
    let bare = bare.iter().filter_map(|it| named.bare_tag(it));
    released.chain(tagged).chain(built).chain(bare).collect()
}

impl<'r> Named<'r> {
    fn new(reference: &'r Reference<'r>, publications: &'r Publications) -> Self {
        let framework = &publications.terms.framework;
        let official = framework.repository.as_str();
        let registry = reference.registry(publications);
        let parent = reference.repository.strip_suffix(official);
        let is_official = parent == Some("");
        Named {
            is_publisher: is_official && framework.registries.iter().any(|it| it == registry),
            is_mirror: parent.is_some_and(|it| it.is_empty() || it.ends_with('/')),
            is_on_hub: is_official && registry == publications.terms.hub,
            toolkits: reference.versions(&framework.toolkit),
            reference,
            publications,
        }
    }

    /// The claims of a release beside a toolkit, unless the image has builds of its own.
    fn claims(&self) -> Vec<&'r Claim> {
        let terms = &self.publications.terms;
        let is_own = |claim: &Claim| terms.own_builds.contains(&claim.subject);
        if self.toolkits.is_empty() || self.reference.claims.iter().any(is_own) {
            return Vec::new();
        }
        let is_release = |claim: &&Claim| {
            first_numbers(&claim.version, usize::MAX).as_ref() == Some(&claim.version)
        };
        let claims = self.reference.of(&terms.framework.subject);
        claims.filter(is_release).collect()
    }

    /// The claims of a tag that has nothing but a version.
    fn bare(&self) -> Vec<&'r Claim> {
        let framework = &self.publications.terms.framework;
        let is_bare = |tag: &str| framework.bare.matches(tag);
        match self.is_on_hub && self.reference.tag.is_some_and(is_bare) {
            true => self.reference.of(&framework.subject).collect(),
            false => Vec::new(),
        }
    }

    /// A release that is missing between those that are known.
    fn release(&self, claim: &Claim) -> Option<Unpublished> {
        let line = first_numbers(&claim.version, 2)?;
        let releases = &self.publications.releases;
        let line_of = |it: &Release| first_numbers(&it.version, 2);
        let same_line = releases
            .iter()
            .filter(|it| line_of(it).as_ref() == Some(&line));
        let published: Vec<String> = same_line.map(|it| it.version.clone()).collect();
        let is_later = |it: String| newer(&it, &line) == Some(true);
        let has_later = releases.iter().filter_map(line_of).any(is_later);
        let is_missing = self.variants(claim).is_empty() && !published.is_empty() && has_later;
        (self.is_mirror && is_missing).then(|| Unpublished {
            published,
            known: releases.len(),
            ..self.new_finding("release", claim)
        })
    }

    /// A tag of the image or a mirror that was not published.
    fn tag(&self, claim: &Claim) -> Option<Unpublished> {
        let variants = self.variants(claim);
        if !self.is_mirror || variants.is_empty() {
            return None;
        }
        let of_release = self.tags().filter(|it| self.is_of(it, claim));
        let near: Vec<&Tag> = of_release.filter(|it| self.has_words(it)).collect();
        let same: Vec<&Tag> = near
            .iter()
            .copied()
            .filter(|it| self.is_for_toolkit(it))
            .collect();
        let is_published = match self.is_on_hub {
            true => self.tags().any(|it| self.is_named(it)),
            false => same.iter().any(|it| self.has_parts(it)),
        };
        let is_for = |it: &&&Variant| self.is_claimed(&it.cuda);
        let is_unsure = variants
            .iter()
            .filter(is_for)
            .any(|it| it.status == "unknown");
        let first = &self.publications.terms.framework.all_tags_from;
        let is_wrong = match newer(first, &claim.version)? {
            true => !variants.iter().any(|it| self.is_claimed(&it.cuda)),
            false => !near.is_empty(),
        };
        let is_denied = self.is_denied();
        (is_denied || !(is_published || is_unsure) && is_wrong).then(|| {
            let (tags, wrong) = match same.is_empty() {
                true => (near, self.wrong_toolkit()),
                false => (same.clone(), self.wrong_part(&same)),
            };
            Unpublished {
                published: names(tags),
                known: self.tags().count(),
                ..self.new_finding("tag", wrong.unwrap_or(claim))
            }
        })
    }

    /// The claim of the toolkit, if there is only one.
    fn wrong_toolkit(&self) -> Option<&'r Claim> {
        let toolkit = &self.publications.terms.framework.toolkit;
        let mut claims = self.reference.of(toolkit);
        claims.next().filter(|_| claims.next().is_none())
    }

    /// The claim of a part that none of the tags has.
    fn wrong_part(&self, tags: &[&Tag]) -> Option<&'r Claim> {
        let parts = self.publications.terms.framework.parts.iter();
        let mut claims = parts.flat_map(|part| self.reference.of(part));
        let has = |tag: &&Tag, claim: &Claim| {
            let part = tag.get(&claim.subject);
            part.is_some_and(|it| meets(it, &claim.version) == Some(true))
        };
        claims.find(|claim| !tags.iter().any(|tag| has(tag, claim)))
    }

    /// A build for a toolkit that none is known for, in an image that somebody else publishes.
    fn build(&self, claim: &Claim) -> Option<Unpublished> {
        let variants = self.variants(claim);
        let builds: BTreeSet<&str> = variants.iter().map(|it| it.cuda.as_str()).collect();
        let is_built = builds.iter().any(|it| self.is_claimed(it));
        if self.is_mirror || is_built || builds.is_empty() {
            return None;
        }
        let major = |version: &str| release(version)?.first().copied();
        let is_before_all = |claimed: &&str| builds.iter().all(|it| major(it) > major(claimed));
        let kind = match self.toolkits.iter().any(is_before_all) {
            true => "older",
            false => "newer",
        };
        Some(Unpublished {
            published: builds.into_iter().map(str::to_owned).collect(),
            known: self.publications.releases.len(),
            ..self.new_finding(kind, claim)
        })
    }

    /// A tag with nothing but a version, where all tags name a toolkit.
    fn bare_tag(&self, claim: &Claim) -> Option<Unpublished> {
        let tags = self
            .tags()
            .filter(|it| self.is_of(it, claim) && self.has_words(it));
        let published = names(tags);
        (!published.is_empty()).then(|| Unpublished {
            cuda: String::new(),
            published,
            known: self.tags().count(),
            ..self.new_finding("tag", claim)
        })
    }

    fn new_finding(&self, kind: &str, claim: &Claim) -> Unpublished {
        Unpublished {
            cuda: self.toolkits.join(" and "),
            ..Unpublished::new(kind, self.is_publisher, claim)
        }
    }

    /// The builds of the claimed release.
    fn variants(&self, claim: &Claim) -> Vec<&'r Variant> {
        let releases = self.publications.releases.iter();
        let claimed = releases.filter(|it| meets(&it.version, &claim.version) == Some(true));
        claimed.flat_map(|it| &it.variants).collect()
    }

    fn is_claimed(&self, toolkit: &str) -> bool {
        let mut claimed = self.toolkits.iter();
        claimed.any(|it| meets(toolkit, it) == Some(true))
    }

    /// The published tags; those that only another registry has do not count on the hub.
    fn tags(&self) -> impl Iterator<Item = &'r Tag> {
        let tags = self.publications.tags.tags.iter();
        tags.filter(|it| !self.is_on_hub || !it.contains_key("registry"))
    }

    fn is_named(&self, tag: &Tag) -> bool {
        tag.get("tag").map(String::as_str) == self.reference.tag
    }

    fn is_denied(&self) -> bool {
        let mut denied = self.publications.tags.not_published.iter();
        self.is_on_hub && denied.any(|it| self.is_named(it))
    }

    fn is_of(&self, tag: &Tag, claim: &Claim) -> bool {
        let version = tag.get(&claim.subject);
        version.is_some_and(|it| meets(it, &claim.version) == Some(true))
    }

    fn is_for_toolkit(&self, tag: &Tag) -> bool {
        let toolkit = tag.get(&self.publications.terms.framework.toolkit);
        toolkit.is_some_and(|it| self.is_claimed(it))
    }

    /// Whether a tag has the words that the reference claims, such as its flavour.
    fn has_words(&self, tag: &Tag) -> bool {
        let words = &self.publications.terms.framework.words;
        let has = |word: &String| {
            let mut claims = self.reference.of(word);
            claims.all(|it| tag.get(word) == Some(&it.version))
        };
        words.iter().all(has)
    }

    /// Whether a tag has the versions of other parts that the reference claims.
    fn has_parts(&self, tag: &Tag) -> bool {
        let parts = &self.publications.terms.framework.parts;
        let has = |part: &String| {
            let meets_claim = |it: &Claim| meets(tag.get(part)?, &it.version);
            let mut claims = self.reference.of(part);
            claims.all(|it| meets_claim(it) == Some(true))
        };
        parts.iter().all(has)
    }
}

fn names<'t>(tags: impl IntoIterator<Item = &'t Tag>) -> Vec<String> {
    let names = tags.into_iter().filter_map(|it| it.get("tag"));
    names.cloned().collect()
}
