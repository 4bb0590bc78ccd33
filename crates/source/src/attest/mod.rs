//! What travels beside an image: the formats of facts artifacts, statements, and envelopes that sign them. Nothing here reads an image
//! or talks to a registry.
//!
//! - [`artifact`]: manifests with a `subject` (OCI image specification 1.1)
//! - [`statement`]: statements about an image (in-toto Attestation Framework 1.0), and what they say: [`predicate`]
//! - [`envelope`]: a signed statement (DSSE 1.0.2), and how cosign stores it
//! - [`sbom`]: bills of materials of other programs
//! - [`key`]: what signs and verifies; [`command`]: a program of the user that signs

pub mod artifact;
pub mod command;
pub mod envelope;
pub mod key;
mod key_help;
pub mod predicate;
pub mod sbom;
pub mod statement;
