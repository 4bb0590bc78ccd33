//! Keys that sign and verify: ECDSA on the curve P-256 with SHA-256, as `cosign` and `openssl` make them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair,
    UnparsedPublicKey,
};
use rustls::pki_types::pem::{PemObject, SectionKind};
use sha2::{Digest, Sha256};

use super::key_help as help;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::key_file;

/// The names of a public key of P-256 in DER (RFC 5480, section 2), up to the point.
const PUBLIC_KEY: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// Bytes of an uncompressed point (SEC 1, section 2.3.3).
const POINT: usize = 65;
/// The name of the curve P-256 in DER (RFC 5480, section 2.1.1.1).
const CURVE: [u8; 10] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

const OTHER_CURVE: &str = "only ECDSA keys of the curve P-256 are supported";
const NO_PEM: &str = "it is not a key in PEM format";
/// Stands for a file that nobody named.
const PRIVATE: &str = "PRIVATE-KEY";

/// A public key.
///
/// ```
/// let error = imgcheck_source::attest::key::PublicKey::read("no-such-file").unwrap_err();
/// assert_eq!(error.exit_code(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey([u8; POINT]);

impl PublicKey {
    /// Reads a key in PEM (`PUBLIC KEY`, RFC 7468): `FILE`, or `env://NAME` for an environment variable.
    ///
    /// # Errors
    /// It cannot be read, or is not a public key of P-256.
    pub fn read(place: &str) -> Result<Self> {
        let text = key_file::read(place);
        let text =
            text.map_err(|problem| wrong(place, &problem).with_help(help::public_half(PRIVATE)));
        Self::of_pem(place, &text?)
    }

    /// Same as [`read`](Self::read), of a text that is known; `place` names it in messages.
    ///
    /// # Errors
    /// It is not a public key of P-256.
    pub fn of_pem(place: &str, text: &[u8]) -> Result<Self> {
        let refuse = |problem: &str| wrong(place, problem).with_help(help::public_half(PRIVATE));
        let point = match section(text).ok_or_else(|| refuse(NO_PEM))? {
            (SectionKind::PublicKey, der) => der.strip_prefix(&PUBLIC_KEY).map(<[u8]>::to_vec),
            (SectionKind::PrivateKey | SectionKind::EcPrivateKey, _) => {
                return Err(wrong(place, "it is a private key, a public one is needed")
                    .with_help(help::of_private(place)));
            }
            _ => return Err(refuse("it is not a public key")),
        };
        let point = point.ok_or_else(|| refuse(OTHER_CURVE));
        let point = point?.try_into();
        Ok(PublicKey(
            point.map_err(|_| refuse("it is not a public key"))?,
        ))
    }

    /// Whether a signature (DER) of the bytes was made with the private key.
    pub fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.0);
        key.verify(bytes, signature).is_ok()
    }

    /// How a Sigstore bundle names the key: its SHA-256 digest in base64.
    pub fn hint(&self) -> String {
        let der = [&PUBLIC_KEY[..], &self.0].concat();
        STANDARD.encode(Sha256::digest(&der))
    }
}

/// A private key.
pub struct PrivateKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl PrivateKey {
    /// Reads a key in PEM (`PRIVATE KEY`, PKCS #8, not encrypted): `FILE`, or `env://NAME` for an environment variable.
    ///
    /// # Errors
    /// It cannot be read, or is not a private key of P-256.
    pub fn read(place: &str) -> Result<Self> {
        let refuse = |problem: &str| wrong(place, problem).with_help(help::new_pair());
        let text = key_file::read(place).map_err(|problem| refuse(&problem))?;
        if memchr::memmem::find(&text, b"ENCRYPTED").is_some() {
            return Err(wrong(place, "the key is encrypted").with_help(help::decrypted(place)));
        }
        let der = match section(&text).ok_or_else(|| refuse(NO_PEM))? {
            (SectionKind::PrivateKey, der) => der,
            (SectionKind::EcPrivateKey, der) if memchr::memmem::find(&der, &CURVE).is_some() => {
                let problem = "the key is not in PKCS #8";
                return Err(wrong(place, problem).with_help(help::converted(place)));
            }
            (SectionKind::EcPrivateKey, _) => return Err(refuse(OTHER_CURVE)),
            (SectionKind::PublicKey, _) => {
                let problem = "it is a public key, a private one is needed";
                return Err(wrong(place, problem).with_help(help::of_public(place)));
            }
            _ => return Err(refuse("it is not a private key")),
        };
        let random = SystemRandom::new();
        match EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der, &random) {
            Ok(pair) => Ok(PrivateKey { pair, random }),
            Err(_) => Err(refuse(OTHER_CURVE)),
        }
    }

    /// The public key.
    pub fn public(&self) -> Result<PublicKey> {
        let point = self.pair.public_key().as_ref().try_into();
        let point = point.map_err(|_| Error::usage("the key is not one of P-256"))?;
        Ok(PublicKey(point))
    }

    /// The signature of bytes, in DER.
    pub fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let signature = self.pair.sign(&self.random, bytes);
        let signature = signature.map_err(|_| Error::output("the signature", "no random bytes"))?;
        Ok(signature.as_ref().to_vec())
    }
}

impl fmt::Debug for PrivateKey {
    /// Without the key.
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("PrivateKey")
    }
}

fn wrong(place: &str, problem: &str) -> Error {
    Error::usage(format!("the key {place}: {problem}"))
}

/// The first section of a PEM file, with its bytes.
fn section(text: &[u8]) -> Option<(SectionKind, Vec<u8>)> {
    let first = <(SectionKind, Vec<u8>)>::pem_slice_iter(text).next();
    first.and_then(Result::ok)
}
