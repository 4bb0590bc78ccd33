//! The statements about an image that a repository holds, and which of them are to be believed.

use imgcheck_base::error::{ErrorCode, Result};
use imgcheck_source::attest::artifact::{attestations_tag, candidates, statements};
use imgcheck_source::attest::envelope::Envelope;
use imgcheck_source::attest::key::PublicKey;
use imgcheck_source::attest::statement::Statement;
use imgcheck_source::source::registry::Artifacts;

/// Maximum length of a statement in its envelope, in bytes.
const LONGEST: u64 = 8 << 20;
/// Artifacts and envelopes that are looked at.
const LOOKED_AT: usize = 200;

/// The statements about one manifest.
#[derive(Debug, Default)]
pub struct Statements {
    /// Those that one of the keys signed.
    pub signed: Vec<Signed>,
    /// Why others are not believed.
    pub refused: Vec<String>,
}

/// A statement that is believed.
#[derive(Debug)]
pub struct Signed {
    pub statement: Statement,
    /// The digest of the artifact, if it is one.
    pub artifact: Option<String>,
    /// The digest of the envelope or bundle.
    pub layer: String,
}

impl Statements {
    /// Reads what `artifacts` has about a manifest with one of these types of predicates.
    ///
    /// # Errors
    /// The registry did not answer. What is damaged is refused.
    pub fn read(
        artifacts: &Artifacts,
        digest: &str,
        keys: &[PublicKey],
        predicates: &[&str],
    ) -> Result<Self> {
        let mut found = Statements::default();
        let mut manifests = Vec::new();
        let listed = artifacts.referrers(digest)?;
        for entry in candidates(&listed, predicates).into_iter().take(LOOKED_AT) {
            let artifact = entry.digest().to_string();
            let manifest = artifacts.image_manifest(&artifact);
            if let Some(manifest) = tolerated(manifest, &mut found.refused)? {
                manifests.push((manifest, Some(artifact)));
            }
        }
        if let Some(manifest) = artifacts.manifest(&attestations_tag(digest))?
            && let Ok(manifest) = serde_json::from_slice(&manifest.bytes)
        {
            manifests.push((manifest, None));
        }
        for (manifest, artifact) in &manifests {
            for layer in statements(manifest, predicates).take(LOOKED_AT) {
                let bytes = tolerated(artifacts.blob(layer, LONGEST), &mut found.refused)?;
                let statement = bytes.and_then(|it| found.believed(&it, digest, keys));
                if let Some(statement) = statement
                    && predicates.contains(&&*statement.predicate_type)
                {
                    found.signed.push(Signed {
                        statement,
                        artifact: artifact.clone(),
                        layer: layer.digest().to_string(),
                    });
                }
            }
        }
        Ok(found)
    }

    /// The statement in an envelope; `None` if it is not to be believed.
    fn believed(&mut self, envelope: &[u8], digest: &str, keys: &[PublicKey]) -> Option<Statement> {
        let read = || {
            let payload = Envelope::parse(envelope)?.verify(keys);
            let payload = payload.ok_or("its signature was not made with the key")?;
            let statement = Statement::parse(&payload)?;
            match statement.is_about(digest) {
                true => Ok(statement),
                false => Err("it is about another image".to_owned()),
            }
        };
        match read() {
            Ok(read) => Some(read),
            Err(problem) => {
                self.refused.push(problem);
                None
            }
        }
    }

    /// The statements with this type of predicate.
    pub fn of<'s>(&'s self, predicate: &'s str) -> impl Iterator<Item = &'s Signed> {
        let signed = self.signed.iter();
        signed.filter(move |it| it.statement.predicate_type == predicate)
    }
}

/// What is damaged or missing is refused, because a stranger may have pushed it. All other errors are errors.
fn tolerated<T>(read: Result<T>, refused: &mut Vec<String>) -> Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if [ErrorCode::Damaged, ErrorCode::NotFound].contains(&error.code()) => {
            refused.push(error.message());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
