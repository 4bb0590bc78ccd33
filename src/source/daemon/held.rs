//! One image of an engine, and the ways to it.

use bollard::models::{ImageInspect, SystemInfo};
use oci_spec::image::{Descriptor, ImageConfiguration};

use super::containerd;
use super::describe::{self, Described};
use super::engine::Engine;
use super::export::Export;
use super::known::Known;
use super::storage::Storage;
use crate::cache::{Cache, Key};
use crate::digest;
use crate::error::{Error, Result};
use crate::limits::Limit;
use crate::source::blobs::Blobs;
use crate::source::passing::{Expected, Parts, Passing};
use crate::source::{
    Access, Annotations, Image, LayerBlob, LayerData, SourceKind, Wanted, Way, oci,
};

/// An image that an engine holds.
#[derive(Debug)]
pub struct Held {
    /// The image, of several platforms if they were asked for, where it can be described without what the engine sends. Its
    /// layers lie in the engine's storage, or are only in what the engine sends ([`LayerData::Held`]).
    pub images: Vec<Image>,
    engine: Engine,
    id: String,
    /// The only platform to be sent, as the engine wants to be told.
    platform: Option<String>,
    size: u64,
    described: Described,
    wanted: Wanted,
    cache: Cache,
}

impl Held {
    pub(super) fn of(
        kind: super::Engine,
        engine: Engine,
        reference: &str,
        inspect: &ImageInspect,
        wanted: &Wanted,
        access: &Access,
    ) -> Result<Self> {
        let id = id(inspect).ok_or_else(|| {
            let problem = format!("{} gives it no id that is a SHA-256 digest", engine.address);
            Error::unsupported(reference, problem)
        })?;
        let described = Described::of(kind, reference, inspect);
        let question = Question {
            kind,
            info: storage_of(&engine),
            engine: &engine,
            id: &id,
            inspect,
            wanted,
            access,
        };
        let images = question.images().unwrap_or_default();
        let named = |image| described.clone().name(image, Way::Storage);
        // Of an index the engine may have only one platform, and would send, or miss, them all.
        let of_index = !describe::manifests(inspect).is_empty() && !wanted.all_platforms;
        let platform = (of_index && engine.speaks(1, 48)).then(|| {
            let wanted = wanted.platform.clone();
            let wanted = wanted.unwrap_or_else(|| describe::main_platform(inspect));
            wanted.json()
        });
        Ok(Held {
            platform,
            images: images.into_iter().map(named).collect(),
            size: inspect
                .size
                .and_then(|size| size.try_into().ok())
                .unwrap_or(0),
            engine,
            id,
            described,
            wanted: wanted.clone(),
            cache: access.cache.clone(),
        })
    }

    /// What the engine sends of the image. To be asked for only if the layers cannot be had otherwise: the engine works for it.
    ///
    /// # Errors
    /// There are not enough threads.
    pub fn passing(self) -> Result<Passing> {
        let subject = self.engine.address.to_string();
        let expected = Expected::Held(self.described, self.cache);
        let parts = Parts::new(&subject, expected, self.wanted);
        let bytes = Export::start(self.engine, &self.id, self.platform)
            .map_err(|error| Error::io(subject, error))?;
        Ok(Passing {
            bytes: Box::new(bytes),
            parts,
            size: self.size,
        })
    }
}

/// The id as a digest: some engines leave out the algorithm.
fn id(inspect: &ImageInspect) -> Option<String> {
    let id = inspect.id.clone()?;
    let id = match digest::is_hexadecimal(&id) {
        true => format!("sha256:{id}"),
        false => id,
    };
    digest::hexadecimal(&id).is_some().then_some(id)
}

/// What is asked for, of whom.
struct Question<'a> {
    kind: super::Engine,
    /// What the engine says of its storage, if that may be read.
    info: Option<SystemInfo>,
    engine: &'a Engine,
    id: &'a str,
    inspect: &'a ImageInspect,
    wanted: &'a Wanted,
    access: &'a Access,
}

impl Question<'_> {
    /// The images without what the engine sends. `None` where only that tells what they are.
    fn images(&self) -> Option<Vec<Image>> {
        let manifests = describe::manifests(self.inspect);
        match manifests.is_empty() {
            true => Some(vec![self.of_configuration()?]),
            false => self.of_manifests(&manifests),
        }
    }

    /// Engines that keep images in containerd: the id is that of a manifest or of an index.
    fn of_manifests(&self, manifests: &[Descriptor]) -> Option<Vec<Image>> {
        let info = self.info.as_ref();
        let content =
            info.and_then(|info| containerd::content(info, manifests, self.access.limits));
        let known = Known {
            id: self.id,
            cache: &self.access.cache,
        };
        let images = |blobs: &dyn Blobs| {
            let listed = manifests.to_vec();
            oci::images(blobs, listed, self.wanted, SourceKind::DockerDaemon).ok()
        };
        let stored = content.and_then(|store| images(&store));
        stored.or_else(|| images(&known))
    }

    /// All others: the id is the digest of the configuration.
    fn of_configuration(&self) -> Option<Image> {
        let diff_ids = describe::diff_ids(self.inspect)?;
        let layers = diff_ids.len() as u64;
        // What the engine sends has as many, and says so.
        self.access.limits.check(Limit::Layers, layers).ok()?;
        let info = self.info.as_ref();
        let storage = info.and_then(|info| Storage::of(self.kind, info, &self.access.limits));
        let layers = storage
            .as_ref()
            .and_then(|storage| storage.layers(self.id, &diff_ids));
        let config = self.configuration(storage.as_ref())?;
        if config.rootfs().diff_ids() != &diff_ids {
            return None;
        }
        Some(Image {
            reference: None,
            kind: SourceKind::DockerDaemon,
            way: None,
            platform: describe::main_platform(self.inspect).to_string(),
            digest: None,
            config_digest: Some(self.id.to_owned()),
            config: config.into(),
            layers: layers.unwrap_or_else(|| only_sent(&diff_ids)),
        })
    }

    /// As it was seen before, as the engine's storage has it, or as the engine tells of it.
    fn configuration(&self, storage: Option<&Storage>) -> Option<ImageConfiguration> {
        let digest = self.id.to_owned();
        let known = self.access.cache.get(&Key::Document { digest });
        let stored = || storage.and_then(|storage| storage.configuration(self.id));
        if let Some(bytes) = known.or_else(stored) {
            return serde_json::from_slice(&bytes).ok();
        }
        let history = self.engine.history(self.id).ok()?;
        describe::configuration(self.inspect, &history)
    }
}

/// What an engine says of its storage: nothing where it may be on another machine.
fn storage_of(engine: &Engine) -> Option<SystemInfo> {
    engine.address.socket()?;
    engine.info().ok()
}

/// Layers of which only their diff ids are known.
fn only_sent(diff_ids: &[String]) -> Vec<LayerBlob> {
    let layers = diff_ids.iter().map(|diff_id| LayerBlob {
        diff_id: diff_id.clone(),
        digest: None,
        annotations: Annotations::new(),
        size: 0,
        data: LayerData::Held(diff_id.clone()),
    });
    layers.collect()
}
