//! Which files of a layer are captured, by path. The patterns are data: `rules/knowledge/files.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use imgcheck_base::error::{Error, Result};
use imgcheck_image::Entry;

/// The permission bits to execute.
const EXECUTABLE: u32 = 0o111;

const FILES: &str = "knowledge/files.yaml";

/// Patterns for the paths of files whose content is captured.
#[derive(Debug, Default)]
pub struct FilePatterns {
    /// Files that are captured as text.
    texts: Globs,
    /// Files that are captured as bytes.
    bytes: Globs,
    /// Lists of installed files, of which the lines that mention libraries are captured.
    file_lists: Globs,
    /// Scripts, which are captured as text unless they are long.
    scripts: ScriptPatterns,
    /// Files that are never ELF files unless they are executable, whatever they contain. Only used for lazily read layers, where
    /// looking at a file costs a request.
    never_elf: Globs,
    /// Directories in which a file can be captured because of where the directory is.
    directories: Globs,
    /// Only these paths are captured, and no file is looked into for ELF.
    only: Option<BTreeMap<String, Capture>>,
}

/// Which scripts are captured.
#[derive(Debug, Default)]
struct ScriptPatterns {
    most_bytes: u64,
    names: Globs,
    programs: Globs,
    interpreters: Vec<String>,
}

/// The data file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Files {
    texts: Vec<String>,
    bytes: Vec<String>,
    file_lists: Vec<String>,
    never_elf: Vec<String>,
    scripts: Scripts,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Scripts {
    most_bytes: u64,
    names: Vec<String>,
    programs: Vec<String>,
    interpreters: Vec<String>,
}

/// How the content of a file is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Capture {
    /// The whole file, as text.
    Text,
    /// The whole file, as bytes.
    Bytes,
    /// The lines of a list of files that mention libraries, as text.
    FileList,
    /// ELF facts if the first bytes are those of an ELF file, else nothing.
    Elf,
    /// Nothing.
    Nothing,
}

impl Capture {
    /// Whether the whole file is read.
    pub fn is_whole(self) -> bool {
        matches!(self, Capture::Text | Capture::Bytes | Capture::FileList)
    }
}

impl FilePatterns {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// A pattern is invalid.
    pub fn new(files: &Files) -> Result<Self> {
        Ok(FilePatterns {
            texts: globs(&files.texts)?,
            bytes: globs(&files.bytes)?,
            file_lists: globs(&files.file_lists)?,
            scripts: ScriptPatterns {
                most_bytes: files.scripts.most_bytes,
                names: globs(&files.scripts.names)?,
                programs: globs(&files.scripts.programs)?,
                interpreters: files.scripts.interpreters.clone(),
            },
            never_elf: globs(&files.never_elf)?,
            directories: globs(directories(
                files
                    .texts
                    .iter()
                    .chain(&files.bytes)
                    .chain(&files.file_lists)
                    .chain(&files.scripts.names),
            ))?,
            only: None,
        })
    }

    /// Captures only these paths.
    pub(crate) fn only(paths: BTreeMap<String, Capture>) -> Self {
        FilePatterns {
            only: Some(paths),
            ..FilePatterns::default()
        }
    }

    pub(crate) fn capture(&self, entry: &Entry) -> Capture {
        self.capture_at(&entry.path, entry.size)
    }

    /// How a file of so many bytes with this path, without a leading `/`, is captured.
    pub fn capture_at(&self, path: &str, size: u64) -> Capture {
        let scripts = &self.scripts;
        let is_short = size <= scripts.most_bytes;
        if let Some(only) = &self.only {
            only.get(path).copied().unwrap_or(Capture::Nothing)
        } else if self.texts.is_match(path) || (is_short && scripts.names.is_match(path)) {
            Capture::Text
        } else if self.bytes.is_match(path) {
            Capture::Bytes
        } else if self.file_lists.is_match(path) {
            Capture::FileList
        } else {
            Capture::Elf
        }
    }

    /// Whether a file is captured if it starts with `#!` and a known interpreter, judging by its name, size and mode.
    pub(crate) fn may_be_script(&self, entry: &Entry) -> bool {
        let scripts = &self.scripts;
        entry.mode & EXECUTABLE != 0
            && entry.size <= scripts.most_bytes
            && scripts.programs.is_match(&entry.path)
    }

    /// Whether the content of such a file is that of a script.
    pub(crate) fn is_script(&self, bytes: &[u8]) -> bool {
        let Some(line) = bytes.strip_prefix(b"#!") else {
            return false;
        };
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let mut known = self.scripts.interpreters.iter();
        known.any(|interpreter| line.contains(interpreter.as_str()))
    }

    /// Whether a file in the directory with this path can be captured because of where the directory is. A pattern that matches anywhere
    /// below a directory does not count.
    pub fn has_in(&self, directory: &str) -> bool {
        self.directories.is_match(directory)
    }

    /// Whether Python sources are parsed: unless only chosen files are read.
    pub(crate) fn has_modules(&self) -> bool {
        self.only.is_none()
    }

    /// Whether a file can be a library or a program, judging by its name and mode.
    pub(crate) fn may_be_elf(&self, entry: &Entry) -> bool {
        let by_name = || !self.never_elf.is_match(&entry.path);
        self.only.is_none() && (entry.mode & EXECUTABLE != 0 || by_name())
    }
}

/// The directories that patterns of files name: `**/torch` for `**/torch/version.py`.
fn directories<'p>(files: impl Iterator<Item = &'p String>) -> BTreeSet<&'p str> {
    let parents = files.flat_map(|pattern| {
        let slashes = pattern.match_indices('/').map(|(at, _)| &pattern[..at]);
        // Not those between braces.
        slashes.filter(|it| it.matches('{').count() == it.matches('}').count())
    });
    let anywhere = |directory: &&str| directory.rsplit('/').next() == Some("**");
    parents.filter(|it| !anywhere(it)).collect()
}

/// Patterns that are compiled when a path is first compared with them.
#[derive(Debug, Default)]
struct Globs {
    globs: Vec<Glob>,
    compiled: OnceLock<GlobSet>,
}

impl Globs {
    fn is_match(&self, path: &str) -> bool {
        let compile = || {
            let mut set = GlobSetBuilder::new();
            for glob in &self.globs {
                set.add(glob.clone());
            }
            #[allow(clippy::expect_used)]
            set.build().expect("the built-in patterns")
        };
        self.compiled.get_or_init(compile).is_match(path)
    }
}

fn globs<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Globs> {
    let glob = |pattern: P| {
        let mut glob = GlobBuilder::new(pattern.as_ref());
        glob.literal_separator(true).build()
    };
    let globs: Result<_, globset::Error> = patterns.into_iter().map(glob).collect();
    Ok(Globs {
        globs: globs.map_err(|error| Error::Rule {
            problem: format!("{FILES}: {error}"),
        })?,
        compiled: OnceLock::new(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use imgcheck_image::{Content, EntryKind};

    #[test]
    fn builtin_patterns_capture_package_metadata() {
        let patterns = FilePatterns::new(&imgcheck_tables::read("files").unwrap()).unwrap();
        for (path, capture) in [
            ("etc/os-release", Capture::Text),
            (
                "usr/local/lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA",
                Capture::Text,
            ),
            ("opt/conda/conda-meta/python-3.11.json", Capture::Text),
            (
                "opt/venv/lib/python3.11/site-packages/x-1.dist-info/RECORD",
                Capture::FileList,
            ),
            ("var/lib/dpkg/info/libnccl2.list", Capture::FileList),
            ("usr/local/cuda-12.8/version.json", Capture::Text),
            ("etc/ld.so.cache", Capture::Bytes),
            ("usr/lib/libc.so.6", Capture::Elf),
            ("root/etc/os-release", Capture::Elf),
        ] {
            assert_eq!(patterns.capture(&file(path, 1)), capture, "{path}");
        }
        for (path, has) in [
            ("etc/ld.so.conf.d", true),
            ("opt/python/torch", true),
            ("usr/lib/python3/dist-packages/torch-2.8.0.dist-info", true),
            ("usr/share/doc", false),
        ] {
            assert_eq!(patterns.has_in(path), has, "{path}");
        }
    }

    fn file(path: &str, size: u64) -> Entry {
        Entry {
            path: path.to_owned(),
            kind: EntryKind::File(Content::Unread),
            size,
            mode: 0o755,
            owner: Default::default(),
        }
    }

    #[test]
    fn scripts_are_captured_unless_they_are_long() {
        let patterns = FilePatterns::new(&imgcheck_tables::read("files").unwrap()).unwrap();
        for path in [
            "start.sh",
            "app/docker/run.sh",
            "opt/venv/bin/activate",
            "etc/profile",
        ] {
            assert_eq!(patterns.capture(&file(path, 900)), Capture::Text, "{path}");
            assert_eq!(
                patterns.capture(&file(path, 1 << 20)),
                Capture::Elf,
                "{path}"
            );
        }
        assert!(patterns.may_be_script(&file("opt/conda/bin/torchrun", 300)));
        assert!(!patterns.may_be_script(&file("opt/conda/bin/conda", 1 << 20)));
        assert!(!patterns.may_be_script(&file("usr/share/doc/example", 300)));
        assert!(patterns.is_script(b"#!/opt/conda/bin/python3.11\nimport sys\n"));
        assert!(patterns.is_script(b"#!/bin/sh"));
        assert!(!patterns.is_script(b"#!/usr/bin/perl\n"));
    }

    #[test]
    fn headers_and_sources_are_never_elf() {
        let patterns = FilePatterns::new(&imgcheck_tables::read("files").unwrap()).unwrap();
        let may_be_elf = |path: &str, mode| {
            patterns.may_be_elf(&Entry {
                path: path.to_owned(),
                kind: EntryKind::File(Content::Unread),
                size: 1,
                mode,
                owner: Default::default(),
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
