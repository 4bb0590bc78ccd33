//! Which publisher a reference belongs to.
//!
//! A publisher's globs are compared with the *last* components of `registry/repository`, so that `nvidia/cuda` is also
//! found behind a mirror (`registry.example:5000/nvidia/cuda`). `*` stands for any text within a component, a last
//! component `**` for one or more components.

use super::file::PublisherEntry;
use super::pattern::Pattern;
use imgcheck_base::reference::name::Name;

/// The patterns of one publisher's references.
#[derive(Debug)]
pub struct Publisher {
    globs: Vec<Vec<String>>,
    /// Patterns of the tag.
    pub tag: Vec<Pattern>,
    /// Patterns of the last component of the repository.
    pub name: Vec<Pattern>,
    /// Bare versions, in place of the product's.
    pub bare: Option<Vec<Pattern>>,
}

impl From<PublisherEntry> for Publisher {
    fn from(entry: PublisherEntry) -> Self {
        let split = |glob: String| glob.split('/').map(str::to_owned).collect();
        Publisher {
            globs: entry.r#match.into_iter().map(split).collect(),
            tag: entry.tag,
            name: entry.name,
            bare: entry.bare,
        }
    }
}

impl Publisher {
    /// The number of literal characters of the most literal glob that matches, if one does.
    pub fn specificity(&self, name: &Name) -> Option<usize> {
        let components: Vec<&str> = name
            .registry
            .as_deref()
            .into_iter()
            .chain(name.components())
            .collect();
        self.globs
            .iter()
            .filter(|glob| matches(glob, &components))
            .map(|glob| {
                glob.iter()
                    .map(|part| part.replace('*', "").len() + 1)
                    .sum()
            })
            .max()
    }
}

fn matches(glob: &[String], components: &[&str]) -> bool {
    match glob.split_last() {
        Some((last, parents)) if last == "**" => {
            (1..components.len()).any(|end| ends_with(parents, &components[..end]))
        }
        _ => ends_with(glob, components),
    }
}

fn ends_with(glob: &[String], components: &[&str]) -> bool {
    let Some(skipped) = components.len().checked_sub(glob.len()) else {
        return false;
    };
    glob.iter()
        .zip(&components[skipped..])
        .all(|(pattern, component)| component_matches(pattern, component))
}

/// Whether the literal pieces between the stars occur in order, the first at the start and the last at the end.
fn component_matches(pattern: &str, component: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == component;
    };
    let Some(mut left) = component.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match left.find(piece) {
            Some(at) => left = &left[at + piece.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn specificity(glob: &str, reference: &str) -> Option<usize> {
        let entry = PublisherEntry {
            r#match: vec![glob.to_owned()],
            tag: Vec::new(),
            name: Vec::new(),
            bare: None,
        };
        Publisher::from(entry).specificity(&reference.parse().unwrap())
    }

    #[test]
    fn a_glob_is_compared_with_the_last_components() {
        assert!(specificity("nvidia/cuda", "nvidia/cuda:12").is_some());
        assert!(specificity("nvidia/cuda", "mirror.example:5000/hub/nvidia/cuda").is_some());
        assert!(specificity("nvidia/cuda", "nvidia/cuda/extra").is_none());
        assert!(specificity("nvidia/cuda", "cuda").is_none());
        assert!(specificity("nvcr.io/nvidia/*", "nvcr.io/nvidia/pytorch").is_some());
        assert!(specificity("nvcr.io/nvidia/*", "nvcr.io/nvidia/k8s/dcgm").is_none());
    }

    #[test]
    fn stars_stand_for_text_within_a_component() {
        let host = "1.dkr.ecr.*.amazonaws.com/pytorch-*";
        assert!(specificity(host, "1.dkr.ecr.us-east-1.amazonaws.com/pytorch-training").is_some());
        assert!(specificity(host, "2.dkr.ecr.us-east-1.amazonaws.com/pytorch-training").is_none());
        assert!(specificity("a*b*c", "x/a-b-c").is_some());
        assert!(specificity("a*b*c", "x/a-c").is_none());
        assert!(specificity("ab*b", "x/ab").is_none());
    }

    #[test]
    fn two_stars_stand_for_one_or_more_components() {
        assert!(specificity("vertex-ai/**", "us-docker.pkg.dev/vertex-ai/training/x").is_some());
        assert!(specificity("vertex-ai/**", "us-docker.pkg.dev/vertex-ai").is_none());
    }

    #[test]
    fn more_literal_characters_are_more_specific() {
        let reference = "dustynv/cuda";
        assert!(specificity("dustynv/cuda", reference) > specificity("dustynv/*", reference));
        assert!(specificity("dustynv/*", reference) > specificity("cuda", reference));
    }
}
