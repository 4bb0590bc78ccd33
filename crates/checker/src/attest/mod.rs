//! Facts and verdicts beside an image: written by [`Checker::attest`], judged by [`Checker::verify`], and read instead of layers.
//!
//! [`Checker::attest`]: crate::Checker::attest
//! [`Checker::verify`]: crate::Checker::verify

mod attested;
mod lists;
mod request;
mod statements;
mod verification;
mod verify;
mod write;

pub use request::{AttestRequest, Signer, VerifyRequest};
pub use verification::{SuppressedFinding, Verification, VerifiedImage, VerifiedIndex, schema};
pub use write::{Attestation, AttestedImage};
