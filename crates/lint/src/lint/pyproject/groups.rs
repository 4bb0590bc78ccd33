//! Groups of dependencies that include others: <https://packaging.python.org/specifications/dependency-groups/>.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::facts::Pin;
use super::reader::Reader;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::spelling::nearest;
use imgcheck_base::version::requirement::normalized;

/// Packages that are installed together with the main ones.
pub struct Group {
    /// As written.
    pub name: String,
    /// Packages of the group itself, without included groups.
    pub pins: Vec<Pin>,
    /// Whether it is an extra of the package, which groups cannot include.
    pub extra: bool,
    /// The groups that it includes.
    pub includes: Vec<Include>,
}

/// An inclusion of a group.
pub struct Include {
    /// Normalized name.
    pub name: String,
    /// Byte range in the file.
    pub place: Range<usize>,
}

/// The packages of the groups that a group includes directly.
pub fn included<'g>(group: &'g Group, groups: &'g [Group]) -> impl Iterator<Item = &'g Pin> {
    let named = groups.iter().filter(|other| {
        let name = normalized(&other.name);
        !other.extra && group.includes.iter().any(|include| include.name == name)
    });
    named.flat_map(|other| &other.pins)
}

impl Reader<'_> {
    /// Rejects groups that include an unknown group, or themselves.
    ///
    /// # Errors
    /// [`Error::Rule`] with the position.
    pub fn check_includes(&self, groups: &[Group]) -> Result<()> {
        let indexes: BTreeMap<String, usize> = groups
            .iter()
            .enumerate()
            .filter(|(_, group)| !group.extra)
            .map(|(index, group)| (normalized(&group.name), index))
            .collect();
        let mut targets = Vec::new();
        for group in groups {
            let mut found = BTreeSet::new();
            for include in &group.includes {
                match indexes.get(&include.name) {
                    Some(index) => drop(found.insert(*index)),
                    // PDM has its own groups beside those of the standard.
                    None if self.get(&["tool", "pdm"]).is_some() => {}
                    None => return Err(self.no_group(include, &indexes)),
                }
            }
            targets.push(found);
        }
        for (index, group) in groups.iter().enumerate() {
            if !reached(index, &targets).contains(&index) {
                continue;
            }
            let includes = group.includes.iter().find(|include| {
                let target = indexes.get(&include.name);
                target.is_some_and(|it| *it == index || reached(*it, &targets).contains(&index))
            });
            if let Some(include) = includes {
                let problem = format!("group `{}` includes itself", group.name);
                return Err(self.text.fault(include.place.clone(), &problem, None));
            }
        }
        Ok(())
    }

    fn no_group(&self, include: &Include, groups: &BTreeMap<String, usize>) -> Error {
        let problem = format!("unknown group `{}`", include.name);
        let near = nearest(&include.name, groups.keys().map(String::as_str));
        let help = near.map(|near| format!("did you mean `{near}`?"));
        self.text
            .fault(include.place.clone(), &problem, help.as_deref())
    }
}

/// The groups reachable in one step or more.
fn reached(from: usize, targets: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(group) = open.pop() {
        let next = targets.get(group).into_iter().flatten();
        open.extend(next.copied().filter(|group| seen.insert(*group)));
    }
    seen
}
