//! What was read once and never changes: layer facts and small documents, by the digest of what they were read from.

/// Where things are kept from one run to the next. The default keeps nothing.
#[derive(Debug, Clone, Default)]
pub struct Cache;

/// What is kept, and under which name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// Facts of the layer with this diff id.
    Facts {
        /// `sha256:…` of the uncompressed layer.
        diff_id: String,
        /// Names the code, the data and the depth that made the facts.
        version: String,
    },
    /// A manifest or configuration: the bytes with this digest. They are verified whenever they are read.
    Document {
        /// `sha256:…` of the bytes.
        digest: String,
    },
}

impl Cache {
    /// What is kept under the key. Nothing where it is missing, damaged or cannot be read: a cache never fails a run.
    pub fn get(&self, _key: &Key) -> Option<Vec<u8>> {
        None
    }

    /// Keeps the bytes under the key, or does not: a cache never fails a run.
    pub fn put(&self, _key: &Key, _bytes: &[u8]) {}
}
