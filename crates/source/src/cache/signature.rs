//! Signed entries of a shared store. Whoever can write to the store but does not have the key cannot make an entry that is believed.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use imgcheck_base::error::{Error, Result};
use imgcheck_base::key_file::{self, LONGEST};

/// What a signed entry starts with; includes the version of the format.
const MAGIC: &[u8; 8] = b"imgchmc1";
/// Bytes of a signature.
const LENGTH: usize = 32;
/// Shorter keys can be guessed.
const SHORTEST: usize = 16;

/// The key of a shared cache. Whoever has it can also sign.
///
/// ```
/// assert!(imgcheck_source::cache::CacheKey::read("env://NOT_SET").is_err());
/// ```
#[derive(Clone)]
pub struct CacheKey(Arc<[u8]>);

impl CacheKey {
    /// Reads the key: `FILE`, or `env://NAME` for an environment variable. White space at the end does not count.
    ///
    /// # Errors
    /// [`Error::Usage`] if it cannot be read, or has less than 16 or more than 65536 bytes.
    pub fn read(place: &str) -> Result<Self> {
        let refuse = |problem: String| {
            Error::usage(format!("--cache-key {place}: {problem}"))
                .with_help("make a key: head -c 32 /dev/urandom | base64 > FILE")
        };
        let bytes = key_file::read(place).map_err(refuse)?;
        let key = bytes.trim_ascii_end();
        match key.len() {
            SHORTEST.. if key.len() as u64 <= LONGEST => Ok(CacheKey(key.into())),
            length => Err(refuse(format!(
                "the key has {length} bytes, between {SHORTEST} and {LONGEST} are needed"
            ))),
        }
    }

    /// An entry with the signature of its bytes and name.
    pub(super) fn sign(&self, name: &str, entry: &[u8]) -> Option<Vec<u8>> {
        let signature = self.signature(name, entry)?.finalize().into_bytes();
        Some([MAGIC, &signature[..], entry].concat())
    }

    /// The entry without its signature; `None` if the signature is wrong or missing.
    pub(super) fn verify(&self, name: &str, signed: &[u8]) -> Option<Vec<u8>> {
        let (signature, entry) = signed.strip_prefix(MAGIC)?.split_first_chunk::<LENGTH>()?;
        let expected = self.signature(name, entry)?;
        expected.verify_slice(signature).ok()?;
        Some(entry.to_vec())
    }

    /// HMAC-SHA-256 (RFC 2104) of the name, a zero byte, which no name has, and the entry.
    fn signature(&self, name: &str, entry: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(name.as_bytes());
        mac.update(&[0]);
        mac.update(entry);
        Some(mac)
    }
}

impl fmt::Debug for CacheKey {
    /// Without the key.
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("CacheKey")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_key_signs() {
        let (one, other) = (CacheKey([1; 32].into()), CacheKey([2; 32].into()));
        let signed = one.sign("facts", b"entry").unwrap();
        assert_eq!(one.verify("facts", &signed).unwrap(), b"entry");
        assert_eq!(other.verify("facts", &signed), None);
        assert_eq!(one.verify("another", &signed), None);
        for at in 0..signed.len() {
            let mut changed = signed.clone();
            changed[at] ^= 1;
            assert_eq!(one.verify("facts", &changed), None, "{at}");
            assert_eq!(one.verify("facts", &signed[..at]), None, "{at}");
        }
    }

    #[test]
    fn a_key_is_a_file_or_a_variable() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let place = file.path().to_str().unwrap();
        assert_eq!(CacheKey::read(place).unwrap_err().exit_code(), 2);
        std::fs::write(file.path(), "0123456789abcdef\n").unwrap();
        assert_eq!(&*CacheKey::read(place).unwrap().0, b"0123456789abcdef");
        std::fs::write(file.path(), vec![b'x'; 1 << 17]).unwrap();
        assert!(CacheKey::read(place).is_err());
        assert!(CacheKey::read("env://IMGCHECK_NO_SUCH_VARIABLE").is_err());
    }
}
