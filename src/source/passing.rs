//! An archive of images that goes by once: what is written into a pipe, or what an engine sends.
//!
//! Such an archive says at its end what its members were. So whoever reads it takes what may be a layer as a layer and
//! keeps the small rest, and [`Parts`] makes the images of that when all has passed.

use std::fmt;
use std::fmt::Display;
use std::io::{BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::daemon::Described;
use super::members::Members;
use super::store::{Part, Store, compressed, no_archive, whole_compressed};
use super::{Image, Wanted, Way, docker, oci, recognise};
use crate::archive::path::normalise;
use crate::archive::{ArchiveError, Member};
use crate::cache::{Cache, Key};
use crate::digest;
use crate::error::{Error, Result};
use crate::limits::{Limit, Limits};

/// What stands for standard input where a path is expected.
const STDIN: &str = "-";

/// Bytes that are read from a pipe at a time.
const BUFFER: usize = 1 << 20;

/// An archive of images that goes by once.
pub struct Passing {
    /// Its bytes. They end with an error if they are cut off in a way that the sender shows.
    pub bytes: Box<dyn BufRead + Send>,
    /// Takes what is found in them.
    pub parts: Parts,
    /// How many bytes are expected, for a bar; 0 if nobody knows.
    pub size: u64,
}

impl fmt::Debug for Passing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passing")
            .field("parts", &self.parts)
            .finish_non_exhaustive()
    }
}

/// What an archive should turn out to be.
#[derive(Debug, Clone)]
pub(super) enum Expected {
    /// An image archive of any kind.
    Any,
    /// A docker archive.
    Docker,
    /// An OCI layout.
    Oci,
    /// What an engine sends for one image that it holds. Its documents are kept for the next run.
    Held(Described, Cache),
}

/// The parts of images that were met so far.
#[derive(Debug)]
pub struct Parts {
    subject: String,
    expected: Expected,
    wanted: Wanted,
    members: Members<Part>,
    documents: Vec<(String, Arc<[u8]>)>,
    kept: u64,
}

/// Whether the path stands for standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

/// The archive on standard input.
pub(super) fn standard_input(expected: Expected, wanted: Wanted) -> Result<Passing> {
    let subject = "standard input";
    let mut bytes = BufReader::with_capacity(BUFFER, stdin());
    let start = bytes
        .fill_buf()
        .map_err(|error| Error::io(subject, error))?;
    if let Some((name, command)) = compressed(start) {
        return Err(Error::unsupported(subject, whole_compressed(name))
            .with_help(format!("uncompress it on the way: {command} | imgcheck -")));
    }
    Ok(Passing {
        bytes: Box::new(bytes),
        parts: Parts::new(subject, expected, wanted),
        size: 0,
    })
}

impl Parts {
    pub(super) fn new(subject: impl Into<String>, expected: Expected, wanted: Wanted) -> Self {
        Parts {
            subject: subject.into(),
            expected,
            wanted,
            members: Members::default(),
            documents: Vec::new(),
            kept: 0,
        }
    }

    /// What may be asked for by what goes by.
    pub fn limits(&self) -> Limits {
        self.wanted.limits
    }

    /// What goes by, for messages.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Takes a link; other members without content are passed over.
    pub fn link(&mut self, member: &Member) {
        self.members.link(member);
    }

    /// Takes a file that is not kept. [`LayerData::Passed`](super::LayerData::Passed) will name it like this.
    pub fn pass(&mut self, member: &Member) -> PathBuf {
        let name = normalise(&member.path);
        self.members.file(name.clone(), Part::Layer(member.size));
        name.into()
    }

    /// Whether a file is small enough to be kept, and there is room for it beside the others. That one was not is an error only
    /// if it is needed as a document: attestations are long, too.
    pub fn keeps(&mut self, member: &Member) -> bool {
        let limits = &self.wanted.limits;
        let kept = self.kept.saturating_add(member.size);
        let fits = limits.check(Limit::DocumentBytes, member.size).is_ok()
            && limits.check(Limit::DocumentsBytes, kept).is_ok();
        if fits {
            self.kept = kept;
        }
        fits
    }

    /// Takes the bytes of a file that was passed, for they may be a document.
    pub fn keep(&mut self, member: &Member, bytes: Vec<u8>) {
        let name = normalise(&member.path);
        let bytes: Arc<[u8]> = bytes.into();
        self.documents.push((name.clone(), Arc::clone(&bytes)));
        self.members.file(name, Part::Kept(bytes));
    }

    /// The error of an archive that ends between two members, without the mark of its end, or before the first.
    pub fn cut_off(&self, is_empty: bool) -> Error {
        self.broke_off(match is_empty {
            true => "nothing came",
            false => "it has no end",
        })
    }

    fn broke_off(&self, problem: impl Display) -> Error {
        let problem = format!("broke off before the image was there: {problem}");
        Error::damaged(&self.subject, problem)
            .with_help("try it again: nothing is said of an image of which a part is missing")
    }

    /// The error of an archive that is none, or that broke off after `last`.
    pub fn broken(&self, error: &ArchiveError, last: Option<&Member>) -> Error {
        match (error, last) {
            (ArchiveError::Io(error), None) => Error::damaged(&self.subject, error.to_string()),
            (ArchiveError::Io(error), Some(_)) => self.broke_off(error),
            (ArchiveError::Limit { offset, exceeded }, _) => {
                Error::limit(format!("{}: byte {offset}", self.subject), *exceeded)
            }
            (_, None) => no_archive(self.subject.clone()),
            (_, Some(last)) => Error::damaged(
                &self.subject,
                format!("{error} ({})", normalise(&last.path)),
            ),
        }
    }

    /// The wanted images, when all has passed.
    ///
    /// # Errors
    /// It was no archive of images, a part is missing or damaged, or there is no such reference or platform.
    pub fn images(self) -> Result<Vec<Image>> {
        let store = Store::passed(&self.subject, self.members, self.wanted.limits);
        match self.expected {
            Expected::Any => recognise::archive(&store, &self.wanted),
            Expected::Docker => docker::open(&store, &self.wanted),
            Expected::Oci => oci::open(&store, &self.wanted),
            Expected::Held(described, cache) => {
                let images = recognise::archive(&store, &self.wanted)?;
                remember(&cache, &self.documents);
                let told = images
                    .into_iter()
                    .map(|image| described.clone().name(image, Way::Stream));
                Ok(told.collect())
            }
        }
    }
}

/// Keeps manifests, indexes and configurations for the next run: what is named by its digest.
fn remember(cache: &Cache, documents: &[(String, Arc<[u8]>)]) {
    for (name, bytes) in documents {
        let digest = digest::sha256(bytes);
        if digest::hexadecimal(&digest).is_some_and(|hex| name.contains(hex)) {
            cache.put(&Key::Document { digest }, bytes);
        }
    }
}
