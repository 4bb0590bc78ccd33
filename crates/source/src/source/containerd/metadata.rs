//! What containerd's databases say about images and unpacked layers (containerd, `metadata/buckets.go`,
//! `snapshots/storage/bolt.go`).

use std::fmt;
use std::path::{Path, PathBuf};

use oci_spec::image::{Descriptor, Digest, MediaType};

use super::bolt::{Bucket, Database};
use crate::source::oci;
use imgcheck_base::beneath::{self, Links};
use imgcheck_base::digest;
use imgcheck_base::error::{Error, Result};

const METADATA: &str = "io.containerd.metadata.v1.bolt/meta.db";
/// Version of the layout of both databases.
const VERSION: &str = "v1";
/// The default snapshotter: one directory for each layer, as the kernel's overlay wants it.
const SNAPSHOTTER: &str = "overlayfs";
const SNAPSHOTS: &str = "io.containerd.snapshotter.v1.overlayfs";
/// The kind of a snapshot that does not change any more.
const COMMITTED: &[u8] = &[3];

/// The root directory of a containerd.
#[derive(Debug)]
pub(super) struct Root(pub PathBuf);

/// An image of containerd: a name in a namespace, and what it leads to.
#[derive(Debug, Clone)]
pub(super) struct StoredImage {
    pub namespace: String,
    pub name: String,
    pub target: Descriptor,
}

impl StoredImage {
    /// The manifest or index that it leads to, with its name.
    pub fn manifest(&self) -> Descriptor {
        oci::with_name(self.target.clone(), &self.name)
    }

    /// Whether people gave it this name. Kubernetes stores each image under its digest and its ID, too.
    pub fn has_tag(&self) -> bool {
        !self.name.contains('@') && digest::hexadecimal(&self.name).is_none()
    }
}

impl fmt::Display for StoredImage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, digest) = (&self.name, self.target.digest());
        write!(
            formatter,
            "{name} ({digest} in the namespace {})",
            self.namespace
        )
    }
}

impl Root {
    /// All images, in all namespaces or one.
    ///
    /// # Errors
    /// The metadata cannot be read.
    pub fn images(&self, namespace: Option<&str>) -> Result<Vec<StoredImage>> {
        self.database(METADATA)?.read(|top| {
            let mut images = Vec::new();
            let namespaces = match top.descend(&[VERSION])? {
                Some(version) => version.buckets()?,
                None => {
                    return Err(Error::unsupported(
                        self.name(METADATA),
                        "a layout that imgcheck does not know",
                    ));
                }
            };
            for (name, bucket) in namespaces {
                if namespace.is_none_or(|wanted| wanted == name)
                    && let Some(stored) = bucket.descend(&["images"])?
                {
                    for (image, bucket) in stored.buckets()? {
                        images.extend(stored_image(&name, image, bucket)?);
                    }
                }
            }
            Ok(images)
        })
    }

    /// The directories of the unpacked layers with these chain ids, relative to this one; `None` for what is not unpacked.
    ///
    /// # Errors
    /// The metadata cannot be read.
    pub fn snapshots(&self, namespace: &str, chain_ids: &[String]) -> Result<Vec<Option<PathBuf>>> {
        let keys: Vec<Option<String>> = self.database(METADATA)?.read(|top| {
            let key = |chain_id: &String| {
                let path = [VERSION, namespace, "snapshots", SNAPSHOTTER, chain_id];
                let bucket = top.descend(&path)?;
                bucket.map_or(Ok(None), |bucket| bucket.text("name"))
            };
            chain_ids.iter().map(key).collect()
        })?;
        if keys.iter().all(Option::is_none) {
            return Ok(vec![None; keys.len()]);
        }
        let database = self.database(&format!("{SNAPSHOTS}/metadata.db"))?;
        database.read(|top| {
            let directory = |key: &Option<String>| {
                let Some(key) = key else { return Ok(None) };
                let bucket = top.descend(&[VERSION, "snapshots", key])?;
                bucket.map_or(Ok(None), |bucket| snapshot(&bucket))
            };
            keys.iter().map(directory).collect()
        })
    }

    /// The file or directory, for messages.
    pub fn name(&self, below: &str) -> String {
        self.0.join(below).display().to_string()
    }

    fn database(&self, below: &str) -> Result<Database> {
        let opened = beneath::root(&self.0)
            .and_then(|root| beneath::file(&root, Path::new(below), Links::Refused));
        let file = opened
            .map_err(|error| Error::io(self.name(below), error).in_context("cannot be read: "))?;
        Ok(Database::new(file, self.name(below)))
    }
}

/// `None` for an image whose target is not understood.
fn stored_image(namespace: &str, name: String, bucket: Bucket) -> Result<Option<StoredImage>> {
    let Some(target) = bucket.descend(&["target"])? else {
        return Ok(None);
    };
    let digest = target
        .text("digest")?
        .and_then(|text| text.parse::<Digest>().ok());
    let (Some(digest), Some(media_type), Some(size)) =
        (digest, target.text("mediatype")?, target.value("size")?)
    else {
        return Ok(None);
    };
    Ok(Some(StoredImage {
        namespace: namespace.to_owned(),
        target: Descriptor::new(
            MediaType::from(media_type.as_str()),
            zigzag(varint(&size)),
            digest,
        ),
        name,
    }))
}

fn snapshot(bucket: &Bucket) -> Result<Option<PathBuf>> {
    let is_committed = bucket.value("kind")?.is_some_and(|kind| kind == COMMITTED);
    let id = bucket.value("id")?.filter(|_| is_committed);
    Ok(id.map(|id| {
        Path::new(SNAPSHOTS)
            .join("snapshots")
            .join(varint(&id).to_string())
    }))
}

/// Seven bits in each byte, the lowest first (Go, `encoding/binary`).
fn varint(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().take(9).rev();
    bytes.fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f))
}

/// The positive number that Go's `binary.PutVarint` wrote as this one.
fn zigzag(number: u64) -> u64 {
    number >> 1
}
