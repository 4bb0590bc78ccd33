//! The format of an entry.
//!
//! ```text
//! 8 bytes  MAGIC
//! 8 bytes  XXH3-64 of all that follows, little-endian
//! 8 bytes  length of the bytes, little-endian
//!          the entry's name
//!          the bytes as a zstd frame (RFC 8878)
//! ```
//!
//! The checksum detects truncation and damage, the name detects renamed files. Neither stops a forger: whoever can write to the
//! directory is trusted, and entries of a shared store are [signed](super::signature).

use xxhash_rust::xxh3::xxh3_64;

/// Includes the version of the format.
const MAGIC: &[u8; 8] = b"imgcche1";
/// No facts come near this length; a larger one is not believed.
pub(super) const MAXIMUM: u64 = 512 << 20;
/// Higher levels hardly make the facts of large layers smaller, or faster to read.
const LEVEL: i32 = 3;

/// Encodes an entry with this name; `None` if there are too many bytes.
pub(super) fn seal(name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let length = bytes.len() as u64;
    if length > MAXIMUM {
        return None;
    }
    let frame = zstd::bulk::compress(bytes, LEVEL).ok()?;
    let body = [&length.to_le_bytes(), name.as_bytes(), &frame].concat();
    Some([MAGIC, &xxh3_64(&body).to_le_bytes()[..], &body].concat())
}

/// Decodes an entry; `None` if it is damaged or has another name.
pub(super) fn unseal(name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    let (checksum, body) = sealed.strip_prefix(MAGIC)?.split_first_chunk()?;
    if xxh3_64(body) != u64::from_le_bytes(*checksum) {
        return None;
    }
    let (length, body) = body.split_first_chunk()?;
    let length = u64::from_le_bytes(*length);
    let frame = body.strip_prefix(name.as_bytes())?;
    if length > MAXIMUM {
        return None;
    }
    let length = usize::try_from(length).ok()?;
    let bytes = zstd::bulk::decompress(frame, length).ok()?;
    (bytes.len() == length).then_some(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sealed_bytes_are_unsealed(bytes: Vec<u8>) {
            prop_assert_eq!(unseal("name", &seal("name", &bytes).unwrap()), Some(bytes));
        }

        #[test]
        fn random_bytes_are_not_an_entry(bytes: Vec<u8>) {
            prop_assert_eq!(unseal("name", &bytes), None);
        }
    }

    #[test]
    fn damage_is_detected_everywhere() {
        let sealed = seal("name", &b"the facts of a layer ".repeat(20)).unwrap();
        for at in 0..sealed.len() {
            for damage in [1, 0x80, 0xff] {
                let mut damaged = sealed.clone();
                damaged[at] ^= damage;
                assert_eq!(unseal("name", &damaged), None, "byte {at}");
            }
            assert_eq!(unseal("name", &sealed[..at]), None, "cut at {at}");
        }
        assert_eq!(unseal("name", &[&sealed[..], b"\0"].concat()), None);
    }

    #[test]
    fn an_entry_with_another_name_is_rejected() {
        let sealed = seal("name", b"bytes").unwrap();
        for other in ["eman", "nam", "names", ""] {
            assert_eq!(unseal(other, &sealed), None, "{other}");
        }
    }

    #[test]
    fn a_wrong_length_is_rejected() {
        let frame = zstd::bulk::compress(&[0; 1000], LEVEL).unwrap();
        for length in [0_u64, 999, 1001, MAXIMUM + 1, u64::MAX] {
            let body = [&length.to_le_bytes()[..], b"name", &frame].concat();
            let sealed = [MAGIC, &xxh3_64(&body).to_le_bytes()[..], &body].concat();
            assert_eq!(unseal("name", &sealed), None, "{length}");
        }
    }
}
