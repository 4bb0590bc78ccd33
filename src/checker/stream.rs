//! Reads an archive that goes by once: its layers while they come, and in the end what they are layers of.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::archive::{ArchiveError, Input, Kind, Member, StreamInput, Walk};
use crate::error::{Error, Result};
use crate::layer::{self, Budget, Compression, ReadContext, ReadLayer, StreamedLayer};
use crate::source::passing::{Parts, Passing};
use crate::source::{Image, LayerBlob, LayerData};

/// What a sender may put behind an archive, such as the zeros that fill a record.
const BEHIND: u64 = 1 << 20;

/// The images of an archive; the facts of their layers are added to those that were read.
pub(super) fn read(context: &ReadContext, passing: Passing) -> Result<Vec<Image>> {
    let Passing {
        bytes,
        mut parts,
        size,
    } = passing;
    context.progress.image(parts.subject(), 0, size);
    let mut layers = Layers {
        context,
        read: HashMap::new(),
        kept: Budget::default(),
    };
    let mut walk = Walk::new(StreamInput::new(bytes), parts.limits());
    let mut last = None;
    while let Some(member) = walk
        .advance()
        .map_err(|error| parts.broken(&error, last.as_ref()))?
    {
        match member.kind {
            Kind::File => layers.file(&member, Content(&mut walk), &mut parts)?,
            _ => parts.link(&member),
        }
        last = Some(member);
    }
    if !walk.has_end_marker() {
        return Err(parts.cut_off(last.is_none()));
    }
    // Whoever writes into a pipe must not find it closed.
    let _ = io::copy(&mut walk.into_input().take(BEHIND), &mut io::sink());
    context.progress.finish();
    let images = parts.images()?;
    for blob in images.iter().flat_map(|image| &image.layers) {
        if let LayerData::Passed(name) = &blob.data {
            context.remember(blob, layers.verified(name, blob)?);
        }
    }
    Ok(images)
}

/// What the files of an archive turned out to be, as layers.
struct Layers<'a> {
    context: &'a ReadContext<'a>,
    /// By name. That a file cannot be read as a layer is an error only if an image needs it.
    read: HashMap<PathBuf, Result<Layer>>,
    kept: Budget,
}

struct Layer {
    /// Of the blob; `None` where it is only claimed.
    digest: Option<String>,
    diff_id: String,
    layer: ReadLayer,
}

impl Layers<'_> {
    /// Reads a file as a layer if it can be one, and keeps it if it can be a document.
    fn file<I: Input + Send>(
        &mut self,
        member: &Member,
        mut content: Content<'_, I>,
        parts: &mut Parts,
    ) -> Result<()> {
        let name = parts.pass(member);
        let mut start = Vec::new();
        // What cannot be read is seen when the walk goes on.
        let _ = content
            .by_ref()
            .take(layer::SNIFFED as u64)
            .read_to_end(&mut start);
        let mut all = start.as_slice().chain(content);
        let layer = match layer::sniff(&start) {
            Ok(compression) => match self.known(&name, compression) {
                Some(layer) => Ok(layer),
                None => self.scan(&name, all, member.size),
            },
            Err(problem) => {
                if is_json(&start) && parts.keeps(member) {
                    let mut bytes = Vec::new();
                    let _ = all.read_to_end(&mut bytes);
                    parts.keep(member, bytes);
                }
                Err(Error::layer(name.display().to_string(), problem))
            }
        };
        if let Ok(layer) = &layer {
            let taken = self.kept.layer(&layer.layer.facts, 1, &self.context.limits);
            taken.map_err(|exceeded| Error::limit(format!("layer {}", layer.diff_id), exceeded))?;
        }
        self.read.insert(name, layer);
        Ok(())
    }

    /// The facts of an earlier run, of a plain layer whose name is its digest.
    fn known(&self, name: &Path, compression: Compression) -> Option<Layer> {
        let name = name.to_str()?.strip_prefix("blobs/sha256/")?;
        let diff_id = format!("sha256:{name}");
        let layer = match compression {
            Compression::None => self.context.cached(&diff_id)?,
            _ => return None,
        };
        self.context.progress.layer();
        Some(Layer {
            digest: None,
            diff_id,
            layer,
        })
    }

    fn scan(&self, name: &Path, bytes: impl Read + Send, size: u64) -> Result<Layer> {
        let name = name.display().to_string();
        let StreamedLayer {
            layer,
            digest,
            diff_id,
        } = self.context.read_stream(&name, bytes, size)?;
        self.context.progress.layer();
        Ok(Layer {
            digest: Some(digest),
            diff_id,
            layer,
        })
    }

    /// What was read under this name, if it is what the image says that it is.
    fn verified(&mut self, name: &Path, blob: &LayerBlob) -> Result<ReadLayer> {
        let damaged = |what: &str, found: &str, expected: &str| {
            Err(Error::damaged_layer(&blob.name(), what, found, expected))
        };
        match self.read.get(name) {
            Some(Ok(found)) => match (&blob.digest, &found.digest) {
                (Some(named), Some(digest)) if named != digest => damaged("digest", digest, named),
                _ if blob.diff_id != found.diff_id => {
                    damaged("diff id", &found.diff_id, &blob.diff_id)
                }
                _ => Ok(found.layer.clone()),
            },
            _ => Err(match self.read.remove(name) {
                Some(Err(error)) => error,
                _ => Error::layer(blob.name(), "was not there when the archive went by"),
            }),
        }
    }
}

/// Whether a file that begins like this can be one of the documents of an archive.
fn is_json(start: &[u8]) -> bool {
    matches!(start.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// The content of the present member of an archive.
struct Content<'a, I>(&'a mut Walk<I>);

impl<I: Input> Read for Content<'_, I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let content = self.0.content().map_err(|error| match error {
            ArchiveError::Io(error) => error,
            error => io::Error::other(error),
        })?;
        let count = content.len().min(buffer.len());
        buffer[..count].copy_from_slice(&content[..count]);
        let beyond = content.len() - count;
        self.0.give_back(beyond);
        Ok(count)
    }
}
