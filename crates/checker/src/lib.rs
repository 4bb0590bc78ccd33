//! The public face: a request becomes facts, facts become findings and a report.
//!
//! This is the only crate that joins the others.

mod all_images;
mod analyze;
mod attest;
mod builder;
mod cached_model;
mod check;
mod codes;
mod directory;
mod facts;
mod fleet;
mod inline_ignores;
mod judge;
mod kept;
mod lint;
mod lint_files;
mod lint_request;
mod model;
mod modules;
mod node_files;
mod preflight;
mod read;
mod references;
mod render;
mod report;
mod request;
mod rules;
mod sboms;
mod state;
mod stored;
mod subject;
mod tables;
mod targeted;
mod torch_pythons;
mod volumes;

pub use attest::{
    AttestRequest, Attestation, AttestedImage, Signer, SuppressedFinding, Verification,
    VerifiedImage, VerifiedIndex, VerifyRequest,
};
pub use builder::CheckerBuilder;
pub use facts::HeldLayers;
pub use facts::ImageFacts;
pub use kept::{Reports, SharedLayers, UnreadReason};
pub use lint_request::LintRequest;
pub use preflight::PreflightRequest;
pub use preflight::{Deployment, Schedule};
pub use render::{Comparison, Format, View};
pub use report::{Report, Unread};
pub use request::ImageRequest;
pub use rules::Schema;
pub use state::Checker;
pub use stored::{CacheUsage, clean_cache};
pub use subject::Subject;
pub use tables::KnowledgeStatus;
