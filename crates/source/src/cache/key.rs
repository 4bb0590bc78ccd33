//! The names of cache entries.

use imgcheck_base::digest::{hexadecimal, is_hexadecimal, sha256};

/// What is cached, and under which name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// Facts of the layer with this diff ID.
    Facts {
        /// `sha256:…` of the uncompressed layer.
        diff_id: String,
        /// Identifies the code, the data and the options that the facts were computed with: 16 hexadecimal digits.
        version: String,
    },
    /// Facts of the Python sources of the layer with this diff ID.
    Modules {
        /// `sha256:…` of the uncompressed layer.
        diff_id: String,
        /// As of facts of layers.
        version: String,
    },
    /// What the facts of an image say: its stack, loader model and GPU code.
    Model {
        /// `sha256:…` of its platform, configuration and diff IDs.
        image: String,
        /// Identifies the code, the data, the options and the limits that the model was computed with, as of facts of layers.
        version: String,
    },
    /// That the blob with this digest was read and has this diff ID. The entry is empty.
    Verified {
        /// `sha256:…` of the blob.
        digest: String,
        /// `sha256:…` of the uncompressed layer.
        diff_id: String,
    },
    /// A manifest or configuration: the bytes with this digest, which is verified on every access.
    Document {
        /// `sha256:…` of the bytes.
        digest: String,
    },
    /// The facts of an image, of which a sweep keeps those of the layers apart.
    Image {
        /// `sha256:…` that names the image in its plan.
        image: String,
        /// As of facts of layers.
        version: String,
    },
    /// The plan of a sweep.
    Plan {
        /// What people call it.
        name: String,
    },
    /// Why a sweep could not read an image.
    Unread {
        /// `sha256:…` that names the image in its plan.
        image: String,
        /// As of facts of layers.
        version: String,
    },
}

impl Key {
    /// The name of the file; `None` if a digest is invalid, because an image can claim anything.
    pub fn name(&self) -> Option<String> {
        let of_version = |kind: &str, version: &str, digest: &str| {
            let hex = hexadecimal(digest)?;
            is_version(version).then(|| format!("{kind}-{version}-{hex}"))
        };
        match self {
            Key::Facts { diff_id, version } => of_version("facts", version, diff_id),
            Key::Modules { diff_id, version } => of_version("modules", version, diff_id),
            Key::Model { image, version } => of_version("model", version, image),
            Key::Image { image, version } => of_version("image", version, image),
            Key::Unread { image, version } => of_version("unread", version, image),
            Key::Plan { name } => {
                let hex = sha256(name.as_bytes());
                hexadecimal(&hex).map(|hex| format!("plan-{hex}"))
            }
            Key::Verified { digest, diff_id } => {
                let (blob, layer) = (hexadecimal(digest)?, hexadecimal(diff_id)?);
                Some(format!("verified-{blob}-{layer}"))
            }
            Key::Document { digest } => hexadecimal(digest).map(|hex| format!("document-{hex}")),
        }
    }

    /// Whether it is kept for other machines, too: computing a model takes less time than asking for it.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self, Key::Model { .. })
    }

    /// Whether the bytes can belong to the key.
    pub(super) fn accepts(&self, bytes: &[u8]) -> bool {
        match self {
            Key::Verified { .. } => bytes.is_empty(),
            Key::Document { digest } => sha256(bytes) == *digest,
            Key::Facts { .. } | Key::Modules { .. } | Key::Model { .. } => true,
            Key::Image { .. } | Key::Plan { .. } | Key::Unread { .. } => true,
        }
    }
}

/// What a cache entry contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheEntryKind {
    /// Facts of a layer.
    Facts {
        /// The version of the facts.
        version: String,
    },
    /// Facts of the Python sources of a layer.
    Modules {
        /// The version of the facts.
        version: String,
    },
    /// What the facts of an image say.
    Model {
        /// The version of the model.
        version: String,
    },
    /// That a blob has a diff ID.
    Verified,
    /// A manifest or configuration.
    Document,
}

impl CacheEntryKind {
    /// Parses the name of a file; `None` if it does not belong to the cache.
    pub(super) fn of(name: &str) -> Option<Self> {
        if let Some(hex) = name.strip_prefix("document-") {
            return is_hexadecimal(hex).then_some(CacheEntryKind::Document);
        }
        if let Some(pair) = name.strip_prefix("verified-") {
            let (blob, layer) = pair.split_once('-')?;
            let is_pair = is_hexadecimal(blob) && is_hexadecimal(layer);
            return is_pair.then_some(CacheEntryKind::Verified);
        }
        let (kind, rest) = name.split_once('-')?;
        let (version, hex) = rest.split_once('-')?;
        let is_named = is_version(version) && is_hexadecimal(hex);
        let version = version.to_owned();
        match kind {
            "facts" if is_named => Some(CacheEntryKind::Facts { version }),
            "modules" if is_named => Some(CacheEntryKind::Modules { version }),
            "model" if is_named => Some(CacheEntryKind::Model { version }),
            _ => None,
        }
    }
}

fn is_version(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(diff_id: &str, version: &str) -> Key {
        Key::Facts {
            diff_id: diff_id.to_owned(),
            version: version.to_owned(),
        }
    }

    #[test]
    fn only_digests_become_names() {
        let digest = sha256(b"");
        assert!(facts(&digest, "0123456789abcdef").name().is_some());
        for (diff_id, version) in [
            ("sha256:../../../etc/passwd", "0123456789abcdef"),
            ("", "0123456789abcdef"),
            (digest.as_str(), "../456789abcdef/"),
            (digest.as_str(), ""),
        ] {
            assert_eq!(facts(diff_id, version).name(), None);
        }
        let digest = "sha256:/".to_owned();
        assert_eq!(Key::Document { digest }.name(), None);
    }

    #[test]
    fn names_become_kinds() {
        let digest = sha256(b"");
        let name = facts(&digest, "0123456789abcdef").name();
        let kind = name.as_deref().and_then(CacheEntryKind::of);
        let version = "0123456789abcdef".to_owned();
        assert_eq!(kind, Some(CacheEntryKind::Facts { version }));
        let model = Key::Model {
            image: digest.clone(),
            version: "0123456789abcdef".to_owned(),
        };
        let kind = model.name().as_deref().and_then(CacheEntryKind::of);
        assert!(matches!(kind, Some(CacheEntryKind::Model { .. })));
        let modules = Key::Modules {
            diff_id: digest.clone(),
            version: "0123456789abcdef".to_owned(),
        };
        let kind = modules.name().as_deref().and_then(CacheEntryKind::of);
        assert!(matches!(kind, Some(CacheEntryKind::Modules { .. })));
        let pair = Key::Verified {
            digest: digest.clone(),
            diff_id: digest.clone(),
        };
        let kind = pair.name().as_deref().and_then(CacheEntryKind::of);
        assert_eq!(kind, Some(CacheEntryKind::Verified));
        let name = Key::Document { digest }.name();
        let kind = name.as_deref().and_then(CacheEntryKind::of);
        assert_eq!(kind, Some(CacheEntryKind::Document));
        for other in [
            "document-",
            "facts-0123456789abcdef-",
            "notes.txt",
            ".tmp-1",
        ] {
            assert_eq!(CacheEntryKind::of(other), None, "{other}");
        }
    }
}
