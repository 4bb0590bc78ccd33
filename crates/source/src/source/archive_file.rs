//! Image archives in a file. One that is compressed as a whole is read once, from its beginning to its end.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;

use super::image::Image;
use super::platform::Selection;
use super::request::{LayerConsumer, Request, Source};
use super::store::{Store, unreadable};
use super::streamed::{StreamedArchive, claim_layers};
use super::{docker, oci, root_directory};
use imgcheck_archive::archive::compression::{Compression, Decompressed, SNIFFED, sniff};
use imgcheck_base::error::{Error, Result};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 20;

/// A file, or `docker-archive:PATH[:REFERENCE]` or `oci-archive:PATH[:REFERENCE]`.
pub(super) struct ArchiveFile {
    pub path: PathBuf,
    pub reference: Option<String>,
    pub format: ArchiveFormat,
}

/// The expected format of an archive.
#[derive(Debug, Clone, Copy)]
pub(super) enum ArchiveFormat {
    /// `docker save` or OCI layout, by its members.
    Any,
    Docker,
    Oci,
}

impl Source for ArchiveFile {
    fn images(&self, request: &Request, layers: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let path = &self.path;
        let selection = request.selection(self.reference.as_deref())?;
        let metadata = path.metadata().map_err(|error| unreadable(path, error))?;
        if metadata.is_file() && metadata.len() == 0 {
            return Err(
                Error::damaged(path.display().to_string(), "the file is empty")
                    .with_help("what wrote it failed: save the image again, and look at the error"),
            );
        }
        if metadata.is_file() {
            let file = File::open(path).map_err(|error| unreadable(path, error))?;
            let bytes = BufReader::with_capacity(BUFFER, file);
            let input = ArchiveInput::new(path.display().to_string(), bytes)?;
            if input.compression != Compression::None {
                return input.read(self.format, &selection, request, layers);
            }
        }
        self.format
            .open(&Store::archive(path, request)?, &selection)
    }
}

impl ArchiveFormat {
    /// The selected images of an archive of this format.
    pub fn open(self, store: &Store, selection: &Selection) -> Result<Vec<Image>> {
        match self {
            ArchiveFormat::Any => open_any(store, selection),
            ArchiveFormat::Docker => docker::open(store, selection),
            ArchiveFormat::Oci => docker::open_layout(store, selection),
        }
    }
}

/// Opens a `docker save` archive or an OCI layout.
pub(super) fn open_any(store: &Store, selection: &Selection) -> Result<Vec<Image>> {
    if docker::is_archive(store) {
        return docker::open(store, selection);
    }
    if oci::is_layout(store) {
        return oci::open(store, selection);
    }
    let help = if root_directory::is_root(store) {
        "this looks like a root filesystem (`docker export`); use `docker save`, or unpack it and check the directory"
    } else {
        "give a `docker save` archive, an OCI layout or a root directory"
    };
    let problem = "not an image: a tar archive without manifest.json (docker save) and index.json (OCI layout)";
    Err(Error::unsupported(store.subject(), problem).with_help(help))
}

/// The bytes of an archive that can be read once, and how they are compressed.
pub(super) struct ArchiveInput {
    subject: String,
    bytes: Box<dyn BufRead + Send>,
    compression: Compression,
}

impl ArchiveInput {
    /// # Errors
    /// The first bytes cannot be read, or the compression is not supported.
    pub fn new(subject: String, mut bytes: impl BufRead + Send + 'static) -> Result<Self> {
        let mut start = Vec::with_capacity(SNIFFED);
        bytes
            .by_ref()
            .take(SNIFFED as u64)
            .read_to_end(&mut start)
            .map_err(|error| Error::io(&subject, error).in_context("cannot be read: "))?;
        refuse_compression(&subject, &start)?;
        Ok(ArchiveInput {
            subject,
            // That it is not an archive is found when it is read.
            compression: sniff(&start).unwrap_or(Compression::None),
            bytes: Box::new(Cursor::new(start).chain(bytes)),
        })
    }

    /// The selected images; their layers are handed to `layers`.
    ///
    /// # Errors
    /// It is not an image archive, damaged or truncated, or exceeds a limit; the request was cancelled.
    pub fn read(
        self,
        format: ArchiveFormat,
        selection: &Selection,
        request: &Request,
        layers: &mut dyn LayerConsumer,
    ) -> Result<Vec<Image>> {
        let is_compressed = self.compression != Compression::None;
        let bytes = match is_compressed {
            false => self.bytes,
            true => Box::new(
                Decompressed::new(self.bytes, self.compression, request.bounds.clone())
                    .map_err(|error| Error::io(&self.subject, error))?,
            ),
        };
        let archive = StreamedArchive {
            subject: self.subject,
            bytes,
            size: 0,
            limits: request.bounds.limits,
            ends_with_checksum: is_compressed,
        };
        let (store, _) = archive.read(layers)?;
        let images = format.open(&store, selection)?;
        claim_layers(&images, layers)?;
        Ok(images)
    }
}

fn refuse_compression(subject: &str, start: &[u8]) -> Result<()> {
    let name = match start {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => "xz",
        [b'B', b'Z', b'h', ..] => "bzip2",
        [0x04, 0x22, 0x4d, 0x18, ..] => "lz4",
        _ => return Ok(()),
    };
    let problem = format!(
        "the archive is compressed as a whole with {name}, which is not supported (gzip and zstd are)"
    );
    let help = format!("decompress it: {name} -dc ARCHIVE | imgcheck -");
    Err(Error::unsupported(subject, problem).with_help(help))
}
