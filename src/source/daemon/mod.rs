//! Images that an engine on this machine holds: Docker's or Podman's. No container is created, and nothing is left behind.

mod address;
mod context;
mod describe;
mod engine;
mod export;
mod overlay2;

use std::path::Path;

use bollard::models::ImageInspect;
use oci_spec::image::ImageConfiguration;

use super::passing::{Expected, Parts, Passing};
use super::platform::{self, Platform};
use super::{Access, Annotations, Image, LayerBlob, LayerData, Wanted, Way, digest};
use crate::cache::{Cache, Key};
use crate::error::{Error, Result};
use crate::reference::name::Name;
use address::addresses;
pub(super) use describe::Described;
use engine::Refusal;
use overlay2::Storage;

/// How engines are reached.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Never reads the storage of an engine, even where this process may.
    pub no_storage: bool,
}

/// Whose engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Docker,
    Podman,
}

/// What was found where engines listen.
#[derive(Debug)]
pub(super) enum Answer {
    /// An engine holds the image.
    Held(Box<Held>),
    /// There is an engine, and it has no such image.
    NoSuchImage(String),
    /// There is no engine to ask.
    NoEngine(String),
}

/// An image that an engine holds.
#[derive(Debug)]
pub struct Held {
    /// The image, where it can be described without its stream. Its layers lie in the engine's storage
    /// ([`LayerData::Overlay`]) or are only in its stream ([`LayerData::Held`]).
    pub image: Option<Image>,
    /// Why the engine's storage is not read, for whoever wonders at the time that the stream takes.
    pub no_storage: Option<String>,
    engine: engine::Engine,
    id: String,
    size: u64,
    described: Described,
    wanted: Wanted,
}

/// The image of an engine that was named: an error where it cannot be had.
pub(super) fn demand(
    engine: Engine,
    reference: &str,
    wanted: &Wanted,
    access: &Access,
) -> Result<Held> {
    match open(engine, reference, wanted, access)? {
        Answer::Held(held) => Ok(*held),
        Answer::NoSuchImage(tried) => Err(Error::Source {
            subject: reference.to_owned(),
            problem: tried,
            help: Some(engine.no_such_image(reference)),
        }),
        Answer::NoEngine(tried) => Err(Error::Source {
            subject: reference.to_owned(),
            problem: format!("no engine to ask: {tried}"),
            help: Some(engine.no_engine(&tried)),
        }),
    }
}

/// Asks where engines listen, in the order of the engine's own client, until one of them answers.
///
/// # Errors
/// The configuration is broken, the reference is none, or an engine answered with something unexpected.
pub(super) fn open(
    engine: Engine,
    reference: &str,
    wanted: &Wanted,
    access: &Access,
) -> Result<Answer> {
    // It becomes a part of what is asked, and must be nothing else.
    reference.parse::<Name>()?;
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut tried = Vec::new();
    let mut lacking = Vec::new();
    for address in addresses(engine, &variable)? {
        let connection = match engine::Engine::connect(&address) {
            Ok(connection) => connection,
            Err(problem) => {
                tried.push(format!("{address}: {problem}"));
                continue;
            }
        };
        match connection.inspect(reference) {
            Ok(inspect) if lacks_platform(&inspect, wanted) => {
                let platform = platform_of(&inspect);
                lacking.push(format!("{address}: it has the image only for {platform}"));
            }
            Ok(inspect) => {
                let held = Held::of(engine, connection, reference, &inspect, wanted, access)?;
                return Ok(Answer::Held(Box::new(held)));
            }
            Err(Refusal::NotFound(_)) => lacking.push(format!("{address}: it has no such image")),
            Err(Refusal::Failed(problem)) => {
                return Err(Error::Source {
                    subject: reference.to_owned(),
                    problem: format!("{address} says: {problem}"),
                    help: Some(engine.other_way(reference)),
                });
            }
        }
    }
    let all = |texts: &[String]| texts.join("; ");
    match lacking.is_empty() {
        true => Ok(Answer::NoEngine(all(&tried))),
        false => Ok(Answer::NoSuchImage(all(&[tried, lacking].concat()))),
    }
}

/// The platform of the image; of several ones that of this machine.
fn platform_of(inspect: &ImageInspect) -> Platform {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (os, architecture) = (text(&inspect.os), text(&inspect.architecture));
    Platform::new(&os, &architecture, inspect.variant.as_deref())
}

/// Whether the image is certainly not there for the wanted platform.
fn lacks_platform(inspect: &ImageInspect, wanted: &Wanted) -> bool {
    !may_be_index(inspect) && platform::choose("", &[platform_of(inspect)], wanted).is_err()
}

/// Engines that keep images in containerd say which manifest or index the image is.
fn may_be_index(inspect: &ImageInspect) -> bool {
    inspect.descriptor.is_some()
}

impl Engine {
    fn command(self) -> &'static str {
        match self {
            Engine::Docker => "docker",
            Engine::Podman => "podman",
        }
    }

    fn no_such_image(self, reference: &str) -> String {
        format!(
            "see `{0} images`, or get it: {0} pull {reference}; the registry itself is asked with docker://{reference}",
            self.command()
        )
    }

    fn no_engine(self, tried: &str) -> String {
        if tried.contains("permission denied") {
            return format!(
                "run as a user who may use `{0}` (for Docker: the group docker, or sudo), or save the image there and check the file",
                self.command()
            );
        }
        match self {
            Engine::Docker => "start it (systemctl start docker), say where it listens (DOCKER_HOST, docker context use), or ask the registry: docker://REFERENCE".to_owned(),
            Engine::Podman => "start its service (systemctl --user start podman.socket), or say where it listens (CONTAINER_HOST)".to_owned(),
        }
    }

    fn other_way(self, reference: &str) -> String {
        format!(
            "save it: {} save -o image.tar {reference}; then imgcheck image.tar",
            self.command()
        )
    }
}

impl Held {
    fn of(
        kind: Engine,
        engine: engine::Engine,
        reference: &str,
        inspect: &ImageInspect,
        wanted: &Wanted,
        access: &Access,
    ) -> Result<Self> {
        let id = inspect.id.clone().unwrap_or_default();
        let id = if digest::is_hexadecimal(&id) {
            format!("sha256:{id}")
        } else {
            id
        };
        if digest::hexadecimal(&id).is_none() {
            return Err(Error::source(
                reference,
                format!(
                    "{} gives it the id `{id}`, which is no SHA-256 digest",
                    engine.address
                ),
            ));
        }
        let storage = storage(&engine, &access.daemon);
        let described = Described::of(kind, reference, inspect);
        let image = image(&engine, &id, inspect, storage.as_ref().ok(), &access.cache);
        let (image, problem) = match image {
            Ok(image) => (Some(described.clone().name(image, Way::Storage)), None),
            Err(problem) => (None, problem),
        };
        Ok(Held {
            image,
            no_storage: storage.err().or(problem),
            engine,
            id,
            size: inspect
                .size
                .and_then(|size| size.try_into().ok())
                .unwrap_or(0),
            described,
            wanted: wanted.clone(),
        })
    }

    /// What the engine sends of the image.
    ///
    /// # Errors
    /// There are not enough threads.
    pub fn passing(self) -> Result<Passing> {
        let subject = self.engine.address.to_string();
        let platform = self
            .wanted
            .platform
            .as_ref()
            .filter(|_| self.engine.speaks(1, 48));
        let platform = platform.map(Platform::json);
        let parts = Parts::new(&subject, Expected::Held(self.described), self.wanted);
        let bytes = export::Export::start(self.engine, &self.id, platform)
            .map_err(|error| Error::source(subject, error.to_string()))?;
        Ok(Passing {
            bytes: Box::new(bytes),
            parts,
            size: self.size,
        })
    }
}

/// The storage of an engine on this machine. An error says why it is not read.
fn storage(engine: &engine::Engine, options: &Options) -> Result<Storage, String> {
    if options.no_storage {
        return Err("it was not to be read".to_owned());
    }
    if engine.address.socket().is_none() {
        return Err("the engine may be on another machine".to_owned());
    }
    let info = engine.info().map_err(Refusal::text)?;
    let root = info.docker_root_dir.unwrap_or_default();
    let status = info.driver_status.unwrap_or_default();
    Storage::of(&info.driver.unwrap_or_default(), &status, Path::new(&root))
}

/// The image without its stream. An error, perhaps with a reason, where the stream is needed to know what it is.
fn image(
    engine: &engine::Engine,
    id: &str,
    inspect: &ImageInspect,
    storage: Option<&Storage>,
    cache: &Cache,
) -> Result<Image, Option<String>> {
    // The id is then that of a manifest or an index.
    if may_be_index(inspect) {
        return Err(None);
    }
    let diff_ids = describe::diff_ids(inspect).ok_or(None)?;
    let stored = storage.map(|storage| storage.layers(&diff_ids)).transpose();
    let layers = stored.map_err(Some)?.unwrap_or_else(|| {
        let held = diff_ids.iter().map(|diff_id| LayerBlob {
            diff_id: diff_id.clone(),
            digest: None,
            annotations: Annotations::new(),
            size: 0,
            data: LayerData::Held(diff_id.clone()),
        });
        held.collect()
    });
    let config = configuration(engine, id, inspect, storage, cache)?;
    if config.rootfs().diff_ids() != &diff_ids {
        return Err(Some(
            "its engine does not say the same of it twice".to_owned(),
        ));
    }
    Ok(Image {
        reference: None,
        kind: super::SourceKind::DockerDaemon,
        way: None,
        platform: Platform::of_config(&config).to_string(),
        digest: None,
        config_digest: Some(id.to_owned()),
        config,
        layers,
    })
}

/// The configuration of an image: as it was seen before, as the engine's storage has it, or as the engine tells of it.
fn configuration(
    engine: &engine::Engine,
    id: &str,
    inspect: &ImageInspect,
    storage: Option<&Storage>,
    cache: &Cache,
) -> Result<ImageConfiguration, Option<String>> {
    let key = Key::Document {
        digest: id.to_owned(),
    };
    let parsed = |bytes: &[u8]| serde_json::from_slice(bytes).ok();
    if let Some(config) = cache.get(&key).as_deref().and_then(parsed) {
        return Ok(config);
    }
    if let Some(storage) = storage {
        let bytes = storage.configuration(id).map_err(Some)?;
        return parsed(&bytes).ok_or(None);
    }
    let history = engine.history(id).map_err(|_| None)?;
    describe::configuration(inspect, &history).ok_or(None)
}
