//! Signed statements: the envelope (DSSE 1.0.2, <https://github.com/secure-systems-lab/dsse>), and the bundle in which Sigstore's
//! programs keep it (`application/vnd.dev.sigstore.bundle.v0.3+json`).

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde::{Deserialize, Serialize};

use super::key::PublicKey;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::excerpt::shortened;

/// The type of an envelope as the layer of an artifact, as cosign stored it up to version 2.
pub const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
/// The type of a bundle, and of the artifact that holds it.
pub const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// The type of a statement inside an envelope.
const PAYLOAD: &str = "application/vnd.in-toto+json";
/// Signatures of one envelope that are looked at.
const SIGNATURES: usize = 32;

/// A statement and its signatures.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// The bytes that are signed, in base64.
    payload: String,
    /// Media type of the payload.
    payload_type: String,
    signatures: Vec<Signature>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Signature {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    keyid: String,
    sig: String,
}

/// An envelope, and what it is verified with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    media_type: String,
    #[serde(default)]
    verification_material: Material,
    dsse_envelope: Envelope,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public_key: Option<Hint>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Hint {
    #[serde(default)]
    hint: String,
}

impl Envelope {
    /// Signs a statement; `sign` is given the bytes to sign and returns a signature in DER.
    ///
    /// # Errors
    /// That of `sign`.
    pub fn sign(statement: &[u8], sign: impl FnOnce(&[u8]) -> Result<Vec<u8>>) -> Result<Self> {
        let signature = sign(&signed_bytes(PAYLOAD, statement))?;
        Ok(Envelope {
            payload: STANDARD.encode(statement),
            payload_type: PAYLOAD.to_owned(),
            signatures: vec![Signature {
                keyid: String::new(),
                sig: STANDARD.encode(signature),
            }],
        })
    }

    /// Parses an envelope, or a bundle that holds one.
    ///
    /// # Errors
    /// It is neither, or what is signed is not a statement.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Bundle(Bundle),
            Envelope(Envelope),
        }
        let envelope = match serde_json::from_slice(bytes) {
            Ok(Either::Envelope(envelope)) => envelope,
            Ok(Either::Bundle(bundle)) => bundle.dsse_envelope,
            Err(_) => return Err("it is neither a DSSE envelope nor a Sigstore bundle".to_owned()),
        };
        match envelope.payload_type.as_str() {
            PAYLOAD => Ok(envelope),
            other => Err(format!(
                "its payload is {}, not an in-toto statement",
                shortened(other, 60)
            )),
        }
    }

    /// The statement, whoever signed it.
    pub fn payload(&self) -> Option<Vec<u8>> {
        decode(&self.payload)
    }

    /// The statement, if one of the keys signed it.
    pub fn verify(&self, keys: &[PublicKey]) -> Option<Vec<u8>> {
        let payload = decode(&self.payload)?;
        let signed = signed_bytes(&self.payload_type, &payload);
        let signatures = self.signatures.iter().take(SIGNATURES);
        let signatures: Vec<Vec<u8>> = signatures.filter_map(|it| decode(&it.sig)).collect();
        let is_signed = keys
            .iter()
            .any(|key| signatures.iter().any(|it| key.verifies(&signed, it)));
        is_signed.then_some(payload)
    }

    /// The envelope as JSON.
    ///
    /// # Errors
    /// None in practice: no input can cause one.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::output("the envelope", error))
    }

    /// The envelope in a bundle, as JSON.
    ///
    /// # Errors
    /// None in practice: no input can cause one.
    pub fn to_bundle(&self, key: &PublicKey) -> Result<Vec<u8>> {
        let bundle = Bundle {
            media_type: BUNDLE.to_owned(),
            verification_material: Material {
                public_key: Some(Hint { hint: key.hint() }),
            },
            dsse_envelope: self.clone(),
        };
        serde_json::to_vec(&bundle).map_err(|error| Error::output("the bundle", error))
    }
}

/// The bytes that a signature covers (DSSE, "Pre-Authentication Encoding").
fn signed_bytes(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), body.len());
    [head.as_bytes(), body].concat()
}

/// Standard or URL-safe base64, as DSSE allows both.
fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD
        .decode(text)
        .or_else(|_| URL_SAFE.decode(text))
        .ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_signed_bytes_are_those_of_the_specification() {
        // The example of the specification (protocol.md, "Test Vectors").
        let bytes = signed_bytes("http://example.com/HelloWorld", b"hello world");
        let expected = "DSSEv1 29 http://example.com/HelloWorld 11 hello world";
        assert_eq!(bytes, expected.as_bytes());
    }

    #[test]
    fn other_documents_are_no_envelopes() {
        let of = |text: &str| Envelope::parse(text.as_bytes()).map(|_| ());
        for text in ["", "{}", "[]", "{\"payload\": 1}", "\u{0}"] {
            assert_eq!(
                of(text).unwrap_err(),
                "it is neither a DSSE envelope nor a Sigstore bundle"
            );
        }
        let other = r#"{"payload": "e30=", "payloadType": "text/plain", "signatures": []}"#;
        assert_eq!(
            of(other).unwrap_err(),
            "its payload is text/plain, not an in-toto statement"
        );
    }
}
