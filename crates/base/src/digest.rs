//! Content digests, `sha256:` and 64 hexadecimal digits (OCI image specification, "Digests").

use sha2::{Digest, Sha256};

const HEX_LENGTH: usize = 64;

/// Computes the digest of bytes that arrive in pieces.
#[derive(Debug, Default, Clone)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// `sha256:…` of all bytes.
    pub fn finish(self) -> String {
        let mut text = String::with_capacity("sha256:".len() + HEX_LENGTH);
        text.push_str("sha256:");
        for byte in self.0.finalize() {
            for digit in [byte >> 4, byte & 15] {
                text.extend(char::from_digit(u32::from(digit), 16));
            }
        }
        text
    }
}

/// `sha256:…` of some bytes.
pub fn sha256(bytes: &[u8]) -> String {
    let mut hasher = Hasher::default();
    hasher.update(bytes);
    hasher.finish()
}

/// The chain ids of layers with these diff ids, lowest first (OCI image specification, "Layer ChainID").
pub fn chain_ids(diff_ids: &[&str]) -> Vec<String> {
    let mut chain_ids: Vec<String> = Vec::with_capacity(diff_ids.len());
    for diff_id in diff_ids {
        chain_ids.push(match chain_ids.last() {
            Some(below) => sha256(format!("{below} {diff_id}").as_bytes()),
            None => (*diff_id).to_owned(),
        });
    }
    chain_ids
}

/// The hexadecimal part of a valid digest. `None` for any other algorithm or spelling, so that nothing else is ever used as a
/// file name or a key.
pub fn hexadecimal(digest: &str) -> Option<&str> {
    digest
        .strip_prefix("sha256:")
        .filter(|hex| is_hexadecimal(hex))
}

/// Whether the text is the hexadecimal part of a digest.
pub fn is_hexadecimal(text: &str) -> bool {
    text.len() == HEX_LENGTH
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_an_empty_object_is_that_of_the_specification() {
        let digest = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert_eq!(sha256(b"{}"), digest);
        assert_eq!(hexadecimal(digest), digest.get(7..));
    }

    #[test]
    fn invalid_digests_are_rejected() {
        for text in ["", "sha256:", "sha256:..", "sha512:00", "SHA256:00"] {
            assert_eq!(hexadecimal(text), None, "{text}");
        }
        assert_eq!(hexadecimal(&format!("sha256:{}", "A".repeat(64))), None);
    }
}
