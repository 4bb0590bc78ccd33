//! Reads layers for sources: those of images that are described, and those of archives that can be read only once.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::budget::Budget;
use super::context::{ReadContext, ReadLayer, ReadMethod};
use super::stream::StreamedLayer;
use imgcheck_archive::archive::compression::{SNIFFED, sniff};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::progress::Progress;
use imgcheck_source::source::{Image, LayerBlob, LayerConsumer, StreamedMember};

/// Reads the layers that a source hands over. Its context remembers them for [`ReadContext::read_image`].
pub struct SourceLayers<'a> {
    context: &'a ReadContext<'a>,
    /// Members of the streamed archive, by name. A damaged member is an error only if an image needs it.
    members: HashMap<PathBuf, Result<Member>>,
    budget: Budget,
}

struct Member {
    /// Digest of the blob.
    digest: String,
    diff_id: String,
    layer: ReadLayer,
}

impl<'a> SourceLayers<'a> {
    /// The layers of one request.
    pub fn new(context: &'a ReadContext<'a>) -> Self {
        SourceLayers {
            context,
            members: HashMap::new(),
            budget: Budget::default(),
        }
    }

    fn read(&self, name: &Path, content: impl Read + Send, size: u64) -> Result<Member> {
        let StreamedLayer {
            layer,
            digest,
            diff_id,
        } = self
            .context
            .read_stream(&name.display().to_string(), content, size)?;
        Ok(Member {
            digest,
            diff_id,
            layer,
        })
    }
}

impl LayerConsumer for SourceLayers<'_> {
    fn progress(&self) -> &dyn Progress {
        self.context.progress
    }

    fn read_image(&mut self, image: &Image) -> Result<bool> {
        let layers = self.context.read_image(image)?;
        let is_cached = |layer: &ReadLayer| layer.method == ReadMethod::Cache;
        Ok(layers.iter().all(is_cached))
    }

    fn read_member(
        &mut self,
        name: &Path,
        size: u64,
        content: &mut (dyn Read + Send),
    ) -> Result<StreamedMember> {
        let mut start = Vec::new();
        // An error of reading is met again by whoever reads on.
        let _ = content.take(SNIFFED as u64).read_to_end(&mut start);
        if let Err(problem) = sniff(&start) {
            let error = Error::layer(name.display().to_string(), problem);
            self.members.insert(name.to_owned(), Err(error));
            return Ok(StreamedMember::Other(start));
        }
        let member = self.read(name, start.chain(content), size);
        match &member {
            Ok(Member { layer, diff_id, .. }) => {
                self.context.progress.layer();
                let counted = self
                    .budget
                    .layer(&layer.facts, 1, &self.context.bounds.limits);
                counted.map_err(|exceeded| Error::limit(format!("layer {diff_id}"), exceeded))?;
            }
            Err(_) => self.context.bounds.cancellation.check()?,
        }
        self.members.insert(name.to_owned(), member);
        Ok(StreamedMember::Layer)
    }

    fn claim_member(&mut self, name: &Path, blob: &LayerBlob) -> Result<()> {
        let damaged = |what: &str, found: &str, expected: &str| {
            Err(Error::damaged_layer(&blob.name(), what, found, expected))
        };
        match self.members.get(name) {
            Some(Ok(member)) => match &blob.digest {
                Some(expected) if *expected != member.digest => {
                    damaged("digest", &member.digest, expected)
                }
                _ if blob.diff_id != member.diff_id => {
                    damaged("diff id", &member.diff_id, &blob.diff_id)
                }
                _ => {
                    self.context.remember(blob, member.layer.clone());
                    Ok(())
                }
            },
            _ => Err(match self.members.remove(name) {
                Some(Err(error)) => error,
                _ => Error::layer(blob.name(), "missing from the streamed archive"),
            }),
        }
    }
}
