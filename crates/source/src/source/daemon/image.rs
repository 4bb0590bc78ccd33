//! One image of a container engine, and how to read it.

use bollard::models::{ImageInspect, SystemInfo};
use oci_spec::image::{Descriptor, ImageConfiguration};

use super::cached_documents::CachedDocuments;
use super::connection::Connection;
use super::content_store;
use super::describe::{self, ImageName};
use super::export::Export;
use super::kind::EngineKind;
use super::storage::Storage;
use crate::cache::{Cache, Key};
use crate::source::archive_file;
use crate::source::image::{AccessMethod, Annotations, Image, LayerBlob, LayerData, SourceKind};
use crate::source::oci;
use crate::source::platform::{Platform, Selection};
use crate::source::request::{LayerConsumer, Request};
use crate::source::streamed::{Document, StreamedArchive, claim_layers};
use imgcheck_base::digest;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limit;

/// An image of a container engine.
#[derive(Debug)]
pub struct DaemonImage {
    /// The image, one for each selected platform, if it can be described without the stream of the engine. Its layers are in the
    /// storage of the engine, or can only be read from the stream ([`LayerData::EngineOnly`]).
    images: Vec<Image>,
    connection: Connection,
    id: String,
    /// The only platform to export, as JSON.
    platform: Option<String>,
    /// Bytes.
    size: u64,
    name: ImageName,
    selection: Selection,
}

impl DaemonImage {
    pub(super) fn new(
        kind: EngineKind,
        connection: Connection,
        reference: &str,
        inspect: &ImageInspect,
        request: &Request,
    ) -> Result<Self> {
        let selection = request.selection(None)?;
        let id = id(inspect).ok_or_else(|| {
            let problem = format!(
                "{}: the image id is not a SHA-256 digest",
                connection.address
            );
            Error::unsupported(reference, problem)
        })?;
        let description = Description {
            kind,
            info: storage_info(&connection),
            connection: &connection,
            id: &id,
            inspect,
            selection: &selection,
            cache: &request.cache,
        };
        let images = description.images().unwrap_or_default();
        request.bounds.cancellation.check()?;
        // Docker may have only one platform of an index; exporting all would fail.
        let has_index = !describe::manifests(inspect).is_empty() && !selection.all_platforms;
        let platform = (has_index && connection.supports(1, 48)).then(|| {
            let selected = selection.platform.clone();
            let selected = selected.unwrap_or_else(|| describe::main_platform(inspect));
            selected.json()
        });
        Ok(DaemonImage {
            platform,
            images,
            size: inspect
                .size
                .and_then(|size| size.try_into().ok())
                .unwrap_or(0),
            connection,
            id,
            name: ImageName::new(kind, reference, inspect),
            selection,
        })
    }

    /// Reads the image in the cheapest way: its layers from the cache and the storage of the engine, else from the stream of the
    /// engine. The storage may change meanwhile, so its errors lead to the stream, too.
    ///
    /// # Errors
    /// The image cannot be read completely, or exceeds a limit; the request was cancelled.
    pub fn read(mut self, request: &Request, layers: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let described = std::mem::take(&mut self.images);
        if !described.is_empty() {
            match read_stored(described, &self.name, layers) {
                // The stream would exceed the limit, too.
                Err(error) if error.is_interrupted() || matches!(error, Error::Limit { .. }) => {
                    return Err(error);
                }
                Err(_) => {}
                images => return images,
            }
        }
        self.read_stream(request, layers)
    }

    fn read_stream(self, request: &Request, layers: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let archive = StreamedArchive {
            subject: self.connection.address.to_string(),
            bytes: Box::new(Export::start(self.connection, self.id, self.platform)),
            size: self.size,
            limits: request.bounds.limits,
            ends_with_checksum: false,
        };
        let (store, documents) = archive.read(layers)?;
        let images = archive_file::open_any(&store, &self.selection)?;
        store_documents(&request.cache, &documents);
        claim_layers(&images, layers)?;
        let images = images.into_iter();
        Ok(images
            .map(|image| self.name.apply(image, AccessMethod::Stream))
            .collect())
    }
}

/// An image whose id is the digest of its configuration, before it has its name ([`ImageName::apply`]).
pub(super) fn by_configuration(
    id: &str,
    platform: &Platform,
    config: ImageConfiguration,
    layers: Vec<LayerBlob>,
) -> Image {
    Image {
        reference: None,
        kind: SourceKind::DockerDaemon,
        access: None,
        platform: platform.to_string(),
        digest: None,
        config_digest: Some(id.to_owned()),
        config: config.into(),
        layers,
        attestations: Vec::new(),
    }
}

/// Reads images whose layers are in a storage, or in the cache.
pub(super) fn read_stored(
    described: Vec<Image>,
    name: &ImageName,
    layers: &mut dyn LayerConsumer,
) -> Result<Vec<Image>> {
    let read = described.into_iter().map(|image| {
        let image = name.apply(image, AccessMethod::Storage);
        let access = match layers.read_image(&image)? {
            true => AccessMethod::Cache,
            false => AccessMethod::Storage,
        };
        Ok(name.apply(image, access))
    });
    read.collect()
}

/// Stores manifests, indexes and configurations in the cache: the files whose name is their digest.
fn store_documents(cache: &Cache, documents: &[Document]) {
    for (name, bytes) in documents {
        let digest = digest::sha256(bytes);
        if digest::hexadecimal(&digest).is_some_and(|hex| name.contains(hex)) {
            cache.put(&Key::Document { digest }, bytes);
        }
    }
}

/// The id as a digest: some engines omit the algorithm.
fn id(inspect: &ImageInspect) -> Option<String> {
    let id = inspect.id.clone()?;
    let id = match digest::is_hexadecimal(&id) {
        true => format!("sha256:{id}"),
        false => id,
    };
    digest::hexadecimal(&id).is_some().then_some(id)
}

/// Describes an image without the stream of the engine.
struct Description<'a> {
    kind: EngineKind,
    /// The engine's description of its storage, if the storage is on this machine.
    info: Option<SystemInfo>,
    connection: &'a Connection,
    id: &'a str,
    inspect: &'a ImageInspect,
    selection: &'a Selection,
    cache: &'a Cache,
}

impl Description<'_> {
    /// `None` if only the stream names the images.
    fn images(&self) -> Option<Vec<Image>> {
        let manifests = describe::manifests(self.inspect);
        match manifests.is_empty() {
            true => Some(vec![self.by_configuration()?]),
            false => self.by_manifests(&manifests),
        }
    }

    /// The image is in containerd: its id is the digest of a manifest or an index.
    fn by_manifests(&self, manifests: &[Descriptor]) -> Option<Vec<Image>> {
        let info = self.info.as_ref();
        let cached = || {
            let documents = CachedDocuments {
                id: self.id,
                cache: self.cache,
            };
            let (manifests, kind) = (manifests.to_vec(), SourceKind::DockerDaemon);
            oci::images(&documents, manifests, self.selection, kind).ok()
        };
        let stored = info.and_then(|info| content_store::images(info, manifests, self.selection));
        stored.or_else(cached)
    }

    /// The image is not in containerd: its id is the digest of the configuration.
    fn by_configuration(&self) -> Option<Image> {
        let diff_ids = describe::diff_ids(self.inspect)?;
        let limits = &self.selection.limits;
        // The stream has as many layers, and its error says so.
        limits.check(Limit::Layers, diff_ids.len() as u64).ok()?;
        let info = self.info.as_ref();
        let storage = info.and_then(|info| Storage::new(self.kind, info, limits));
        let layers = storage
            .as_ref()
            .and_then(|storage| storage.layers(self.id, &diff_ids));
        let config = self.configuration(storage.as_ref())?;
        if config.rootfs().diff_ids() != &diff_ids {
            return None;
        }
        let platform = describe::main_platform(self.inspect);
        let layers = layers.unwrap_or_else(|| engine_only(&diff_ids));
        Some(by_configuration(self.id, &platform, config, layers))
    }

    /// The configuration from the cache, from the storage of the engine, or composed of what the engine reports.
    fn configuration(&self, storage: Option<&Storage>) -> Option<ImageConfiguration> {
        let digest = self.id.to_owned();
        let cached = self.cache.get(&Key::Document { digest });
        let stored = || storage.and_then(|storage| storage.configuration(self.id));
        if let Some(bytes) = cached.or_else(stored) {
            return serde_json::from_slice(&bytes).ok();
        }
        let history = self.connection.history(self.id).ok()?;
        describe::configuration(self.inspect, &history)
    }
}

/// `None` if the engine may be on another machine.
fn storage_info(connection: &Connection) -> Option<SystemInfo> {
    connection.address.socket()?;
    connection.info().ok()
}

fn engine_only(diff_ids: &[String]) -> Vec<LayerBlob> {
    let layers = diff_ids.iter().map(|diff_id| LayerBlob {
        diff_id: diff_id.clone(),
        digest: None,
        annotations: Annotations::new(),
        size: 0,
        data: LayerData::EngineOnly(diff_id.clone()),
    });
    layers.collect()
}
