//! A directory tree on this machine, read as one layer: a root directory, or a layer as the kernel's overlay file system stores it.
//! Links are never followed, devices and FIFOs never opened, even if the tree changes meanwhile.

mod marks;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::budget::Budget;
use super::content::{ELF_MAGIC, of_file};
use super::context::ReadContext;
use super::entry;
use super::patterns::Capture;
use imgcheck_archive::archive::path::display;
use imgcheck_archive::archive::{FileRange, Owner, capabilities};
use imgcheck_base::beneath::{self, Directory, FileKind, Links, Metadata};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, LimitExceeded, Limits};
use imgcheck_base::parallel;
use imgcheck_elf::ElfError;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_source::source::overlay::Overlay;
use marks::{Mark, Marks};

/// Directories at the top of a running system that belong to the kernel, not to the image.
const KERNEL_DIRECTORIES: [&str; 3] = ["proc", "sys", "dev"];

/// The facts of a root directory: directories before their children, sorted by name.
pub(crate) fn scan(context: &ReadContext, root: &Path) -> Result<LayerFacts> {
    let scan = Scan {
        root,
        context,
        marks: None,
    };
    let opened = beneath::root(root).map_err(|error| scan.unreadable(Path::new(""), error))?;
    scan.run(opened)
}

/// The facts of a layer of an overlay. It is an error if its directory alone does not define it, or if it is removed meanwhile.
pub(crate) fn scan_overlay(context: &ReadContext, overlay: &Overlay) -> Result<LayerFacts> {
    let scan = Scan {
        root: &overlay.path(),
        context,
        marks: Some(Marks::new(overlay.attributes)),
    };
    let wrong = |error: io::Error| scan.unreadable(Path::new(""), error);
    let storage = beneath::root(&overlay.storage).map_err(wrong)?;
    let opened = beneath::directory(&storage, &overlay.directory, Links::Refused).map_err(wrong)?;
    let facts = scan.run(opened)?;
    match beneath::metadata(&storage, &overlay.record) {
        Ok(_) => Ok(facts),
        Err(_) => Err(scan.wrong(
            Path::new(""),
            "was removed while it was being read".to_owned(),
        )),
    }
}

struct Scan<'a> {
    root: &'a Path,
    context: &'a ReadContext<'a>,
    /// How an overlay marks what a layer removes.
    marks: Option<Marks>,
}

impl Scan<'_> {
    fn run(&self, root: Directory) -> Result<LayerFacts> {
        let budget = Budget::default();
        let tree = self.tree(&root, &budget)?;
        let contents = parallel::map(parallel::cores(), tree.files.len(), |at| {
            let (entry, path) = &tree.files[at];
            self.context.bounds.cancellation.check()?;
            self.context.progress.advance(tree.entries[*entry].size);
            let content = self.content(&root, path, &tree.entries[*entry], &budget)?;
            let capabilities = self.capabilities(&root, path, &content)?;
            Ok((content, capabilities))
        })?;
        let mut facts = LayerFacts {
            entries: tree.entries,
        };
        for ((entry, _), content) in tree.files.iter().zip(contents) {
            facts.entries[*entry].mode |= content.1;
            facts.entries[*entry].kind = EntryKind::File(content.0);
        }
        Ok(facts)
    }

    fn tree(&self, root: &Directory, budget: &Budget) -> Result<Tree> {
        let failed = |error| self.unreadable(Path::new(""), error);
        let top = beneath::metadata(root, Path::new("")).map_err(failed)?;
        let mut tree = Tree {
            top: Owner {
                uid: top.uid,
                gid: top.gid,
            },
            ..Tree::default()
        };
        let mut waiting = vec![(PathBuf::new(), String::new())];
        while let Some((path, name)) = waiting.pop() {
            let directory = beneath::directory(root, &path, Links::Refused)
                .map_err(|error| self.unreadable(&path, error))?;
            let mark = match &self.marks {
                Some(marks) => marks.of_directory(&directory),
                None => Ok(Mark::None),
            };
            let mark = mark.map_err(|error| self.unreadable(&path, error))?;
            if mark == Mark::Opaque {
                tree.entries.push(plain(name.clone(), EntryKind::Opaque));
            }
            self.context.bounds.cancellation.check()?;
            let mut below = Vec::new();
            let names = children(&directory, &self.context.bounds.limits)
                .map_err(|error| self.unreadable(&path, error))?;
            for (at, child) in names.into_iter().enumerate() {
                if at.is_multiple_of(256) {
                    self.context.bounds.cancellation.check()?;
                }
                let path = path.join(&child);
                let metadata = beneath::metadata(&directory, child.as_ref())
                    .map_err(|error| self.unreadable(&path, error))?;
                let name = joined(&name, &child);
                let is_kernel =
                    metadata.device != top.device && KERNEL_DIRECTORIES.contains(&&*name);
                if metadata.kind == FileKind::Directory && !is_kernel {
                    below.push((path.clone(), name.clone()));
                }
                let entry = self.entry(&directory, &child, name, &metadata, mark, &mut tree);
                let entry = entry.map_err(|error| self.unreadable(&path, error))?;
                self.add(entry, path, budget, &mut tree)?;
            }
            waiting.extend(below.into_iter().rev());
        }
        Ok(tree)
    }

    /// The entry of a child of a directory; `None` for what container engines ignore.
    fn entry(
        &self,
        directory: &Directory,
        child: &OsStr,
        name: String,
        metadata: &Metadata,
        mark: Mark,
        tree: &mut Tree,
    ) -> io::Result<Option<Entry>> {
        if let Some(marks) = &self.marks {
            if entry::is_whiteout(&name) {
                return entry::whiteout(&name).map_err(io::Error::other);
            }
            if marks.is_whiteout(directory, child, metadata, mark)? {
                return Ok(Some(plain(name, EntryKind::Whiteout)));
            }
        }
        let kind = match metadata.kind {
            FileKind::Directory => EntryKind::Directory,
            FileKind::Link => {
                let target = beneath::link_target(directory, child)?;
                EntryKind::Symlink(display(target.as_encoded_bytes()))
            }
            FileKind::File => match tree.first_name(metadata, &name) {
                Some(first) => EntryKind::HardLink(first),
                None => EntryKind::File(Content::Unread),
            },
            FileKind::CharacterDevice(_) | FileKind::Other => EntryKind::Special,
        };
        let size = match kind {
            EntryKind::File(_) => metadata.size,
            _ => 0,
        };
        Ok(Some(Entry {
            path: name,
            kind,
            size,
            mode: metadata.mode,
            owner: Owner {
                uid: metadata.uid.saturating_sub(tree.top.uid),
                gid: metadata.gid.saturating_sub(tree.top.gid),
            },
        }))
    }

    fn add(
        &self,
        entry: Option<Entry>,
        path: PathBuf,
        budget: &Budget,
        tree: &mut Tree,
    ) -> Result<()> {
        let Some(entry) = entry else {
            return Ok(());
        };
        let taken = budget.entry(tree.entries.last(), &entry, &self.context.bounds.limits);
        taken.map_err(|exceeded| self.exceeded(&path, exceeded))?;
        if matches!(entry.kind, EntryKind::File(_)) {
            tree.files.push((tree.entries.len(), path));
        }
        tree.entries.push(entry);
        Ok(())
    }

    fn content(
        &self,
        root: &Directory,
        path: &Path,
        entry: &Entry,
        budget: &Budget,
    ) -> Result<Content> {
        let wrong = |error: io::Error| self.unreadable(path, error);
        let capture = self.context.patterns.capture(entry);
        let is_too_short = entry.size < ELF_MAGIC.len() as u64;
        if capture == Capture::Nothing || capture == Capture::Elf && is_too_short {
            return Ok(Content::Unread);
        }
        let file = beneath::file(root, path, Links::Refused).map_err(wrong)?;
        if let Some(marks) = &self.marks {
            marks.check_file(&file).map_err(wrong)?;
        }
        let range = FileRange::new(Arc::new(file), 0, entry.size);
        of_file(self.context, entry, capture, &range, budget).map_err(|error| match error {
            ElfError::Limit(exceeded) => self.exceeded(path, exceeded),
            ElfError::Cancelled(error) => error,
            ElfError::Io(error) => self.unreadable(path, error),
            error => self.wrong(path, error.to_string()),
        })
    }

    /// The bit of the mode for a program with file capabilities.
    fn capabilities(&self, root: &Directory, path: &Path, content: &Content) -> Result<u32> {
        if !matches!(content, Content::Elf(elf) if elf.interpreter.is_some()) {
            return Ok(0);
        }
        let wrong = |error: io::Error| self.unreadable(path, error);
        let file = beneath::file(root, path, Links::Refused).map_err(wrong)?;
        let value = beneath::attribute(&file, capabilities::ATTRIBUTE).map_err(wrong)?;
        Ok(value.map_or(0, |value| capabilities::mode_bit(&value)))
    }

    fn unreadable(&self, path: &Path, error: io::Error) -> Error {
        match error.downcast::<LimitExceeded>() {
            Ok(exceeded) => self.exceeded(path, exceeded),
            Err(error) => Error::layer_io(self.shown(path), error),
        }
    }

    fn exceeded(&self, path: &Path, exceeded: LimitExceeded) -> Error {
        Error::limit(self.shown(path), exceeded)
    }

    fn wrong(&self, path: &Path, problem: String) -> Error {
        Error::layer(self.shown(path), problem)
    }

    fn shown(&self, path: &Path) -> String {
        let path = match path.as_os_str().is_empty() {
            true => self.root.to_owned(),
            false => self.root.join(path),
        };
        path.display().to_string()
    }
}

#[derive(Default)]
struct Tree {
    /// Who owns the top. In the storage of an engine without root, or with user namespaces, it is not root, and stands for it.
    top: Owner,
    entries: Vec<Entry>,
    /// Regular files: index of the entry, and path below the root.
    files: Vec<(usize, PathBuf)>,
    /// Files with several names: the first name, by device and inode.
    linked: HashMap<(u64, u64), String>,
}

impl Tree {
    /// The name under which a file was found before.
    fn first_name(&mut self, metadata: &Metadata, name: &str) -> Option<String> {
        if !metadata.is_linked {
            return None;
        }
        let inode = (metadata.device, metadata.inode);
        let first = self.linked.get(&inode).cloned();
        if first.is_none() {
            self.linked.insert(inode, name.to_owned());
        }
        first
    }
}

/// The names in a directory, sorted.
fn children(directory: &Directory, limits: &Limits) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for name in beneath::names(directory)? {
        names.push(name?);
        let met = names.len() as u64;
        limits
            .check(Limit::Entries, met)
            .map_err(io::Error::other)?;
    }
    names.sort_unstable();
    Ok(names)
}

fn plain(path: String, kind: EntryKind) -> Entry {
    Entry {
        path,
        kind,
        size: 0,
        mode: 0,
        owner: Default::default(),
    }
}

fn joined(below: &str, name: &OsStr) -> String {
    let name = display(name.as_encoded_bytes());
    if below.is_empty() {
        name
    } else {
        format!("{below}/{name}")
    }
}
