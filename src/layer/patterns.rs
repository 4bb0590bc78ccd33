//! Which files of a layer are captured, by path. The patterns are data: `rules/knowledge/files.yaml`.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use super::Entry;
use crate::embedded;
use crate::error::{Error, Result};

/// The permission bits to execute.
const EXECUTABLE: u32 = 0o111;

const FILES: &str = "knowledge/files.yaml";

/// Patterns for the paths of files whose content is captured.
#[derive(Debug)]
pub struct FilePatterns {
    /// Files that are captured as text.
    pub texts: GlobSet,
    /// Files that are captured as bytes.
    pub bytes: GlobSet,
    /// Files that are never ELF files unless they are executable, whatever they contain. Only used for lazily read layers, where
    /// looking at a file costs a request.
    pub never_elf: GlobSet,
}

/// The data file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Files {
    texts: Vec<String>,
    bytes: Vec<String>,
    never_elf: Vec<String>,
}

/// How the content of a file is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Capture {
    Text,
    Bytes,
    /// ELF facts if the first bytes are those of an ELF file, else nothing.
    Elf,
}

impl FilePatterns {
    /// The built-in patterns.
    ///
    /// # Errors
    /// The built-in table is invalid, which the tests exclude.
    pub fn builtin() -> Result<Self> {
        let files: Files = embedded::knowledge("files")?;
        Ok(FilePatterns {
            texts: globs(&files.texts)?,
            bytes: globs(&files.bytes)?,
            never_elf: globs(&files.never_elf)?,
        })
    }

    pub(super) fn capture(&self, path: &str) -> Capture {
        if self.texts.is_match(path) {
            Capture::Text
        } else if self.bytes.is_match(path) {
            Capture::Bytes
        } else {
            Capture::Elf
        }
    }

    /// Whether a file can be a library or a program, judging by its name and mode.
    pub(super) fn may_be_elf(&self, entry: &Entry) -> bool {
        entry.mode & EXECUTABLE != 0 || !self.never_elf.is_match(&entry.path)
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet> {
    let invalid = |error: globset::Error| Error::Rule {
        problem: format!("{FILES}: {error}"),
    };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(
            GlobBuilder::new(pattern)
                .literal_separator(true)
                .build()
                .map_err(invalid)?,
        );
    }
    set.build().map_err(invalid)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::layer::{Content, EntryKind};

    #[test]
    fn builtin_patterns_capture_package_metadata() {
        let patterns = FilePatterns::builtin().unwrap();
        for (path, capture) in [
            ("etc/os-release", Capture::Text),
            (
                "usr/local/lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA",
                Capture::Text,
            ),
            ("opt/conda/conda-meta/python-3.11.json", Capture::Text),
            ("usr/local/cuda-12.8/version.json", Capture::Text),
            ("etc/ld.so.cache", Capture::Bytes),
            ("usr/lib/libc.so.6", Capture::Elf),
            ("root/etc/os-release", Capture::Elf),
        ] {
            assert_eq!(patterns.capture(path), capture, "{path}");
        }
    }

    #[test]
    fn headers_and_sources_are_never_elf() {
        let patterns = FilePatterns::builtin().unwrap();
        let may_be_elf = |path: &str, mode| {
            patterns.may_be_elf(&Entry {
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
