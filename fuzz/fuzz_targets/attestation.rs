//! What a registry may hold beside an image: envelopes, statements, lists of referrers, keys. Nothing that nobody signed is believed, and
//! an entry that was added is not added again.

use std::sync::LazyLock;

use imgcheck::PublicKey;
use imgcheck_source::attest::artifact::{Blob, with_entries, with_envelopes};
use imgcheck_source::attest::envelope::Envelope;
use imgcheck_source::attest::statement::Statement;
use serde_json::json;

/// A key of which nobody has the private part.
const KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEIeO8t8RZbmwFC5TWQ0MOQ5D6/lR3
nXBkLlkgGkuUT2jU2DJC6Mwn9ilcXVM1HM6DW35Po6h768DHgSnz14LtAg==
-----END PUBLIC KEY-----
";

static KEYS: LazyLock<[PublicKey; 1]> =
    LazyLock::new(|| [PublicKey::of_pem("the key", KEY.as_bytes()).expect("a public key")]);

pub fn fuzz(bytes: &[u8]) {
    let _ = PublicKey::of_pem("fuzzed", bytes);
    if let Ok(envelope) = Envelope::parse(bytes) {
        assert!(envelope.verify(&*KEYS).is_none());
    }
    if let Ok(statement) = Statement::parse(bytes) {
        assert!(!statement.is_about("sha256:"));
    }
    let entries = [json!({"digest": "sha256:1"})];
    if let Ok(Some(index)) = with_entries(Some(bytes), &entries, &[]) {
        assert_eq!(with_entries(Some(&index), &entries, &[]), Ok(None));
    }
    let envelopes = [(Blob::new("type", b"{}".to_vec()), "predicate")];
    if let Ok(Some((manifest, _))) = with_envelopes(Some(bytes), &envelopes, |_| false) {
        let again = with_envelopes(Some(&manifest.bytes), &envelopes, |_| false);
        assert_eq!(again, Ok(None));
    }
}
