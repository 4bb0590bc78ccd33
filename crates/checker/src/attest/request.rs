//! What is attested, by whom, and what is verified.

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};

use crate::ImageRequest;
use imgcheck_base::error::{Error, Result};
use imgcheck_source::attest::command;
use imgcheck_source::attest::key::{PrivateKey, PublicKey};
use imgcheck_source::source::registry::Settling;

/// Who signs statements.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// use imgcheck::{PublicKey, Signer};
///
/// let error = Signer::key("env://NOT_SET").unwrap_err();
/// assert_eq!(error.exit_code(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Signer {
    public: PublicKey,
    means: Means,
}

enum Means {
    Key(Box<PrivateKey>),
    Command(String),
}

impl fmt::Debug for Means {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Means::Key(_) => "Key",
            Means::Command(_) => "Command",
        })
    }
}

impl Signer {
    /// A private key: `FILE`, or `env://NAME` for an environment variable.
    ///
    /// # Errors
    /// It cannot be read, or is not an unencrypted key of P-256 in PKCS #8.
    pub fn key(place: &str) -> Result<Self> {
        let key = PrivateKey::read(place)?;
        Ok(Signer {
            public: key.public()?,
            means: Means::Key(Box::new(key)),
        })
    }

    /// A command of the shell that is given the bytes to sign on standard input, and writes the signature (ECDSA with SHA-256, in DER, or
    /// that in base64) to standard output; `public` is the key that verifies it.
    pub fn command(command: &str, public: PublicKey) -> Self {
        Signer {
            public,
            means: Means::Command(command.to_owned()),
        }
    }

    pub(super) fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The signature of bytes, verified.
    pub(super) fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let command = match &self.means {
            Means::Key(key) => return key.sign(bytes),
            Means::Command(command) => command,
        };
        let failed = |problem: String| {
            Error::usage(format!("--sign-with `{command}`: {problem}")).with_help(
                "it must read the bytes to sign from standard input, and write an ECDSA signature with SHA-256 in DER or base64: openssl dgst -sha256 -sign key.pem",
            )
        };
        let output = command::run(command, bytes).map_err(|error| failed(error.to_string()))?;
        let text = output.trim_ascii();
        let decoded = STANDARD.decode(text).ok();
        let mut signatures = [Some(output.clone()), decoded].into_iter().flatten();
        let signature = signatures.find(|it| self.public.verifies(bytes, it));
        signature.ok_or_else(|| {
            failed("what it wrote is not a signature that the public key verifies".to_owned())
        })
    }
}

/// What is attested.
///
/// ```
/// use imgcheck::{AttestRequest, ImageRequest};
///
/// let image = ImageRequest::new("docker://registry.example/train:v1").all_platforms(true);
/// let request = AttestRequest::new(image).dry_run(true);
/// ```
#[derive(Debug, Clone)]
pub struct AttestRequest {
    pub(super) image: ImageRequest,
    pub(super) dry_run: bool,
    pub(super) sbom: bool,
    pub(super) requirements: bool,
    pub(super) at: DateTime<Utc>,
    pub(super) settling: Settling,
}

impl AttestRequest {
    /// The facts and the verdict of an image, written to its repository.
    pub fn new(image: ImageRequest) -> Self {
        AttestRequest {
            image: image.in_own_registry(),
            dry_run: false,
            sbom: false,
            requirements: false,
            at: Utc::now(),
            settling: Settling::default(),
        }
    }

    /// Attests every platform of an image, and the index that lists them.
    #[must_use]
    pub fn all_platforms(mut self, all: bool) -> Self {
        self.image = self.image.all_platforms(all);
        self
    }

    /// Writes nothing to a registry. The image may then be any that has a manifest.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Also attests the GPU stack as a bill of materials (CycloneDX).
    #[must_use]
    pub fn sbom(mut self, sbom: bool) -> Self {
        self.sbom = sbom;
        self
    }

    /// Also attests what the image needs of a machine.
    #[must_use]
    pub fn requirements(mut self, requirements: bool) -> Self {
        self.requirements = requirements;
        self
    }

    /// How long the lists under tags to which several writers add must stay unchanged after they were written, by default 2 seconds: as
    /// long as another writer may take from reading a list to replacing it.
    #[must_use]
    pub fn settle_time(mut self, time: Duration) -> Self {
        self.settling.time = time;
        self
    }

    /// The time after which it is an error that other writers still change these lists, by default 2 minutes.
    #[must_use]
    pub fn settle_timeout(mut self, timeout: Duration) -> Self {
        self.settling.timeout = timeout;
        self
    }

    /// The time that the statements carry; by default now.
    #[must_use]
    pub fn at(mut self, time: DateTime<Utc>) -> Self {
        self.at = time;
        self
    }
}

/// What is verified.
///
/// ```
/// use imgcheck::{ImageRequest, VerifyRequest};
///
/// let image = ImageRequest::new("docker://registry.example/train:v1");
/// let request = VerifyRequest::new(image, Vec::new()).max_age_days(30);
/// ```
#[derive(Debug, Clone)]
pub struct VerifyRequest {
    pub(super) image: ImageRequest,
    pub(super) keys: Vec<PublicKey>,
    pub(super) max_age_days: Option<u32>,
    pub(super) sample: usize,
    pub(super) at: DateTime<Utc>,
}

impl VerifyRequest {
    /// Statements that one of these keys signed.
    pub fn new(image: ImageRequest, keys: Vec<PublicKey>) -> Self {
        VerifyRequest {
            image: image.in_own_registry(),
            keys,
            max_age_days: None,
            sample: 0,
            at: Utc::now(),
        }
    }

    /// The oldest verdict that counts, in days.
    #[must_use]
    pub fn max_age_days(mut self, days: u32) -> Self {
        self.max_age_days = Some(days);
        self
    }

    /// Reads so many layers, chosen at random, and compares them with their facts.
    #[must_use]
    pub fn sample(mut self, layers: usize) -> Self {
        self.sample = layers;
        self
    }

    /// The time by which ages are counted; by default now.
    #[must_use]
    pub fn at(mut self, time: DateTime<Utc>) -> Self {
        self.at = time;
        self
    }
}
