//! A SquashFS image, read as one layer: its directories, and of its files the blocks that matter.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use super::budget::Budget;
use super::content::{ELF_MAGIC, of_file};
use super::context::ReadContext;
use super::modules::{self, Modules};
use super::patterns::Capture;
use imgcheck_archive::archive::path::display;
use imgcheck_archive::squashfs::{Extent, Inode, InodeKind, Squashfs};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::LimitExceeded;
use imgcheck_base::parallel;
use imgcheck_elf::ElfError;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};

/// The facts of an image: directories before their children, sorted by name.
pub(crate) fn scan(
    context: &ReadContext,
    name: &str,
    image: &Arc<Squashfs>,
) -> Result<(LayerFacts, Modules)> {
    let scan = Scan {
        context,
        name,
        image,
        budget: Budget::default(),
    };
    let (mut entries, mut files) = scan.tree()?;
    // Files that are next to each other share blocks.
    files.sort_by_key(|(_, extent)| extent.position());
    let contents = parallel::map(parallel::cores(), files.len(), |at| {
        let (entry, extent) = &files[at];
        scan.content(&entries[*entry], extent)
    })?;
    for ((entry, _), content) in files.iter().zip(contents) {
        entries[*entry].kind = EntryKind::File(content);
    }
    let is_source = |(at, _): &&(usize, Extent)| modules::is_parsed(entries[*at].path.as_bytes());
    let sources = files.iter().filter(is_source).cloned().collect();
    let modules = Modules::Squashfs(image.clone(), Arc::new(sources));
    Ok((LayerFacts { entries }, modules))
}

struct Scan<'a> {
    context: &'a ReadContext<'a>,
    name: &'a str,
    image: &'a Squashfs,
    budget: Budget,
}

/// Entries, and the regular files among them by their index.
type Tree = (Vec<Entry>, Vec<(usize, Extent)>);

impl Scan<'_> {
    fn tree(&self) -> Result<Tree> {
        let (mut entries, mut files) = (Vec::<Entry>::new(), Vec::new());
        let mut links = HashMap::new();
        let mut seen = HashSet::new();
        let root = self.image.root().map_err(|error| self.failed("", error))?;
        let mut waiting = vec![(String::new(), root)];
        while let Some((directory, inode)) = waiting.pop() {
            let InodeKind::Directory(listing) = &inode.kind else {
                let error = io::Error::other("damaged: the root is not a directory");
                return Err(self.failed(&directory, error));
            };
            // A directory is in one place, so this is a circle or a forgery.
            if !listing.is_empty() && !seen.insert(listing.place()) {
                let error = io::Error::other("damaged: the directory is in two places");
                return Err(self.failed(&directory, error));
            }
            self.context.bounds.cancellation.check()?;
            let children = self.image.children(listing);
            let mut below = Vec::new();
            for child in children.map_err(|error| self.failed(&directory, error))? {
                let path = joined(&directory, &child.name);
                let inode = self.image.child(&child);
                let inode = inode.map_err(|error| self.failed(&path, error))?;
                let entry = entry(path, &inode, &mut links);
                let taken = self
                    .budget
                    .entry(entries.last(), &entry, &self.context.bounds.limits);
                taken.map_err(|exceeded| self.exceeded(&entry.path, exceeded))?;
                match (&inode.kind, &entry.kind) {
                    (InodeKind::File(extent), EntryKind::File(_)) => {
                        files.push((entries.len(), extent.clone()));
                    }
                    (InodeKind::Directory(_), _) => below.push((entry.path.clone(), inode)),
                    _ => {}
                }
                entries.push(entry);
            }
            waiting.extend(below.into_iter().rev());
        }
        Ok((entries, files))
    }

    fn content(&self, entry: &Entry, extent: &Extent) -> Result<Content> {
        self.context.bounds.cancellation.check()?;
        let capture = self.context.patterns.capture(entry);
        let is_too_short = entry.size < ELF_MAGIC.len() as u64;
        if capture == Capture::Nothing || capture == Capture::Elf && is_too_short {
            return Ok(Content::Unread);
        }
        let file = self.image.file(extent);
        let file = file.map_err(|error| self.failed(&entry.path, error))?;
        let content = of_file(self.context, entry, capture, &file, &self.budget);
        content.map_err(|error| match error {
            ElfError::Limit(exceeded) => self.exceeded(&entry.path, exceeded),
            ElfError::Cancelled(error) => error,
            ElfError::Io(error) => self.failed(&entry.path, error),
            error => Error::layer(self.name, format!("{}: {error}", entry.path)),
        })
    }

    fn failed(&self, path: &str, error: io::Error) -> Error {
        match error.downcast::<LimitExceeded>() {
            Ok(exceeded) => self.exceeded(path, exceeded),
            Err(error) => Error::layer_io(self.name, error).in_context(format_args!("/{path}: ")),
        }
    }

    fn exceeded(&self, path: &str, exceeded: LimitExceeded) -> Error {
        Error::layer_limit(self.name, path, exceeded)
    }
}

/// The first path of an inode is the file, further ones are hard links to it.
fn entry(path: String, inode: &Inode, links: &mut HashMap<u32, String>) -> Entry {
    let (kind, size) = match &inode.kind {
        InodeKind::Directory(_) => (EntryKind::Directory, 0),
        InodeKind::Symlink(target) => (EntryKind::Symlink(display(target)), 0),
        InodeKind::Special => (EntryKind::Special, 0),
        InodeKind::File(extent) => match links.get(&inode.number) {
            Some(first) if extent.links > 1 => (EntryKind::HardLink(first.clone()), 0),
            _ => (EntryKind::File(Content::Unread), extent.size),
        },
    };
    if matches!(&inode.kind, InodeKind::File(extent) if extent.links > 1) {
        links.entry(inode.number).or_insert_with(|| path.clone());
    }
    Entry {
        path,
        kind,
        size,
        mode: inode.mode,
        owner: inode.owner,
    }
}

fn joined(directory: &str, name: &[u8]) -> String {
    match directory {
        "" => display(name),
        directory => format!("{directory}/{}", display(name)),
    }
}
