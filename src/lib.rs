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
//!
//! # Examples
//!
//! Errors have codes and exit codes:
//!
//! ```
//! use imgcheck::{Checker, ErrorCode};
//!
//! let error = Checker::builder().gpus(["h1000"]).build().unwrap_err();
//! assert_eq!(error.code(), ErrorCode::Usage);
//! assert_eq!(error.exit_code(), 2);
//! ```
//!
//! Progress goes where the caller wants:
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use imgcheck::{ImageRequest, Progress};
//!
//! #[derive(Default)]
//! struct Bytes(AtomicU64);
//!
//! impl Progress for Bytes {
//!     fn image(&self, _name: &str, _layers: usize, _bytes: u64) {}
//!     fn advance(&self, bytes: u64) {
//!         self.0.fetch_add(bytes, Ordering::Relaxed);
//!     }
//!     fn layer(&self) {}
//!     fn note(&self, _text: &str) {}
//!     fn finish(&self) {}
//! }
//!
//! let request = ImageRequest::new("image.tar").progress(Arc::new(Bytes::default()));
//! ```
//!
//! The depth of a reading belongs to a request:
//!
//! ```
//! use imgcheck::{Depth, ImageRequest};
//!
//! let request = ImageRequest::new("image.tar").depth(Depth::Deep);
//! ```
//!
//! What references claim is known without reading an image:
//!
//! ```
//! # fn main() -> imgcheck::Result<()> {
//! use imgcheck::{Checker, Day};
//!
//! let references = ["pytorch-cuda:v2.9".to_owned()];
//! let report = Checker::builder().build()?.claims(&references, Day::default())?;
//! assert_eq!(report.references[0].claims[0].version, "2.9");
//! # Ok(())
//! # }
//! ```
//!
//! Findings name their rule:
//!
//! ```
//! # fn main() -> imgcheck::Result<()> {
//! use imgcheck::{Checker, ImageRequest};
//!
//! let image = ImageRequest::new("testdata/sample/pytorch-cuda-v2.9.tar");
//! let report = Checker::builder().build()?.check(&[image]);
//! assert_eq!(report.images[0].findings[0].rule, "claim-torch-version");
//! # Ok(())
//! # }
//! ```
//!
//! A cache has a size:
//!
//! ```
//! # fn main() -> imgcheck::Result<()> {
//! use imgcheck::{CacheOptions, Checker};
//!
//! let cache = CacheOptions { limit: 500_000_000, ..CacheOptions::default() };
//! let checker = Checker::builder().cache(cache).build()?;
//! # Ok(())
//! # }
//! ```
//!
//! Credentials are never printed:
//!
//! ```
//! use imgcheck::{Credentials, ImageRequest};
//!
//! let user = "robot".to_owned();
//! let password = "secret".to_owned();
//! let credentials = Credentials::Password { user, password };
//! let request = ImageRequest::new("registry.example/team/train:1").credentials(credentials);
//! assert!(!format!("{request:?}").contains("secret"));
//! ```
//!
//! Registries have retries and mirrors:
//!
//! ```
//! # fn main() -> imgcheck::Result<()> {
//! use imgcheck::{Checker, RegistryOptions};
//!
//! let mut options = RegistryOptions::default();
//! options.policy.retries = 2;
//! options.add_mirror("docker.io=mirror.example/hub")?;
//! let checker = Checker::builder().registries(options).build()?;
//! # Ok(())
//! # }
//! ```

pub use chrono::NaiveDate as Day;
pub use imgcheck_base::cancellation::Cancellation;
pub use imgcheck_base::error::{Error, ErrorCode, Result};
pub use imgcheck_base::limits::{Limit, Limits};
pub use imgcheck_base::progress::Progress;
pub use imgcheck_checker::{
    AttestRequest, Attestation, AttestedImage, Signer, SuppressedFinding, Verification,
    VerifiedImage, VerifiedIndex, VerifyRequest, clean_cache,
};
pub use imgcheck_checker::{
    CacheUsage, Checker, CheckerBuilder, Comparison, Format, ImageFacts, ImageRequest,
    KnowledgeStatus, LintRequest, PreflightRequest, Report, Schema, Subject, Unread, View,
};
pub use imgcheck_cluster::Connection;
pub use imgcheck_elf::Depth;
#[cfg(feature = "gate")]
pub use imgcheck_gate::WEBHOOK;
#[cfg(feature = "gate")]
pub use imgcheck_gate::{
    Cluster, ClusterState, Declared, GateOptions, Labels, PullSecret, Puller, TlsFiles, Traces,
    delete_webhooks, gate_openapi, self_signed, serve, watch_cluster,
};
pub use imgcheck_launch::Overlay;
pub use imgcheck_lint::lint::FileKind;
pub use imgcheck_model::claims::Claim;
pub use imgcheck_model::finding::{Confidence, Finding, Severity};
pub use imgcheck_report::fleet::{
    FleetComparison, FleetFinding, FleetFormat, FleetLayer, FleetOutput, FleetRecord, FleetRuns,
    FleetSchema, FleetStatus, FleetTarget, FleetTotals,
};
pub use imgcheck_report::text::options::{TextLevel, TextOptions};
pub use imgcheck_report::{ClassReport, ContainerReport, ImageReport, Verdict, WorkloadReport};
pub use imgcheck_source::attest::key::PublicKey;
pub use imgcheck_source::cache::{CacheKey, CacheOptions};
pub use imgcheck_source::source::registry::{Credentials, Options as RegistryOptions};
pub use imgcheck_sweep::{
    Shard, Sweep, SweepOutcome, SweepPlan, SweepRequest, SweepTotals, WorkerOptions,
};
