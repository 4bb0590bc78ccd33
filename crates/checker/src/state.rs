//! What a checker holds.

use std::sync::{Arc, Mutex, PoisonError};

use super::request::ImageRequest;
use imgcheck_base::bounds::Bounds;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::Result;
use imgcheck_base::limits::Limits;
use imgcheck_layer::LayerReader;
use imgcheck_model::finding::Finding;
use imgcheck_model::knowledge::{self, Knowledge, OnFirstUse};
use imgcheck_report::Verdict;
use imgcheck_rules::policy::Policy;
use imgcheck_rules::policy::gate::GateConfig;
use imgcheck_rules::rules::RuleSet;
use imgcheck_source::attest::key::PublicKey;
use imgcheck_source::cache::Cache;
use imgcheck_source::source::registry::Registries;

/// Remarks that are kept.
const REMARKS: usize = 100;

/// Reads images into [`ImageFacts`](crate::ImageFacts) and judges them.
///
/// It is built once and used by any number of threads: it holds the knowledge tables, rules, policy, targets and cache.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
/// use imgcheck::{Checker, ImageRequest, Verdict};
///
/// let checker = Checker::builder().build()?;
/// let report = checker.check(&[ImageRequest::new("testdata/sample/pytorch-cuda-v2.9.tar")]);
/// assert_eq!(report.verdict(), Verdict::Fail);
/// for finding in &report.images[0].findings {
///     println!("{}: {}", finding.rule, finding.message);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Checker {
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) rules: Arc<RuleSet>,
    pub(crate) policy: Policy,
    /// The configuration file as it was named or found.
    pub(crate) configuration: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) cache: Cache,
    pub(crate) registries: Registries,
    /// The same without a network.
    pub(crate) offline: Registries,
    pub(crate) gate: GateConfig,
    pub(crate) layers: OnFirstUse<LayerReader>,
    /// Whether all layers are read as streams.
    pub(crate) no_lazy: bool,
    /// Whose facts are used that lie beside an image in its registry.
    pub(crate) facts_keys: Vec<PublicKey>,
    /// What users should know, as [`remarks`](Checker::remarks) hands it over.
    pub(crate) remarks: Mutex<Vec<String>>,
    pub(crate) loader_trees: bool,
    /// The only module whose import is played, beside the command of the image.
    pub(crate) python_module: Option<String>,
    pub(crate) skipped_rules: bool,
}

impl Checker {
    /// What reads layers; its capacity is shared by all requests.
    pub(crate) fn layers(&self) -> Result<&LayerReader> {
        self.layers
            .get_or_make(|| knowledge::layer_reader(self.cache.clone()))
    }

    /// The limits of requests that do not set their own.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The bounds of a request, which may set its own limits.
    pub(crate) fn bounds(&self, limits: Option<Limits>, cancellation: &Cancellation) -> Bounds {
        Bounds {
            limits: limits.unwrap_or(self.limits),
            cancellation: cancellation.clone(),
        }
    }

    /// The limits of a request: its own, or those of the checker.
    pub(crate) fn limits_of(&self, request: &ImageRequest) -> Limits {
        request.limits.unwrap_or(self.limits)
    }

    /// The verdict on findings under the policy of the checker.
    pub fn verdict(&self, findings: &[Finding]) -> Verdict {
        Verdict::of(findings, self.policy.fail_on)
    }

    /// The configuration file as it was named or found.
    pub fn configuration_file(&self) -> Option<&str> {
        self.configuration.as_deref()
    }

    /// Removes half-written files from the cache. Call it only when the process is about to exit while requests still run; a request
    /// that ends by itself leaves none.
    pub fn abandon_cache(&self) {
        self.cache.abandon();
    }

    /// What the user should know since this was last called, each a sentence: why the cache, or facts beside an image, are not used.
    pub fn remarks(&self) -> Vec<String> {
        let mut own = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut remarks = self.cache.warnings();
        remarks.append(&mut own);
        remarks
    }

    pub(crate) fn remark(&self, text: String) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        // A server may never ask for them, and each platform of an image may have the same.
        if remarks.len() < REMARKS && !remarks.contains(&text) {
            remarks.push(text);
        }
    }
}
