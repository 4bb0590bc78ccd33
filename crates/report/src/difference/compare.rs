//! Compares two images.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::model::{Change, Coverage, Findings, Layers};
use crate::{Inspection, summary};
use imgcheck_base::lexical::name_of;
use imgcheck_model::finding::Finding;
use imgcheck_model::stack::{self, Component};

/// Named values, in display order.
type Named = Vec<(String, String)>;

/// The values that differ between two lists, in the order of the first list, then of the second. Paths that differ only in
/// the Python version are equal.
fn changes(from: &Named, to: &Named) -> Vec<Change> {
    let by_name = |list: &Named| -> BTreeMap<String, String> {
        let named = list.iter().rev();
        named
            .map(|(name, value)| (any_python(name), value.clone()))
            .collect()
    };
    let (before, after) = (by_name(from), by_name(to));
    let mut seen = BTreeSet::new();
    from.iter()
        .chain(to)
        .map(|(name, _)| (name, any_python(name)))
        .filter(|(_, key)| seen.insert(key.clone()))
        .map(|(name, key)| Change {
            name: name.clone(),
            from: before.get(&key).cloned(),
            to: after.get(&key).cloned(),
        })
        .filter(|change| {
            change.from.as_deref().map(any_python) != change.to.as_deref().map(any_python)
        })
        .collect()
}

/// `None` if one of the images is a directory, which has no layers.
pub(super) fn layers(from: &Inspection, to: &Inspection) -> Option<Layers> {
    if from.config_digest.is_none() || to.config_digest.is_none() {
        return None;
    }
    let ids = |facts: &Inspection| -> Vec<String> {
        let layers = facts.layers.iter();
        layers.map(|layer| layer.diff_id.clone()).collect()
    };
    let (from, to) = (ids(from), ids(to));
    let same = common(&from, &to);
    Some(Layers {
        same,
        removed: from.len() - same,
        added: to.len() - same,
    })
}

/// How many elements two lists have in common, duplicates counted.
fn common<T: Ord>(from: &[T], to: &[T]) -> usize {
    to.len() - only(to, from, |item| item).len()
}

/// The elements of `ours` that are missing from `others`, compared by `identity`, duplicates counted.
fn only<'t, T, K: Ord>(ours: &'t [T], others: &'t [T], identity: fn(&'t T) -> K) -> Vec<&'t T> {
    let mut left: BTreeMap<K, usize> = BTreeMap::new();
    for other in others {
        *left.entry(identity(other)).or_default() += 1;
    }
    let is_only = |item: &&'t T| match left.get_mut(&identity(item)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    ours.iter().filter(is_only).collect()
}

pub(super) fn claims(from: &Inspection, to: &Inspection) -> Vec<Change> {
    changes(&claimed(from), &claimed(to))
}

/// The claims of each subject: `2.8.0 (tag), 2.8 (env)`.
fn claimed(facts: &Inspection) -> Named {
    let mut seen = BTreeSet::new();
    let subjects = facts.claims.iter().map(|claim| &claim.subject);
    subjects
        .filter(|subject| seen.insert(*subject))
        .map(|subject| {
            let claims = facts.claims.iter().filter(|it| it.subject == *subject);
            (
                subject.clone(),
                summary::claimed(&claims.collect::<Vec<_>>()),
            )
        })
        .collect()
}

/// The changes of loaded components, and the names of those that stayed the same.
pub(super) fn stack(from: &Inspection, to: &Inspection) -> (Vec<Change>, Vec<String>) {
    let (from, to) = (loaded(from), loaded(to));
    let changes = changes(&from, &to);
    let changed = |name: &str| changes.iter().any(|change| change.name == name);
    let same = from
        .iter()
        .map(|(name, _)| name.clone())
        .filter(|name| !changed(name))
        .collect();
    (changes, same)
}

fn loaded(facts: &Inspection) -> Named {
    let mut names = BTreeSet::new();
    facts
        .stack
        .iter()
        .filter(|component| component.loaded && names.insert(&component.name))
        .map(|component| (component.name.clone(), version(component)))
        .collect()
}

fn version(component: &Component) -> String {
    match component.version.as_str() {
        "" => "unknown version".to_owned(),
        version => version.to_owned(),
    }
}

pub(super) fn copies(from: &Inspection, to: &Inspection) -> Vec<Change> {
    let others = |facts: &Inspection| -> Named {
        let copies = facts.stack.iter().filter(|component| !component.loaded);
        copies
            .map(|copy| (format!("{} {}", copy.name, copy.path), version(copy)))
            .collect()
    };
    changes(&others(from), &others(to))
}

pub(super) fn gpu(from: &Inspection, to: &Inspection) -> Vec<Coverage> {
    let (before, after) = (covered(from), covered(to));
    before
        .iter()
        .filter_map(|(key, (name, before))| {
            let (_, after) = after.get(key)?;
            let only = |ours: &[String], theirs: &[String]| -> Vec<String> {
                let ours = ours.iter().filter(|one| !theirs.contains(one));
                ours.cloned().collect()
            };
            let change = Coverage {
                name: name.clone(),
                gained: only(after, before),
                lost: only(before, after),
            };
            (!change.gained.is_empty() || !change.lost.is_empty()).then_some(change)
        })
        .collect()
}

/// The architectures of PyTorch's kernels and of each file, by path.
fn covered(facts: &Inspection) -> BTreeMap<String, (String, Vec<String>)> {
    let all = |coverage: &stack::Coverage| [&coverage.sass[..], &coverage.ptx[..]].concat();
    let libraries = facts.gpu.libraries.iter();
    let torch = facts.gpu.torch.iter();
    libraries
        .map(|library| (library.path.clone(), all(&library.coverage)))
        .chain(torch.map(|torch| ("torch".to_owned(), all(torch))))
        .map(|(name, architectures)| (any_python(&name), (name, architectures)))
        .collect()
}

pub(super) fn driver(from: &Inspection, to: &Inspection) -> Vec<Change> {
    let floor = |facts: &Inspection| -> Named {
        let Some(floor) = &facts.driver else {
            return Vec::new();
        };
        let named = [
            ("cuda", Some(&floor.cuda)),
            ("native", floor.native.as_ref()),
            ("compatible", floor.compatible.as_ref()),
        ];
        let known = named
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        known
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect()
    };
    changes(&floor(from), &floor(to))
}

pub(super) fn loader(from: &Inspection, to: &Inspection) -> Vec<Change> {
    changes(&mapped(from), &mapped(to))
}

/// The files that the main process maps: by SONAME, the path and, if known, the version.
fn mapped(facts: &Inspection) -> Named {
    let processes = facts.loader.iter().flat_map(|loader| &loader.processes);
    let objects = processes
        .filter(|process| process.main)
        .flat_map(|process| &process.objects);
    objects
        .map(|object| {
            let file = name_of(&object.path);
            let name = match object.soname.as_str() {
                "" => file,
                soname => soname,
            };
            let version = object.readings.get("version");
            let version = version.map_or(String::new(), |version| format!(" ({version})"));
            (name.to_owned(), format!("{}{version}", object.path))
        })
        .collect()
}

pub(super) fn findings(from: &[Finding], to: &[Finding]) -> Findings {
    let changed = |ours, others| only(ours, others, identity).into_iter().cloned().collect();
    let new: Vec<Finding> = changed(to, from);
    Findings {
        same: to.len() - new.len(),
        fixed: changed(from, to),
        new,
    }
}

/// What identifies a finding across images. The fingerprint does not work here: it includes the repository.
fn identity(finding: &Finding) -> (&str, Option<String>, Option<&str>) {
    let subject = finding.claim.as_ref().map(|claim| claim.subject.as_str());
    (
        &finding.rule,
        finding.path.as_deref().map(any_python),
        subject,
    )
}

/// A path without the Python version: a Python upgrade changes the path of every package, and nothing else.
fn any_python(path: &str) -> String {
    static RELEASE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(python|cpython-|libpython)3\.?\d+").ok());
    match &*RELEASE {
        Some(release) => release.replace_all(path, "${1}3").into_owned(),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pairs: &[(&str, &str)]) -> Named {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn only_changes_are_listed() {
        let from = named(&[("torch", "2.8.0"), ("python", "3.11"), ("cudnn", "9.10.2")]);
        let to = named(&[("python", "3.11"), ("torch", "2.9.1"), ("nccl", "2.27.5")]);
        let changed: Vec<_> = changes(&from, &to)
            .into_iter()
            .map(|change| (change.name, change.from, change.to))
            .collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            changed,
            [
                ("torch".to_owned(), text("2.8.0"), text("2.9.1")),
                ("cudnn".to_owned(), text("9.10.2"), None),
                ("nccl".to_owned(), None, text("2.27.5")),
            ]
        );
    }

    #[test]
    fn a_python_upgrade_is_not_a_change_of_paths() {
        let path = |release: &str| {
            any_python(&format!(
                "/usr/lib/python3.{release}/site-packages/a.cpython-3{release}-x86_64-linux-gnu.so"
            ))
        };
        assert_eq!(path("9"), path("12"));
        assert_ne!(any_python("/opt/a"), any_python("/opt/b"));
    }

    #[test]
    fn shared_layers_are_counted_with_duplicates() {
        assert_eq!(common(&["a", "a", "b"], &["a", "b", "b"]), 2);
        assert_eq!(common::<&str>(&[], &["a"]), 0);
    }
}
