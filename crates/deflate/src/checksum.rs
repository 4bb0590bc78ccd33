//! The checksum and the length at the end of a gzip member (RFC 1952, "Member trailer").

use crc32fast::Hasher;

use crate::error::Invalid;

/// The checksum and the length of a member so far.
#[derive(Default)]
pub struct Checksum(Hasher, u32);

impl Checksum {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
        self.1 = self.1.wrapping_add(bytes.len() as u32);
    }

    /// Adds the next bytes, whose checksum is known.
    pub fn append(&mut self, next: &Checksum) {
        self.0.combine(&next.0);
        self.1 = self.1.wrapping_add(next.1);
    }

    /// Compares with the end of a member, and begins with the next one.
    ///
    /// # Errors
    /// The end says otherwise.
    pub fn verify(&mut self, trailer: [u8; 8]) -> Result<(), Invalid> {
        let Checksum(sum, length) = std::mem::take(self);
        let found = [sum.finalize(), length].map(u32::to_le_bytes);
        match trailer == *found.as_flattened() {
            true => Ok(()),
            false => Err(Invalid::Checksum),
        }
    }
}
