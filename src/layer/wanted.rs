//! What is to be read of a layer. The names of files are data: `rules/knowledge/files.yaml`.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use super::Entry;
use crate::elf::{Depth, Recipes};
use crate::embedded;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The permission bits to execute.
const EXECUTABLE: u32 = 0o111;

const FILES: &str = "knowledge/files.yaml";

/// What is read of the files of a layer, and how much may be.
#[derive(Debug)]
pub struct Wanted {
    /// Paths of the files that are kept as text.
    pub texts: GlobSet,
    /// Paths of the files that are kept as bytes.
    pub bytes: GlobSet,
    /// Paths of files that are no ELF files, whatever is in them, unless they are executable. Only a layer that is fetched by
    /// its table of contents asks for them.
    pub never_elf: GlobSet,
    /// What is read of the ELF files.
    pub recipes: Recipes,
    /// How much of each ELF file is read.
    pub depth: Depth,
    /// Bounds on what a layer may ask of its reader.
    pub limits: Limits,
}

/// The data file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Files {
    texts: Vec<String>,
    bytes: Vec<String>,
    never_elf: Vec<String>,
}

/// In which form the content of a file is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Bytes,
    /// By its first bytes: an ELF file is analysed, another one is not read.
    Sniffed,
}

impl Wanted {
    /// What the built-in rules need. An error is a mistake in the built-in data.
    pub fn builtin(depth: Depth) -> Result<Self> {
        let files: Files = embedded::knowledge("files")?;
        Ok(Wanted {
            texts: globs(&files.texts)?,
            bytes: globs(&files.bytes)?,
            never_elf: globs(&files.never_elf)?,
            recipes: Recipes::builtin()?,
            depth,
            limits: Limits::default(),
        })
    }

    pub(super) fn form(&self, path: &str) -> Form {
        if self.texts.is_match(path) {
            Form::Text
        } else if self.bytes.is_match(path) {
            Form::Bytes
        } else {
            Form::Sniffed
        }
    }

    /// Whether a file can be one that the loader finds, or a program, going by its name and its mode.
    pub(super) fn may_be_elf(&self, entry: &Entry) -> bool {
        entry.mode & EXECUTABLE != 0 || !self.never_elf.is_match(&entry.path)
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet> {
    let wrong = |error: globset::Error| Error::Rule {
        problem: format!("{FILES}: {error}"),
    };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(
            GlobBuilder::new(pattern)
                .literal_separator(true)
                .build()
                .map_err(wrong)?,
        );
    }
    set.build().map_err(wrong)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::layer::{Content, EntryKind};

    #[test]
    fn the_built_in_files() {
        let wanted = Wanted::builtin(Depth::Default).unwrap();
        for (path, form) in [
            ("etc/os-release", Form::Text),
            (
                "usr/local/lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA",
                Form::Text,
            ),
            ("opt/conda/conda-meta/python-3.11.json", Form::Text),
            ("usr/local/cuda-12.8/version.json", Form::Text),
            ("etc/ld.so.cache", Form::Bytes),
            ("usr/lib/libc.so.6", Form::Sniffed),
            ("root/etc/os-release", Form::Sniffed),
        ] {
            assert_eq!(wanted.form(path), form, "{path}");
        }
    }

    #[test]
    fn names_that_no_elf_file_has() {
        let wanted = Wanted::builtin(Depth::Default).unwrap();
        let may_be_elf = |path: &str, mode| {
            wanted.may_be_elf(&Entry {
                path: path.to_owned(),
                kind: EntryKind::File(Content::Unread),
                size: 1,
                mode,
            })
        };
        for path in ["usr/lib/x.py", "x.h", "usr/share/doc/a/changelog.gz"] {
            assert!(!may_be_elf(path, 0o644), "{path}");
            assert!(may_be_elf(path, 0o755), "{path}");
        }
        for path in [
            "usr/lib/libc.so.6",
            "usr/bin/python3.11",
            "opt/x.o",
            "a.h/b",
            "py",
        ] {
            assert!(may_be_elf(path, 0o644), "{path}");
        }
    }
}
