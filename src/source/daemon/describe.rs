//! An image as its engine tells of it.

use bollard::models::{
    ImageHistoryResponseItem, ImageInspect, ImageManifestSummaryKindEnum, OciDescriptor,
    OciPlatform,
};
use oci_spec::image::{Descriptor, ImageConfiguration};
use serde_json::{Value, json};

use super::Engine;
use crate::digest;
use crate::source::platform::Platform;
use crate::source::{Image, SourceKind, Way, reference};

/// What an image is called, and how it was found.
#[derive(Debug, Clone)]
pub(in crate::source) struct Described {
    kind: SourceKind,
    /// The reference that it is compared with.
    name: Option<String>,
}

impl Described {
    /// The image that was asked for as `typed`. An id or a digest promises nothing, so the first tag stands for it.
    pub fn of(engine: Engine, typed: &str, inspect: &ImageInspect) -> Self {
        let kind = match engine {
            Engine::Docker => SourceKind::DockerDaemon,
            Engine::Podman => SourceKind::Podman,
        };
        let tags = inspect.repo_tags.clone().unwrap_or_default();
        let digests = inspect.repo_digests.clone().unwrap_or_default();
        let known = tags.iter().chain(&digests);
        let is_typed = |known: &String| reference::same(typed, known);
        let name = match known.into_iter().any(is_typed) {
            true => Some(typed.to_owned()),
            false => tags.into_iter().next(),
        };
        Described { kind, name }
    }

    /// The image with its name and the way it was read.
    pub fn name(self, image: Image, way: Way) -> Image {
        Image {
            reference: self.name,
            kind: self.kind,
            way: Some(way),
            ..image
        }
    }
}

/// The manifests that are there of an image whose id is that of a manifest or an index, as engines say that keep images in
/// containerd; of an index only itself where the engine does not tell what it lists. Empty for all other engines.
pub(super) fn manifests(inspect: &ImageInspect) -> Vec<Descriptor> {
    let listed = inspect.manifests.iter().flatten();
    let images = listed.filter(|manifest| {
        manifest.available && manifest.kind == Some(ImageManifestSummaryKindEnum::IMAGE)
    });
    let manifests: Vec<Descriptor> = images
        .filter_map(|manifest| {
            let platform = manifest.image_data.as_ref().map(|image| &image.platform);
            descriptor(&manifest.descriptor, platform)
        })
        .collect();
    match &inspect.descriptor {
        Some(index) if manifests.is_empty() => descriptor(index, None).into_iter().collect(),
        _ => manifests,
    }
}

fn descriptor(told: &OciDescriptor, platform: Option<&OciPlatform>) -> Option<Descriptor> {
    let mut members = json!({
        "mediaType": told.media_type,
        "digest": told.digest,
        "size": told.size,
    });
    if let Some(platform) = platform {
        members["platform"] = json!({
            "os": platform.os,
            "architecture": platform.architecture,
            "variant": platform.variant,
        });
    }
    serde_json::from_value(members).ok()
}

/// The platforms of the image that are there.
pub(super) fn platforms(inspect: &ImageInspect) -> Vec<Platform> {
    let told = manifests(inspect);
    let told = told
        .iter()
        .filter_map(|manifest| manifest.platform().as_ref());
    let told: Vec<Platform> = told.map(Platform::of_descriptor).collect();
    match told.is_empty() {
        true => vec![main_platform(inspect)],
        false => told,
    }
}

/// The platform of the image; of an index the one that the engine would take.
pub(super) fn main_platform(inspect: &ImageInspect) -> Platform {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (os, architecture) = (text(&inspect.os), text(&inspect.architecture));
    Platform::new(&os, &architecture, inspect.variant.as_deref())
}

/// The diff ids of the layers; `None` if the engine does not tell them as it should.
pub(super) fn diff_ids(inspect: &ImageInspect) -> Option<Vec<String>> {
    let layers = inspect.root_fs.as_ref()?.layers.clone()?;
    layers
        .iter()
        .all(|id| digest::hexadecimal(id).is_some())
        .then_some(layers)
}

/// The configuration, put together from what the engine tells of it. `None` if it does not tell which build step made which
/// layer: of each step it tells only how large its layer is, and an empty one may or may not be there.
pub(super) fn configuration(
    inspect: &ImageInspect,
    history: &[ImageHistoryResponseItem],
) -> Option<ImageConfiguration> {
    let diff_ids = diff_ids(inspect)?;
    let filled = history.iter().filter(|step| step.size > 0).count();
    let possible = history.iter().filter(|step| may_have_layer(step)).count();
    let has_layer = |step: &ImageHistoryResponseItem| match diff_ids.len() {
        layers if layers == possible => may_have_layer(step),
        _ => step.size > 0,
    };
    if diff_ids.len() != possible && diff_ids.len() != filled {
        return None;
    }
    let steps: Vec<Value> = history
        .iter()
        .rev()
        .map(|step| json!({"created_by": step.created_by, "empty_layer": !has_layer(step)}))
        .collect();
    let mut document = json!({
        "architecture": inspect.architecture,
        "os": inspect.os,
        "config": without_nulls(serde_json::to_value(&inspect.config).ok()?),
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
        "history": steps,
    });
    if let Some(variant) = inspect
        .variant
        .as_ref()
        .filter(|variant| !variant.is_empty())
    {
        document["variant"] = json!(variant);
    }
    serde_json::from_value(document).ok()
}

/// Not a step that only changes the configuration.
fn may_have_layer(step: &ImageHistoryResponseItem) -> bool {
    const WITHOUT_LAYER: [&str; 13] = [
        "ARG",
        "CMD",
        "ENTRYPOINT",
        "ENV",
        "EXPOSE",
        "HEALTHCHECK",
        "LABEL",
        "MAINTAINER",
        "ONBUILD",
        "SHELL",
        "STOPSIGNAL",
        "USER",
        "VOLUME",
    ];
    let text = step.created_by.as_str();
    let instruction = text.rsplit("#(nop)").next().unwrap_or(text);
    let word = instruction.split_whitespace().next().unwrap_or_default();
    step.size > 0 || !WITHOUT_LAYER.contains(&word)
}

/// `null` stands for what a configuration leaves out.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
        other => other,
    }
}
