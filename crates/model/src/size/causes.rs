//! Bytes that a container probably does not need, and why they are there.

use std::collections::{BTreeMap, HashMap, HashSet};

use globset::GlobSet;
use serde::Deserialize;

use super::facts::{Cause, CauseSize, SizedPath, largest};
use crate::globs::globs;
use imgcheck_base::error::Result;
use imgcheck_image::{FileIdentity, LayerFacts, Node, RootFilesystem};

/// The caches of programs that install: `rules/knowledge/size.yaml`.
#[derive(Debug)]
pub struct Caches {
    rows: Vec<CacheRow>,
    directories: GlobSet,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheRow {
    by: String,
    directory: String,
    help: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "confidence")]
    _confidence: String,
}

/// The file of [`Caches`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CachesTable {
    caches: Vec<CacheRow>,
}

impl Caches {
    /// Compiles the table.
    ///
    /// # Errors
    /// A glob is invalid.
    pub fn new(table: CachesTable) -> Result<Self> {
        let directories = table.caches.iter().map(|it| it.directory.clone());
        Ok(Caches {
            directories: globs("size", &directories.collect::<Vec<_>>())?,
            rows: table.caches,
        })
    }

    /// Who fills a directory, and what keeps that out of a layer. The path has no leading slash.
    pub(super) fn of_directory(&self, path: &str) -> Option<String> {
        let row = self.directories.matches(path).first().copied()?;
        let row = self.rows.get(row)?;
        Some(format!("{}: {}", row.by, row.help))
    }
}

/// The smallest file that a list of replaced files names, in bytes.
const SMALLEST_REPLACED: u64 = 64 << 10;

/// The files that a later layer replaces or removes, of which there are `bytes` bytes.
pub(super) fn replaced<'l>(
    layers: impl Iterator<Item = &'l LayerFacts>,
    root: &RootFilesystem,
    bytes: u64,
) -> CauseSize {
    let mut paths = Vec::new();
    for (layer, facts) in layers.enumerate().filter(|_| bytes > 0) {
        let files = facts.entries.iter().filter(|it| it.kind.is_file());
        for file in files.filter(|it| it.size >= SMALLEST_REPLACED) {
            let detail = match root.entry(&file.path).map(|it| it.layer()) {
                Some(Some(now)) if now == layer => continue,
                Some(Some(now)) => format!("of layer {layer}, replaced in layer {now}"),
                _ => format!("of layer {layer}, removed later"),
            };
            paths.push(SizedPath {
                path: format!("/{}", file.path),
                bytes: file.size,
                detail,
            });
        }
    }
    CauseSize {
        cause: Cause::Replaced,
        bytes,
        largest: largest(paths),
    }
}

/// The further copies of GPU libraries, each with what is known of the copy that counts: files with one SONAME, of which a process
/// loads one and not this; if it loads none, all but the first.
pub(super) fn duplicates<'r>(
    root: &'r RootFilesystem<'r>,
    loaded: &HashSet<&str>,
) -> HashMap<FileIdentity, String> {
    let mut copies: BTreeMap<&str, Vec<LibraryCopy>> = BTreeMap::new();
    for node in root.files() {
        let Some(elf) = node
            .elf()
            .filter(|it| it.identity.is_some() || it.gpu.is_some())
        else {
            continue;
        };
        let (Some(soname), Some(identity)) = (&elf.soname, node.identity()) else {
            continue;
        };
        let of_name = copies.entry(soname).or_default();
        match of_name.iter_mut().find(|it| it.identity == identity) {
            Some(known) => known.is_loaded |= loaded.contains(node.path().as_str()),
            None => of_name.push(LibraryCopy::of(node, identity, loaded)),
        }
    }
    let mut further = HashMap::new();
    for mut of_name in copies.into_values().filter(|it| it.len() > 1) {
        of_name.sort_by(|a, b| (!a.is_loaded, &a.path).cmp(&(!b.is_loaded, &b.path)));
        let first = of_name[0].clone();
        let verb = if first.is_loaded {
            "processes load"
        } else {
            "the same library is"
        };
        let unused = of_name.into_iter().skip(1).filter(|it| !it.is_loaded);
        further.extend(unused.map(|it| (it.identity, format!("{verb} {}", first.path))));
    }
    further
}

/// One copy of a library.
#[derive(Clone)]
struct LibraryCopy {
    path: String,
    identity: FileIdentity,
    is_loaded: bool,
}

impl LibraryCopy {
    fn of(node: Node, identity: FileIdentity, loaded: &HashSet<&str>) -> Self {
        let path = node.path();
        LibraryCopy {
            is_loaded: loaded.contains(path.as_str()),
            path,
            identity,
        }
    }
}
