//! Which publisher a reference belongs to.
//!
//! A publisher's globs are compared with the *last* components of `registry/repository`, so that `nvidia/cuda` is also
//! found behind a mirror (`registry.example:5000/nvidia/cuda`). `*` stands for any text within a component, a last
//! component `**` for one or more components.

use super::file::PublisherEntry;
use super::pattern::Pattern;
use crate::reference::name::Name;

/// What is special about the references of one publisher.
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
