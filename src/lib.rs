//! Checks, without running it, that a GPU container image contains what it promises: the PyTorch, CUDA, cuDNN and Python that its
//! tag, labels and environment claim, and libraries that its processes can load.
//!
//! A [`Checker`] is built once. It reads an image into [`ImageFacts`], which depend on the bytes of the image only, and judges facts:
//!
//! ```
//! # fn main() -> imgcheck::Result<()> {
//! use imgcheck::{Checker, Format, ImageRequest, View};
//!
//! let checker = Checker::builder().gpus(["h100"]).build()?;
//! let report = checker.check(&[ImageRequest::new("testdata/sample/pytorch-cuda-v2.9.tar")]);
//! println!("{}", report.render(View::Findings, Format::Text, None)?);
//! # Ok(())
//! # }
//! ```
//!
//! No container is started, no GPU is needed, and nothing of an image is executed or written to disk. Nothing is shared between
//! checkers: pools, caches, credentials and tables belong to a checker or to a request.

mod beneath;
mod cancellation;
mod digest;
mod document;
mod embedded;
mod error;
mod excerpt;
mod gap;
mod glob;
mod json_schema;
mod key_file;
mod lexical;
mod limits;
mod memory;
mod object_storage;
mod parallel;
mod progress;
mod required_version;
mod spelling;
mod tls;
mod vocabulary;
mod yaml;

mod reference;
mod version;

mod archive;
mod attest;
mod cache;
mod squashfs;

mod elf;
mod source;

mod layer;

mod image;

mod launch;

mod loader;

mod claims;
mod stack;

mod process;

mod targets;

mod cluster;

mod knowledge;

mod finding;
mod policy;

mod lint;

mod workload;

mod rules;

mod report;

mod checker;

#[cfg(feature = "gate")]
mod gate;

mod sweep;

pub use attest::key::PublicKey;
pub use cache::{CacheKey, CacheOptions};
pub use cancellation::Cancellation;
pub use checker::{
    AttestRequest, Attestation, AttestedImage, Signer, Verification, VerifiedImage, VerifiedIndex,
    VerifyRequest,
};
pub use checker::{
    CacheUsage, Checker, CheckerBuilder, Comparison, Format, ImageFacts, ImageRequest,
    KnowledgeStatus, LineFix, LintRequest, PreflightRequest, Report, Schema, Subject, Unread, View,
};
pub use chrono::NaiveDate as Day;
pub use claims::Claim;
pub use cluster::Connection;
pub use elf::Depth;
pub use error::{Error, ErrorCode, Result};
pub use finding::{Confidence, Finding, Severity};
#[cfg(feature = "gate")]
pub use gate::WEBHOOK;
#[cfg(feature = "gate")]
pub use gate::{
    Cluster, ClusterState, Declared, GateOptions, Labels, PullSecret, Puller, TlsFiles, Traces,
    gate_openapi, self_signed, serve, watch_cluster,
};
pub use launch::Overlay;
pub use limits::{Limit, Limits};
pub use lint::FileKind;
pub use progress::Progress;
pub use report::fleet::{
    FleetComparison, FleetFinding, FleetFormat, FleetLayer, FleetOutput, FleetRecord, FleetRuns,
    FleetSchema, FleetStatus, FleetTarget, FleetTotals,
};
pub use report::text::options::{TextLevel, TextOptions};
pub use report::{ClassReport, ContainerReport, ImageReport, Verdict, WorkloadReport};
pub use source::registry::{Credentials, Options as RegistryOptions};
pub use sweep::{Shard, SweepOutcome, SweepPlan, SweepRequest, SweepTotals, WorkerOptions};

/// What the fuzz targets, the benchmarks and the tests of this repository reach. It may change at any time.
#[doc(hidden)]
pub mod internals {
    macro_rules! expose {
        ($($module:ident)*) => { $(pub mod $module { pub use crate::$module::*; })* };
    }
    expose! {
        archive attest beneath cache cancellation checker claims cluster digest elf embedded
        error finding gap glob image json_schema knowledge launch layer limits lint
        loader parallel policy process progress reference report rules
        source spelling squashfs stack sweep targets tls version vocabulary workload yaml
    }
}
