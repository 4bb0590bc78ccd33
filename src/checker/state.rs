//! What a checker holds.

use std::sync::{Arc, Mutex, PoisonError};

use super::request::ImageRequest;
use crate::attest::key::PublicKey;
use crate::cache::Cache;
use crate::error::Result;
use crate::finding::Finding;
use crate::knowledge::{self, Knowledge, OnFirstUse};
use crate::layer::LayerReader;
use crate::limits::Limits;
use crate::policy::Policy;
#[cfg(feature = "gate")]
use crate::policy::gate::GateConfig;
use crate::report::Verdict;
use crate::rules::RuleSet;
use crate::source::registry::Registries;

/// Remarks that are kept.
const REMARKS: usize = 100;

/// Reads images into [`ImageFacts`](crate::ImageFacts) and judges them.
///
/// It is built once and used by any number of threads: it holds the knowledge tables, rules, policy, targets and cache.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
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
    pub(super) knowledge: Arc<Knowledge>,
    pub(super) rules: Arc<RuleSet>,
    pub(super) policy: Policy,
    /// The configuration file as it was named or found.
    pub(super) configuration: Option<String>,
    pub(super) limits: Limits,
    pub(super) cache: Cache,
    pub(super) registries: Registries,
    /// The same without a network.
    pub(super) offline: Registries,
    #[cfg(feature = "gate")]
    pub(super) gate: GateConfig,
    pub(super) layers: OnFirstUse<LayerReader>,
    /// Whether all layers are read as streams.
    pub(super) no_lazy: bool,
    /// Whose facts are used that lie beside an image in its registry.
    pub(super) facts_keys: Vec<PublicKey>,
    /// What users should know, as [`remarks`](Checker::remarks) hands it over.
    pub(super) remarks: Mutex<Vec<String>>,
    pub(super) loader_trees: bool,
    pub(super) skipped_rules: bool,
}

impl Checker {
    /// What reads layers; its capacity is shared by all requests.
    pub(super) fn layers(&self) -> Result<&LayerReader> {
        self.layers
            .get_or_make(|| knowledge::layer_reader(self.cache.clone()))
    }

    /// The limits of every request that sets none of its own.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The limits of a request: its own, or those of the checker.
    pub(super) fn limits_of(&self, request: &ImageRequest) -> Limits {
        request.limits.unwrap_or(self.limits)
    }

    /// The verdict on findings under the policy of the checker.
    pub fn verdict(&self, findings: &[Finding]) -> Verdict {
        Verdict::of(findings, self.policy.fail_on)
    }

    /// The configuration file as it was named or found; `None` without one.
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

    pub(super) fn remark(&self, text: String) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        // A server may never ask for them.
        if remarks.len() < REMARKS {
            remarks.push(text);
        }
    }
}
