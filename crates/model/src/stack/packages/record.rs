//! The libraries that Python distributions list in RECORD (Python Packaging User Guide, "Recording installed projects").

use std::collections::{BTreeMap, HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stack::Distribution;
use crate::stack::inventory::Inventory;
use crate::stack::pattern::matches_pattern;
use imgcheck_elf::ElfFacts;
use imgcheck_image::{FileIdentity, Node};

use super::listed_files::LEFT_OUT;
use super::owners::OWNERS;

/// Files of a distribution that are listed in a report.
const LISTED: usize = 8;
/// Maximum number of libraries of all distributions that are looked at. No real image has more.
const LIBRARIES: usize = 500_000;

/// Libraries of one Python distribution that another one has replaced with its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OverwrittenFiles {
    /// The distribution whose files are gone: `onnxruntime-gpu`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The distribution whose files are there: `onnxruntime`.
    pub by: String,
    /// Its version.
    pub by_version: String,
    /// The first files, in the order of their paths.
    pub files: Vec<String>,
    /// How many files there are.
    pub count: usize,
    /// Layer index of the first file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
}

/// What the RECORD files of an image list.
pub struct Records<'r> {
    /// By distribution: its libraries; `None` without RECORD.
    of: Vec<Option<Vec<Library<'r>>>>,
    /// The distributions that list a file, with the position in their list.
    claims: HashMap<FileIdentity, Vec<(usize, usize)>>,
}

/// A library as its distribution contained it.
struct Library<'r> {
    /// Relative to the directory that the distribution is installed in.
    path: &'r str,
    node: Node<'r>,
    identity: FileIdentity,
    hash: &'r str,
    size: Option<u64>,
}

impl Library<'_> {
    /// Whether the file has the size that its distribution says.
    fn is_original(&self) -> bool {
        self.size == Some(self.node.size())
    }
}

impl<'r> Records<'r> {
    pub fn read(inventory: &Inventory<'r>, distributions: &[Distribution]) -> Self {
        let mut left = LIBRARIES;
        let mut records = Records {
            of: Vec::new(),
            claims: HashMap::new(),
        };
        for distribution in distributions {
            let libraries = libraries(inventory, distribution, left);
            left -= libraries.as_ref().map_or(0, Vec::len);
            records.of.push(libraries);
        }
        for (number, libraries) in records.of.iter().enumerate() {
            for (place, library) in libraries.iter().flatten().enumerate() {
                let claims = records.claims.entry(library.identity).or_default();
                if claims.len() < OWNERS {
                    claims.push((number, place));
                }
            }
        }
        records
    }

    /// The libraries of a distribution whose relative paths match a pattern and which no other distribution has replaced; `None` without RECORD.
    pub(super) fn owned(
        &self,
        distribution: usize,
        pattern: &str,
    ) -> Option<HashSet<FileIdentity>> {
        let libraries = self.of.get(distribution)?.as_ref()?.iter();
        let own = libraries.filter(|it| matches_pattern(pattern, it.path));
        let own = own.filter(|it| self.replacement(it).is_none());
        Some(own.map(|it| it.identity).collect())
    }

    /// The libraries that a distribution lists, without those that another one has replaced.
    pub(super) fn libraries(
        &self,
        distribution: usize,
    ) -> impl Iterator<Item = (Node<'r>, &'r ElfFacts)> {
        let libraries = self.of.get(distribution).into_iter().flatten().flatten();
        let libraries = libraries.filter(|it| self.replacement(it).is_none());
        libraries.filter_map(|it| Some((it.node, it.node.elf()?)))
    }

    /// The distribution that a file is of if it is not this library: the only one with other bytes that has the size of the file.
    fn replacement(&self, library: &Library) -> Option<usize> {
        let claims = self.claims.get(&library.identity)?;
        if claims.len() < 2 || library.is_original() {
            return None;
        }
        let others = claims.iter().filter_map(|(number, place)| {
            let other = self.of.get(*number)?.as_ref()?.get(*place)?;
            (other.hash != library.hash && other.is_original()).then_some(*number)
        });
        let [replacement] = others.collect::<Vec<_>>()[..] else {
            return None;
        };
        Some(replacement)
    }

    /// The files that distributions have replaced, by the two distributions. Two releases of one distribution do not count.
    pub fn overwritten(&self, distributions: &[Distribution]) -> Vec<OverwrittenFiles> {
        let mut found: BTreeMap<(usize, usize), BTreeMap<String, Option<usize>>> = BTreeMap::new();
        for (number, libraries) in self.of.iter().enumerate() {
            for library in libraries.iter().flatten() {
                if let Some(by) = self.replacement(library)
                    && distributions[by].name != distributions[number].name
                {
                    let files = found.entry((number, by)).or_default();
                    files.insert(library.node.path(), library.node.layer());
                }
            }
        }
        let found = found.into_iter().map(|((number, by), files)| {
            let (own, other) = (&distributions[number], &distributions[by]);
            OverwrittenFiles {
                name: own.name.clone(),
                version: own.version.clone(),
                by: other.name.clone(),
                by_version: other.version.clone(),
                count: files.len(),
                layer: files.values().next().copied().flatten(),
                files: files.into_keys().take(LISTED).collect(),
            }
        });
        found.collect()
    }
}

/// A line of a RECORD.
pub(super) struct Line<'r> {
    /// Relative to the directory that the distribution is installed in.
    pub path: &'r str,
    hash: &'r str,
    /// In bytes, as written.
    pub size: &'r str,
}

/// The lines of the RECORD of a distribution, as far as the facts of the layer have them; `None` without RECORD.
pub(super) fn lines<'r>(
    inventory: &Inventory<'r>,
    distribution: &Distribution,
) -> Option<impl Iterator<Item = Line<'r>>> {
    let text = inventory.text(&distribution.record())?.text;
    let lines = text.lines().filter_map(|line| {
        let mut fields = line.rsplitn(3, ',');
        let (size, hash, path) = (fields.next()?.trim(), fields.next()?, fields.next()?);
        let path = path.trim_matches('"');
        Some(Line { path, hash, size })
    });
    Some(lines)
}

/// The names that a distribution can be imported by, each as often as RECORD has files of it. What nothing imports is left out.
pub(in crate::stack) fn modules<'r>(
    inventory: &Inventory<'r>,
    distribution: &Distribution,
) -> impl Iterator<Item = &'r str> {
    let lines = lines(inventory, distribution).into_iter().flatten();
    let files = lines.filter(|it| it.path.ends_with(".py"));
    let names = files.filter_map(|it| it.path.split(['/', '.']).next());
    names.filter(|it| !LEFT_OUT.contains(it))
}

fn libraries<'r>(
    inventory: &Inventory<'r>,
    distribution: &Distribution,
    most: usize,
) -> Option<Vec<Library<'r>>> {
    let lines = lines(inventory, distribution)?;
    let lines = lines.filter(|it| it.path.contains(".so"));
    let libraries = lines.filter_map(|Line { path, hash, size }| {
        let node = inventory
            .root
            .entry(&format!("{}/{path}", distribution.site))?;
        Some(Library {
            path,
            node,
            identity: node.identity()?,
            hash,
            size: size.parse().ok(),
        })
    });
    Some(libraries.take(most).collect())
}
