//! What a sweep reads.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use imgcheck_base::error::{Error, Result};

/// What a sweep reads: the images behind the references that were listed, and the layers that they share.
///
/// A plan is a file of JSON lines: the same plan goes to every worker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepPlan {
    pub(crate) layers: Vec<PlannedLayer>,
    /// Images with the same lower layers are neighbors.
    pub(crate) images: Vec<PlannedImage>,
    pub(crate) references: Vec<PlannedReference>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) unlisted: Vec<Unlisted>,
    /// References that the filters left out.
    pub(crate) filtered: u64,
}

/// A layer of an image in a registry, or of a local image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedLayer {
    /// Digest of the uncompressed tar.
    pub diff_id: String,
    /// Digest of the blob, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Bytes of the blob.
    pub size: u64,
}

/// An image of one platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedImage {
    /// `sha256:…` by which the store knows it: the digest of its manifest, or a hash of the source and the configuration.
    pub name: String,
    /// Where it is read, as `imgcheck check` takes it; in a registry by digest.
    pub source: String,
    /// Digest of the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Digest of the image configuration.
    pub config: String,
    /// `os/architecture[/variant]`.
    pub platform: String,
    /// Its layers, lowest first, as positions in the plan.
    pub layers: Vec<u32>,
}

/// A reference and the image that it names on one platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedReference {
    pub reference: String,
    /// Position of its image in the plan.
    pub image: u32,
    /// Running Pods that use it, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<u64>,
    /// How often its repository was pulled, if the registry says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulls: Option<u64>,
}

/// A reference that is not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Skipped {
    pub reference: String,
    pub source: String,
    /// The stable code of an error, or `filtered`.
    pub code: String,
    pub message: String,
    /// A filter leaves it out, or a registry lists it and it is not an image or has vanished: nothing is missing without it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_expected: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_false(value: &bool) -> bool {
    !value
}

/// A list that could not be read to its end; the missing references are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unlisted {
    pub source: String,
    pub message: String,
}

impl Unlisted {
    /// What could not be listed because of an error.
    pub fn of(source: String, error: &Error) -> Self {
        let message = explained(error);
        Unlisted { source, message }
    }
}

/// What went wrong with something that is named already, and in parentheses what to do about it.
pub(crate) fn explained(error: &Error) -> String {
    let message = error.message();
    let subject = error.subject().map(|it| format!("{it}: "));
    let bare = subject.and_then(|it| message.strip_prefix(&it));
    let bare = bare.unwrap_or(&message);
    match error.help() {
        Some(help) => format!("{bare} ({help})"),
        None => bare.to_owned(),
    }
}

/// How much a plan covers. `listed` = `planned` + `skipped`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepTotals {
    /// References that were listed, without those that the filters left out.
    pub listed: u64,
    /// References whose image is read.
    pub planned: u64,
    /// References that are not read, by code.
    pub skipped: BTreeMap<String, u64>,
    /// References that the filters left out.
    pub filtered: u64,
    /// Whether every list was read to its end.
    pub complete: bool,
    /// Images: a manifest of one platform.
    pub images: u64,
    /// Layers, each once.
    pub layers: u64,
    /// Bytes of all layers of all references, as a client that knows no layer would pull them.
    pub referenced_bytes: u64,
    /// Bytes of the layers, each once.
    pub unique_bytes: u64,
    /// Layers and bytes that the store does not have yet. Equal to the above without a store.
    pub missing_layers: u64,
    /// Bytes of these layers.
    pub missing_bytes: u64,
    /// Bytes of the missing layers by the host that they are read from.
    pub hosts: BTreeMap<String, u64>,
}

impl SweepPlan {
    /// Whether every list was read to its end.
    pub fn is_complete(&self) -> bool {
        self.unlisted.is_empty()
    }

    /// The lists that could not be read to their end, and why.
    pub fn unlisted(&self) -> impl Iterator<Item = (&str, &str)> {
        let unlisted = self.unlisted.iter();
        unlisted.map(|it| (it.source.as_str(), it.message.as_str()))
    }

    /// The references that should be in the sweep and are not, and why: a mistyped tag of a list, an image that needs a login.
    pub fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        let missing = self.skipped.iter().filter(|it| !it.is_expected);
        missing.map(|it| (it.reference.as_str(), it.message.as_str()))
    }

    /// # Errors
    /// Its sources listed nothing: then no image passes, and none fails.
    pub(crate) fn check_listed(&self) -> Result<()> {
        let is_empty = self.references.is_empty() && self.skipped.is_empty();
        match is_empty && self.is_complete() {
            true => Err(Error::not_found("the plan", "it has no image")
                .with_help("make it again with `imgcheck sweep plan SOURCE -o PLAN`")),
            false => Ok(()),
        }
    }

    /// How much the plan covers, if the store has the layers with these diff IDs and the images with these names.
    pub(crate) fn totals(&self, known: &HashSet<String>) -> SweepTotals {
        let mut skipped: BTreeMap<String, u64> = BTreeMap::new();
        for it in &self.skipped {
            *skipped.entry(it.code.clone()).or_default() += 1;
        }
        let planned: HashSet<&str> = self.references.iter().map(|it| &*it.reference).collect();
        let planned = planned.len() as u64;
        let size = |layer: &u32| self.layer(*layer).map_or(0, |it| it.size);
        let sizes: Vec<u64> = self
            .images
            .iter()
            .map(|image| image.layers.iter().map(size).sum())
            .collect();
        let of_reference = |it: &PlannedReference| sizes.get(it.image as usize).copied();
        let mut hosts: BTreeMap<String, u64> = BTreeMap::new();
        let (mut missing_layers, mut missing_bytes) = (0, 0);
        // Workers read the layers of registries one by one, and other images as a whole.
        let images = self.images.iter();
        let unread = images.filter(|it| it.is_in_registry() || !known.contains(&it.name));
        for (layer, image) in self.first_of(unread) {
            let Some(it) = self.layer(layer).filter(|it| !known.contains(&it.diff_id)) else {
                continue;
            };
            missing_layers += 1;
            missing_bytes += it.size;
            *hosts.entry(image.host().to_owned()).or_default() += it.size;
        }
        SweepTotals {
            listed: planned + self.skipped.len() as u64,
            planned,
            skipped,
            filtered: self.filtered,
            complete: self.is_complete(),
            images: self.images.len() as u64,
            layers: self.layers.len() as u64,
            referenced_bytes: self.references.iter().filter_map(of_reference).sum(),
            unique_bytes: self.layers.iter().map(|it| it.size).sum(),
            missing_layers,
            missing_bytes,
            hosts,
        }
    }

    /// The references of each image.
    pub(crate) fn references_by_image(&self) -> Vec<Vec<&PlannedReference>> {
        let mut by_image = vec![Vec::new(); self.images.len()];
        for reference in &self.references {
            if let Some(of) = by_image.get_mut(reference.image as usize) {
                of.push(reference);
            }
        }
        by_image
    }

    /// An image by its position, with the references that name it.
    pub(crate) fn named(&self, position: usize, image: &PlannedImage) -> String {
        /// References that are listed.
        const LISTED: usize = 3;
        let references = self.references.iter();
        let references = references.filter(|it| it.image as usize == position);
        let references: Vec<&str> = references.map(|it| it.reference.as_str()).collect();
        let (listed, more) = references.split_at(references.len().min(LISTED));
        let more = match more.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{} ({}{more})", image.source, listed.join(", "))
    }

    /// How many images have a layer.
    pub(crate) fn images_with(&self, diff_id: &str) -> usize {
        let has_layer = |image: &&PlannedImage| {
            let mut layers = image.layers.iter().filter_map(|at| self.layer(*at));
            layers.any(|it| it.diff_id == diff_id)
        };
        self.images.iter().filter(has_layer).count()
    }

    pub(crate) fn layer(&self, position: u32) -> Option<&PlannedLayer> {
        self.layers.get(position as usize)
    }

    /// Each layer with the first image that has it.
    pub(crate) fn first_images(&self) -> impl Iterator<Item = (u32, &PlannedImage)> {
        self.first_of(self.images.iter())
    }

    /// Each layer of some images with the first of them that has it.
    fn first_of<'p>(
        &self,
        images: impl Iterator<Item = &'p PlannedImage>,
    ) -> impl Iterator<Item = (u32, &'p PlannedImage)> {
        let mut first: Vec<Option<&PlannedImage>> = vec![None; self.layers.len()];
        for image in images {
            for layer in &image.layers {
                if let Some(slot) = first.get_mut(*layer as usize) {
                    slot.get_or_insert(image);
                }
            }
        }
        let found = first.into_iter().enumerate();
        found.filter_map(|(layer, image)| Some((u32::try_from(layer).ok()?, image?)))
    }

    /// Puts images with the same lower layers next to each other, so that those who read them one after the other decode a layer once.
    pub(crate) fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.images.len()).collect();
        order.sort_by(|one, other| {
            let (one, other) = (&self.images[*one], &self.images[*other]);
            (&one.layers, &one.name).cmp(&(&other.layers, &other.name))
        });
        let place: HashMap<usize, u32> = order.iter().copied().zip(0..).collect();
        for reference in &mut self.references {
            if let Some(at) = place.get(&(reference.image as usize)) {
                reference.image = *at;
            }
        }
        let mut images: Vec<Option<PlannedImage>> = std::mem::take(&mut self.images)
            .into_iter()
            .map(Some)
            .collect();
        self.images = order.iter().filter_map(|at| images[*at].take()).collect();
    }
}

impl PlannedImage {
    /// Whether its layers can be read one by one, by any worker.
    pub fn is_in_registry(&self) -> bool {
        self.source.starts_with(REGISTRY)
    }

    /// The host of its registry; `local` for an image of this machine.
    pub fn host(&self) -> &str {
        let reference = self.source.strip_prefix(REGISTRY);
        let host = reference.and_then(|it| it.split('/').next());
        host.unwrap_or("local")
    }
}

/// The transport of images in registries.
pub(crate) const REGISTRY: &str = "docker://";
