//! Requests to a source, and what every source does.

use std::io::Read;
use std::path::Path;

use super::image::{Image, LayerBlob};
use super::platform::Selection;
use super::registry::credentials::Credentials;
use super::registry::registries::Registries;
use crate::cache::Cache;
use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::Result;
use imgcheck_base::progress::Progress;

/// Which images of a source are requested, and with what it may be reached.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `os/architecture[/variant]` or only the architecture. By default linux and the architecture of this machine, else the only
    /// platform of the image.
    pub platform: Option<String>,
    /// All platforms.
    pub all_platforms: bool,
    /// Access to registries, which requests may share.
    pub registries: Registries,
    /// Looks references without a transport up in container engines only. The text is what may be meant, if no engine has one.
    pub without_registry: Option<String>,
    /// Credentials for the registry of the reference; `None` to look them up in the user's configuration.
    pub credentials: Option<Credentials>,
    /// Contains documents of earlier requests.
    pub cache: Cache,
    /// Bounds on what images may ask for, and what ends the request early.
    pub bounds: Bounds,
}

impl Request {
    /// The selection of images by this request.
    ///
    /// # Errors
    /// The platform is invalid.
    pub(super) fn selection(&self, reference: Option<&str>) -> Result<Selection> {
        Ok(Selection {
            reference: reference.map(str::to_owned),
            platform: match &self.platform {
                Some(platform) => Some(platform.parse()?),
                None => None,
            },
            all_platforms: self.all_platforms,
            limits: self.bounds.limits,
        })
    }
}

/// A medium that holds images. Each is one file or folder.
pub(super) trait Source {
    /// The selected images. Layers that cannot be read later, such as those of a stream, are handed to `layers` now.
    ///
    /// A source with several images returns all of them, or the one that the reference names; an image with several tags is
    /// returned once for each tag, since each tag makes its own claims.
    ///
    /// # Errors
    /// The image, its reference or its platform is not found; it is not an image, damaged, incomplete, or exceeds a limit; the
    /// request was cancelled.
    fn images(&self, request: &Request, layers: &mut dyn LayerConsumer) -> Result<Vec<Image>>;
}

/// Reads layers while a source hands them over.
pub trait LayerConsumer {
    /// Receives progress events.
    fn progress(&self) -> &dyn Progress;

    /// Reads all layers of an image. `true` if all of them were in the cache.
    ///
    /// # Errors
    /// A layer cannot be read completely.
    fn read_image(&mut self, image: &Image) -> Result<bool>;

    /// Reads a member of a streamed archive if it starts like a layer.
    ///
    /// # Errors
    /// The request was cancelled, or all layers together exceed a limit. That this member is damaged is an error of
    /// [`claim_member`](Self::claim_member), since perhaps no image needs it.
    fn read_member(
        &mut self,
        name: &Path,
        size: u64,
        content: &mut (dyn Read + Send),
    ) -> Result<StreamedMember>;

    /// Verifies that a member of the streamed archive is this layer.
    ///
    /// # Errors
    /// It was not read, is damaged, or is a different layer.
    fn claim_member(&mut self, name: &Path, layer: &LayerBlob) -> Result<()>;
}

/// What a member of a streamed archive turned out to be.
#[derive(Debug)]
pub enum StreamedMember {
    /// A layer, which was read to its end unless it is damaged.
    Layer,
    /// Something else, of which only these first bytes were read.
    Other(Vec<u8>),
}
