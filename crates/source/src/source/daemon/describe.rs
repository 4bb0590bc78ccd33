//! An image as its container engine describes it.

use bollard::models::{
    ImageHistoryResponseItem, ImageInspect, ImageManifestSummaryKindEnum, OciDescriptor,
    OciPlatform,
};
use oci_spec::image::{Descriptor, ImageConfiguration};
use serde_json::{Value, json};

use super::kind::EngineKind;
use crate::source::image::{AccessMethod, Image, SourceKind};
use crate::source::names;
use crate::source::platform::Platform;
use imgcheck_base::digest;

/// The name of an image, and its engine.
#[derive(Debug, Clone)]
pub(super) struct ImageName {
    kind: SourceKind,
    /// The reference whose claims are checked.
    name: Option<String>,
}

impl ImageName {
    /// The name of the image requested as `typed`. An id or a digest claims nothing, so it is replaced by the first tag.
    pub fn new(kind: EngineKind, typed: &str, inspect: &ImageInspect) -> Self {
        let kind = match kind {
            EngineKind::Docker => SourceKind::DockerDaemon,
            EngineKind::Podman => SourceKind::Podman,
        };
        let tags = inspect.repo_tags.iter().flatten();
        let digests = inspect.repo_digests.iter().flatten();
        Self::among(kind, typed, tags.chain(digests))
    }

    /// The same for an image that containers/storage has under these names.
    pub fn of_stored(typed: &str, names: &[String]) -> Self {
        Self::among(SourceKind::Podman, typed, names.iter())
    }

    fn among<'a>(
        kind: SourceKind,
        typed: &str,
        mut known: impl Iterator<Item = &'a String> + Clone,
    ) -> Self {
        let tag = known.clone().find(|name| !name.contains('@')).cloned();
        let built = names::built(typed);
        let is_typed = known.any(|name| names::same(typed, name) || names::same(&built, name));
        let name = if is_typed {
            Some(typed.to_owned())
        } else {
            tag
        };
        ImageName { kind, name }
    }

    /// The image with its name, and how it was accessed.
    pub fn apply(&self, image: Image, access: AccessMethod) -> Image {
        Image {
            reference: self.name.clone(),
            kind: self.kind,
            access: Some(access),
            ..image
        }
    }
}

/// The available manifests of an image in containerd, whose id is the digest of a manifest or an index; only the index itself if
/// the engine does not list its content. Empty for images outside containerd.
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

fn descriptor(described: &OciDescriptor, platform: Option<&OciPlatform>) -> Option<Descriptor> {
    let mut members = json!({
        "mediaType": described.media_type,
        "digest": described.digest,
        "size": described.size,
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

/// The available platforms of the image.
pub(super) fn platforms(inspect: &ImageInspect) -> Vec<Platform> {
    let manifests = manifests(inspect);
    let platforms = manifests
        .iter()
        .filter_map(|manifest| manifest.platform().as_ref());
    let platforms: Vec<Platform> = platforms.map(Platform::of_descriptor).collect();
    match platforms.is_empty() {
        true => vec![main_platform(inspect)],
        false => platforms,
    }
}

/// The platform of the image; of an index the one that the engine would run.
pub(super) fn main_platform(inspect: &ImageInspect) -> Platform {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (os, architecture) = (text(&inspect.os), text(&inspect.architecture));
    Platform::new(&os, &architecture, inspect.variant.as_deref())
}

/// The diff ids of the layers; `None` if the engine does not report valid ones.
pub(super) fn diff_ids(inspect: &ImageInspect) -> Option<Vec<String>> {
    let layers = inspect.root_fs.as_ref()?.layers.clone()?;
    layers
        .iter()
        .all(|id| digest::hexadecimal(id).is_some())
        .then_some(layers)
}

/// The configuration, composed of what the engine reports. `None` if that does not determine which build step made which layer:
/// the engine reports only the size of each step, and a step of size 0 may or may not have a layer.
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

/// Whether the step does more than change the configuration.
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

/// The engine reports missing members as `null`.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
        other => other,
    }
}
