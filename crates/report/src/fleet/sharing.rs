//! What images share: bytes, and bases.

use std::collections::{HashMap, HashSet};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::record::{FleetLayer, FleetRecord};

/// How many layers, and how many starts of images, are told apart.
const ENTRIES: usize = 1_000_000;
/// How many bases are listed.
const BASES: usize = 12;

/// The layers of a fleet. Digests are kept as 64-bit hashes.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    images: HashSet<u64>,
    layers: HashSet<u64>,
    bases: HashMap<u64, Start>,
    /// Bytes of all layers of all references.
    pub referenced: u64,
    /// Bytes of all layers, each counted once.
    pub unique: u64,
    /// Layers that came after the first [`ENTRIES`]; they are not counted.
    pub left_out: u64,
}

/// The first layers of an image.
#[derive(Debug)]
struct Start {
    parent: u64,
    images: u64,
    layers: usize,
    bytes: u64,
    /// An image that begins so; of an image that is nothing else if there is one. Empty until there are two.
    example: String,
    is_whole: bool,
}

/// First layers that several images share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base {
    /// An image that begins with these layers.
    pub example: String,
    /// Whether the example has no further layers.
    pub is_whole: bool,
    /// How many different images begin with them.
    pub images: u64,
    /// How many layers it has.
    pub layers: usize,
    /// Length of the layers as stored, in bytes.
    pub bytes: u64,
}

impl Base {
    /// The bytes that are stored once instead of for each image.
    pub fn saved(&self) -> u64 {
        self.bytes.saturating_mul(self.images - 1)
    }
}

impl Sharing {
    /// Adds an image under one reference.
    pub fn add(&mut self, record: &FleetRecord) {
        let mut chain = 0;
        for layer in &record.layers {
            self.referenced = self.referenced.saturating_add(layer.size);
            chain = xxh3_64_with_seed(layer.diff_id.as_bytes(), chain);
            self.count(layer);
        }
        let image = record
            .digest
            .as_ref()
            .map_or(chain, |it| xxh3_64(it.as_bytes()));
        if self.images.len() < ENTRIES && self.images.insert(image) {
            self.start(record);
        }
    }

    /// How many different images there are.
    pub fn images(&self) -> usize {
        self.images.len()
    }

    /// How many different layers there are.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    fn count(&mut self, layer: &FleetLayer) {
        let stored = layer.digest.as_ref().unwrap_or(&layer.diff_id);
        let hash = xxh3_64(stored.as_bytes());
        match self.layers.len() < ENTRIES {
            true if self.layers.insert(hash) => {
                self.unique = self.unique.saturating_add(layer.size)
            }
            true => {}
            false if !self.layers.contains(&hash) => self.left_out += 1,
            false => {}
        }
    }

    fn start(&mut self, record: &FleetRecord) {
        let (mut parent, mut bytes) = (0, 0_u64);
        for (place, layer) in record.layers.iter().enumerate() {
            let chain = xxh3_64_with_seed(layer.diff_id.as_bytes(), parent);
            bytes = bytes.saturating_add(layer.size);
            let is_whole = place + 1 == record.layers.len();
            if !self.bases.contains_key(&chain) && self.bases.len() >= ENTRIES {
                return;
            }
            let start = self.bases.entry(chain).or_insert_with(|| Start {
                parent,
                images: 0,
                layers: place + 1,
                bytes,
                example: String::new(),
                is_whole: false,
            });
            start.images += 1;
            let is_better = is_whole && !start.is_whole;
            if start.example.is_empty() && start.images > 1 || is_better {
                start.example.clone_from(&record.reference);
                start.is_whole = is_whole;
            }
            parent = chain;
        }
    }

    /// The bases that save the most. A base whose images all share more layers is not listed: the longer one is.
    pub fn bases(&self) -> Vec<Base> {
        let covered: HashSet<u64> = self
            .bases
            .values()
            .filter_map(|start| {
                let parent = self.bases.get(&start.parent)?;
                (parent.images == start.images).then_some(start.parent)
            })
            .collect();
        let shared = self
            .bases
            .iter()
            .filter(|(chain, start)| start.images > 1 && !covered.contains(chain));
        let mut bases: Vec<Base> = shared
            .map(|(_, start)| Base {
                example: start.example.clone(),
                is_whole: start.is_whole,
                images: start.images,
                layers: start.layers,
                bytes: start.bytes,
            })
            .collect();
        bases.sort_by(|a, b| {
            b.saved()
                .cmp(&a.saved())
                .then_with(|| a.example.cmp(&b.example))
        });
        bases.truncate(BASES);
        bases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(name: &str, layers: &[(&str, u64)]) -> FleetRecord {
        let layers = layers.iter().map(|(name, size)| FleetLayer {
            diff_id: (*name).to_owned(),
            digest: None,
            size: *size,
        });
        FleetRecord {
            reference: name.to_owned(),
            digest: Some(name.split('@').next().unwrap_or_default().to_owned()),
            layers: layers.collect(),
            ..FleetRecord::default()
        }
    }

    #[test]
    fn bytes_are_counted_for_each_reference_and_once() {
        let mut sharing = Sharing::default();
        sharing.add(&image("a@1", &[("os", 10), ("cuda", 100)]));
        sharing.add(&image("a@2", &[("os", 10), ("cuda", 100)]));
        sharing.add(&image("b", &[("os", 10), ("torch", 50)]));
        assert_eq!((sharing.referenced, sharing.unique), (280, 160));
        assert_eq!((sharing.images(), sharing.layers()), (2, 3));
    }

    #[test]
    fn a_base_is_the_longest_start_that_the_same_images_share() {
        let mut sharing = Sharing::default();
        sharing.add(&image(
            "train",
            &[("os", 10), ("cuda", 100), ("torch", 50), ("x", 1)],
        ));
        sharing.add(&image("serve", &[("os", 10), ("cuda", 100), ("y", 1)]));
        sharing.add(&image("cuda", &[("os", 10), ("cuda", 100)]));
        sharing.add(&image("nginx", &[("os", 10), ("z", 3)]));
        sharing.add(&image("other", &[("w", 3)]));
        let bases = sharing.bases();
        let named: Vec<_> = bases
            .iter()
            .map(|it| (it.example.as_str(), it.images, it.layers, it.saved()))
            .collect();
        assert_eq!(named, [("cuda", 3, 2, 220), ("serve", 4, 1, 30)]);
        assert!(bases[0].is_whole && !bases[1].is_whole);
    }
}
