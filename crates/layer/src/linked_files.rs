//! Files that matter because of a link.
//!
//! A layer is read without the others, so the path of an entry decides whether its text is kept. Only the merged tree tells that
//! `etc/ld.so.preload` is a link to `opt/x`, a hard link of it, or was unpacked through a link to `etc`. The text of such a file is read
//! in a second pass.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::{Capture, FilePatterns, ReadContext, ReadLayer};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, LimitExceeded, Limits};
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_image::{Node, RootFilesystem};
use imgcheck_source::source::LayerBlob;

/// Directories that are nested more deeply below a link are not looked into: no pattern names so many.
const DEPTH: usize = 8;

/// Reads the files of an image that have to be captured because of links, and adds their content to the facts of their layers.
///
/// # Errors
/// A layer cannot be read again, or a limit is exceeded.
pub fn read_linked_files(
    context: &ReadContext,
    blobs: &[LayerBlob],
    layers: &mut [ReadLayer],
) -> Result<()> {
    let facts: Vec<Arc<LayerFacts>> = layers.iter().map(|layer| layer.facts.clone()).collect();
    let unread = {
        let merged = facts.iter().map(|facts| &**facts);
        let root = RootFilesystem::merge_within(merged, &context.bounds)?;
        let found = Search::new(&root, context.patterns(), &context.bounds.limits).run();
        let found = found.map_err(|exceeded| Error::limit("links of the image", exceeded))?;
        positions(&facts, &found)
    };
    for (layer, files) in unread {
        let entries = &facts[layer].entries;
        let paths = files
            .iter()
            .map(|(at, how)| (entries[*at].path.clone(), *how));
        let again = context.read_files(&blobs[layer], paths.collect())?;
        let mut changed = LayerFacts::clone(&facts[layer]);
        let paths: HashSet<&str> = files.keys().map(|at| &*entries[*at].path).collect();
        let (before, after) = (by_path(entries, &paths), by_path(&again.entries, &paths));
        for at in files.into_keys() {
            let path = &*entries[at].path;
            let same = before[path].iter().position(|(before, _)| *before == at);
            let read = same.and_then(|nth| after.get(path)?.get(nth));
            let read = read.filter(|(_, entry)| !is_unread(entry)).ok_or_else(|| {
                let problem = format!("{path}: cannot be read again");
                Error::layer(blobs[layer].name(), problem)
            })?;
            changed.entries[at].kind = read.1.kind.clone();
        }
        let changed = Arc::new(changed);
        let same = |it: &&mut ReadLayer| Arc::ptr_eq(&it.facts, &facts[layer]);
        for layer in layers.iter_mut().filter(same) {
            layer.facts = Arc::clone(&changed);
        }
    }
    Ok(())
}

/// The entries with each of these paths, in the order of the archive, with their positions.
fn by_path<'e>(
    entries: &'e [Entry],
    paths: &HashSet<&str>,
) -> HashMap<&'e str, Vec<(usize, &'e Entry)>> {
    let mut found: HashMap<&str, Vec<(usize, &Entry)>> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        if paths.contains(&*entry.path) {
            found.entry(&entry.path).or_default().push((at, entry));
        }
    }
    found
}

/// Whether facts are those of a layer, perhaps with files that were read because of links.
pub fn is_extended(layer: &LayerFacts, facts: &LayerFacts) -> bool {
    let is_same = |(read, fact): (&Entry, &Entry)| {
        let is_file = matches!(fact.kind, EntryKind::File(_));
        let kind = match is_unread(read) && is_file {
            true => read.kind.clone(),
            false => fact.kind.clone(),
        };
        *read
            == Entry {
                kind,
                ..fact.clone()
            }
    };
    layer.entries.len() == facts.entries.len()
        && layer.entries.iter().zip(&facts.entries).all(is_same)
}

fn is_unread(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::File(Content::Unread))
}

/// The layer of each entry, and its position there. Of layers that share facts, the first.
fn positions(
    facts: &[Arc<LayerFacts>],
    found: &HashMap<*const Entry, Capture>,
) -> BTreeMap<usize, BTreeMap<usize, Capture>> {
    let mut positions: BTreeMap<usize, BTreeMap<usize, Capture>> = BTreeMap::new();
    for (&entry, &capture) in found {
        let layer = facts
            .iter()
            .position(|facts| facts.entries.as_ptr_range().contains(&entry));
        if let Some(layer) = layer {
            let first = facts[layer].entries.as_ptr();
            let at = (entry.addr() - first.addr()) / size_of::<Entry>();
            positions.entry(layer).or_default().insert(at, capture);
        }
    }
    positions
}

/// Looks for files that were not captured, but have a path, with or without links, that asks for it.
struct Search<'s> {
    root: &'s RootFilesystem<'s>,
    patterns: &'s FilePatterns,
    limits: &'s Limits,
    /// Files that were looked at below links.
    visited: u64,
    found: HashMap<*const Entry, Capture>,
}

impl<'s> Search<'s> {
    fn new(root: &'s RootFilesystem<'s>, patterns: &'s FilePatterns, limits: &'s Limits) -> Self {
        Search {
            root,
            patterns,
            limits,
            visited: 0,
            found: HashMap::new(),
        }
    }

    fn run(mut self) -> Result<HashMap<*const Entry, Capture>, LimitExceeded> {
        for node in self.root.walk_tree() {
            if node.symlink_target().is_some() {
                self.follow(&relative(node), node, 0)?;
            } else if node.entry().is_some_and(is_unread) && !node.is_at_stored_path() {
                self.add(&relative(node), node);
            }
        }
        Ok(self.found)
    }

    /// Looks at what has the path `path` through links: `node`, or what it links to.
    fn follow(&mut self, path: &str, node: Node<'s>, depth: usize) -> Result<(), LimitExceeded> {
        let names_file = self.patterns.capture_at(path, 0).is_whole();
        let names_directory = self.patterns.has_in(path);
        if !names_file && !names_directory {
            return Ok(());
        }
        let Ok(target) = self.root.resolve(&node.path()) else {
            return Ok(());
        };
        if names_file {
            self.add(path, target);
        }
        if !names_directory || depth == DEPTH {
            return Ok(());
        }
        for child in target.children() {
            self.visited += 1;
            self.limits.check(Limit::Entries, self.visited)?;
            self.follow(&format!("{path}/{}", child.name()), child, depth + 1)?;
        }
        Ok(())
    }

    fn add(&mut self, path: &str, node: Node<'s>) {
        let Some(entry) = node.entry().filter(|entry| is_unread(entry)) else {
            return;
        };
        let capture = self.patterns.capture_at(path, entry.size);
        if capture.is_whole() {
            self.found.insert(entry, capture);
        }
    }
}

/// The path without the leading slash, as in layers.
fn relative(node: Node) -> String {
    node.path().split_off(1)
}
