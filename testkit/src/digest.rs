//! SHA-256 digests.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// `sha256:…`, as image documents write it.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(bytes))
}

/// The SHA-256 digest in hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
