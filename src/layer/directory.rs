//! A root directory on this machine, read as one layer. Links are never followed, devices and fifos never opened.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::content::{Budget, ELF_MAGIC, elf, kept};
use super::wanted::{Form, Wanted};
use super::{Content, Entry, EntryKind, LayerFacts};
use crate::archive::FileRange;
use crate::archive::path::display;
use crate::error::{Error, Result};
use crate::parallel;

/// Directories at the top of a running system that show the kernel, not the image.
const KERNEL_DIRECTORIES: [&str; 3] = ["proc", "sys", "dev"];

/// The facts of a directory tree, directories before what is in them, in the order of names.
pub(super) fn scan(
    root: &Path,
    wanted: &Wanted,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<LayerFacts> {
    let metadata = root.metadata().map_err(|error| unreadable(root, &error))?;
    let mut tree = Tree {
        device: metadata.dev(),
        ..Tree::default()
    };
    tree.list(root, wanted)?;
    let Tree { entries, files, .. } = tree;
    let budget = Budget::default();
    let contents = parallel::map(parallel::cores(), files.len(), |at| {
        let (entry, path) = &files[at];
        progress(entries[*entry].size);
        content(path, &entries[*entry], wanted, &budget)
    })?;
    let mut facts = LayerFacts { entries };
    for ((entry, _), content) in files.iter().zip(contents) {
        facts.entries[*entry].kind = EntryKind::File(content);
    }
    Ok(facts)
}

#[derive(Default)]
struct Tree {
    device: u64,
    entries: Vec<Entry>,
    /// Regular files: the entry, and where to open it.
    files: Vec<(usize, PathBuf)>,
    /// Files with several names: the first of them, by device and inode.
    linked: HashMap<(u64, u64), String>,
}

impl Tree {
    fn list(&mut self, root: &Path, wanted: &Wanted) -> Result<()> {
        let mut waiting = vec![(root.to_owned(), String::new())];
        while let Some((directory, below)) = waiting.pop() {
            let mut children: Vec<_> = fs::read_dir(&directory)
                .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
                .map_err(|error| unreadable(&directory, &error))?;
            children.sort_by_key(fs::DirEntry::file_name);
            let mut directories = Vec::new();
            for child in children {
                let path = child.path();
                let metadata = path
                    .symlink_metadata()
                    .map_err(|error| unreadable(&path, &error))?;
                let name = name(&below, &child.file_name());
                if metadata.is_dir() && !self.is_kernels(&name, &metadata) {
                    directories.push((path.clone(), name.clone()));
                }
                self.add(path, name, &metadata, wanted)?;
            }
            waiting.extend(directories.into_iter().rev());
        }
        Ok(())
    }

    fn add(
        &mut self,
        path: PathBuf,
        name: String,
        metadata: &Metadata,
        wanted: &Wanted,
    ) -> Result<()> {
        let limits = wanted.limits.archive;
        if self.entries.len() as u64 >= limits.members {
            return Err(Error::layer(
                path.display().to_string(),
                format!("more entries than the limit members, {}", limits.members),
            ));
        }
        if name.len() as u64 > limits.path_bytes {
            return Err(Error::layer(
                path.display().to_string(),
                format!("longer than the limit path_bytes, {}", limits.path_bytes),
            ));
        }
        let kind = self.kind(&path, &name, metadata)?;
        let file = matches!(kind, EntryKind::File(_));
        if file {
            self.files.push((self.entries.len(), path));
        }
        self.entries.push(Entry {
            path: name,
            kind,
            size: if file { metadata.len() } else { 0 },
            mode: metadata.mode() & 0o7777,
        });
        Ok(())
    }

    fn kind(&mut self, path: &Path, name: &str, metadata: &Metadata) -> Result<EntryKind> {
        let file_type = metadata.file_type();
        if file_type.is_dir() {
            return Ok(EntryKind::Directory);
        }
        if file_type.is_symlink() {
            let target = fs::read_link(path).map_err(|error| unreadable(path, &error))?;
            return Ok(EntryKind::Symlink(display(target.as_os_str().as_bytes())));
        }
        if !file_type.is_file() {
            return Ok(EntryKind::Special);
        }
        if metadata.nlink() > 1 {
            let inode = (metadata.dev(), metadata.ino());
            if let Some(first) = self.linked.get(&inode) {
                return Ok(EntryKind::HardLink(first.clone()));
            }
            self.linked.insert(inode, name.to_owned());
        }
        Ok(EntryKind::File(Content::Unread))
    }

    fn is_kernels(&self, name: &str, metadata: &Metadata) -> bool {
        metadata.dev() != self.device && KERNEL_DIRECTORIES.contains(&name)
    }
}

fn name(below: &str, name: &OsStr) -> String {
    let name = display(name.as_bytes());
    if below.is_empty() {
        name
    } else {
        format!("{below}/{name}")
    }
}

fn content(path: &Path, entry: &Entry, wanted: &Wanted, budget: &Budget) -> Result<Content> {
    let wrong = |error: std::io::Error| unreadable(path, &error);
    let form = wanted.form(&entry.path);
    if form == Form::Sniffed && entry.size < ELF_MAGIC.len() as u64 {
        return Ok(Content::Unread);
    }
    let file = File::open(path).map_err(wrong)?;
    if form != Form::Sniffed {
        budget
            .take(entry, &wanted.limits)
            .map_err(|problem| Error::layer(path.display().to_string(), problem))?;
        let mut bytes = Vec::new();
        file.take(entry.size)
            .read_to_end(&mut bytes)
            .map_err(wrong)?;
        return Ok(kept(form, bytes));
    }
    let mut magic = [0; ELF_MAGIC.len()];
    let range = FileRange::new(Arc::new(file), 0, entry.size);
    if range.read_at(0, &mut magic).map_err(wrong)? < magic.len() || magic != *ELF_MAGIC {
        return Ok(Content::Unread);
    }
    elf(&range, wanted).map_err(|problem| Error::layer(path.display().to_string(), problem))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::layer(
        path.display().to_string(),
        format!("cannot be read: {error}"),
    )
}
