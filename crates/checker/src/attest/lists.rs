//! The lists of statements under tags, to which several writers add.

use serde_json::Value;

use imgcheck_source::attest::artifact::{
    Blob, INDEX, attestations_tag, referrers_tag, with_entries, with_envelopes,
};
use imgcheck_source::source::registry::Addition;

/// Envelopes for cosign's manifest of attestations of an image, each with the type of its predicate, in place of the layers with other digests.
pub fn envelopes(
    digest: &str,
    envelopes: Vec<(Blob, &'static str)>,
    replaced: Vec<String>,
    is_listed: bool,
) -> Addition {
    Addition {
        tag: attestations_tag(digest),
        blobs: envelopes.iter().map(|(blob, _)| blob.clone()).collect(),
        change: Box::new(move |manifest| {
            let is_replaced = |it: &str| replaced.iter().any(|one| one == it);
            let changed = with_envelopes(manifest, &envelopes, is_replaced)?;
            Ok(changed.map(|(manifest, config)| (manifest, Some(config))))
        }),
        consequence: match is_listed {
            true => {
                "cosign 3 and `imgcheck verify` read what was attested without this tag; cosign 1 and 2, Kyverno and policy-controller need it"
            }
            false => "cosign 1 and 2, Kyverno and policy-controller need this tag",
        },
    }
}

/// Entries for the list of what refers to an image, in place of the superseded ones, in a registry without the referrers API.
pub fn referrers(digest: &str, entries: Vec<Value>, superseded: Vec<String>) -> Addition {
    Addition {
        tag: referrers_tag(digest),
        blobs: Vec::new(),
        change: Box::new(move |index| {
            let superseded: Vec<&str> = superseded.iter().map(String::as_str).collect();
            let index = with_entries(index, &entries, &superseded)?;
            Ok(index.map(|bytes| (Blob::new(INDEX, bytes), None)))
        }),
        consequence: "`imgcheck verify` and cosign 3 need this tag, because the registry has no referrers API",
    }
}
