//! Compares two images part by part.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::{Change, Coverage, Findings, Layers};
use crate::finding::Finding;
use crate::report::{Inspection, summary};
use crate::stack::{self, Component};

/// Things by name, in the order that they are shown in.
type Named = Vec<(String, String)>;

/// What is different in two lists of named values, in the order of the first list, then of the second. Paths that differ
/// only in the release of Python are the same.
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

/// `None` if one of them is a directory, which has no layers to compare.
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

/// How many elements two lists share, each counted as often as both have it.
fn common<T: Ord>(from: &[T], to: &[T]) -> usize {
    to.len() - only(to, from, |item| item).len()
}

/// The elements that the others do not have, by what makes two the same, each counted as often as it is there.
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

/// Each subject with all that is claimed of it: `2.8.0 (tag), 2.8 (env)`.
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

/// What changed of the copies that the processes get, and the names of those that did not.
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
        "" => "of an unknown version".to_owned(),
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

/// The architectures of PyTorch's kernels, and of each file by its path. A file that only one image has is no change of coverage.
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

/// What the main process maps: each SONAME with the file that answers for it, and its version where its bytes tell one.
fn mapped(facts: &Inspection) -> Named {
    let processes = facts.loader.iter().flat_map(|loader| &loader.processes);
    let objects = processes
        .filter(|process| process.main)
        .flat_map(|process| &process.objects);
    objects
        .map(|object| {
            let file = object.path.rsplit('/').next().unwrap_or_default();
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

/// What makes two findings the same. The fingerprint does not serve: it names the repository too.
fn identity(finding: &Finding) -> (&str, Option<String>, Option<&str>) {
    let subject = finding.claim.as_ref().map(|claim| claim.subject.as_str());
    (
        &finding.rule,
        finding.path.as_deref().map(any_python),
        subject,
    )
}

/// The path for whatever release of Python: with another one, the path of every package is another, and nothing else changes.
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
    fn only_what_changes_is_told() {
        let from = named(&[("torch", "2.8.0"), ("python", "3.11"), ("cudnn", "9.10.2")]);
        let to = named(&[("python", "3.11"), ("torch", "2.9.1"), ("nccl", "2.27.5")]);
        let told: Vec<_> = changes(&from, &to)
            .into_iter()
            .map(|change| (change.name, change.from, change.to))
            .collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            told,
            [
                ("torch".to_owned(), text("2.8.0"), text("2.9.1")),
                ("cudnn".to_owned(), text("9.10.2"), None),
                ("nccl".to_owned(), None, text("2.27.5")),
            ]
        );
    }

    #[test]
    fn another_python_is_no_change_of_paths() {
        let path = |release: &str| {
            any_python(&format!(
                "/usr/lib/python3.{release}/site-packages/a.cpython-3{release}-x86_64-linux-gnu.so"
            ))
        };
        assert_eq!(path("9"), path("12"));
        assert_ne!(any_python("/opt/a"), any_python("/opt/b"));
    }

    #[test]
    fn layers_are_counted_as_often_as_both_have_them() {
        assert_eq!(common(&["a", "a", "b"], &["a", "b", "b"]), 2);
        assert_eq!(common::<&str>(&[], &["a"]), 0);
    }
}
