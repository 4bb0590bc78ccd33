//! Statements about images (in-toto Attestation Framework, Statement 1.0,
//! <https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md>).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use imgcheck_base::digest;
use imgcheck_base::error::{Error, Result};

const TYPE: &str = "https://in-toto.io/Statement/v1";
/// cosign writes this one.
const EARLIER_TYPE: &str = "https://in-toto.io/Statement/v0.1";

/// A statement about an image.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Subject>,
    /// The predicate type.
    pub predicate_type: String,
    /// The predicate.
    pub predicate: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Subject {
    #[serde(default)]
    name: String,
    #[serde(default)]
    digest: Digests,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Digests {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl Statement {
    /// A statement about the manifest or index with a digest. `name` is its repository.
    ///
    /// # Errors
    /// None in practice: no input can cause one.
    pub fn new(
        name: &str,
        digest: &str,
        predicate_type: &str,
        predicate: &impl Serialize,
    ) -> Result<Self> {
        let predicate = serde_json::to_value(predicate);
        Ok(Statement {
            kind: TYPE.to_owned(),
            subject: vec![Subject {
                name: name.to_owned(),
                digest: Digests {
                    sha256: digest::hexadecimal(digest).map(str::to_owned),
                },
            }],
            predicate_type: predicate_type.to_owned(),
            predicate: predicate.map_err(|error| Error::output("the statement", error))?,
        })
    }

    /// # Errors
    /// It is not a statement.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let statement: Statement = serde_json::from_slice(bytes)
            .map_err(|error| format!("it is not a statement: {error}"))?;
        match statement.kind.as_str() {
            TYPE | EARLIER_TYPE => Ok(statement),
            _ => Err("it is not a statement of in-toto".to_owned()),
        }
    }

    /// Whether it is about the manifest or index with this digest.
    pub fn is_about(&self, digest: &str) -> bool {
        let digest = digest::hexadecimal(digest);
        let mut subjects = self.subject.iter();
        digest.is_some() && subjects.any(|it| it.digest.sha256.as_deref() == digest)
    }

    /// # Errors
    /// None in practice: no input can cause one.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::output("the statement", error))
    }
}
