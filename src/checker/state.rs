//! What a checker holds.

use std::sync::Arc;

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
    pub(super) loader_trees: bool,
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

    /// What the user should know about the cache since this was last called: each a sentence on why it is not used.
    pub fn cache_warnings(&self) -> Vec<String> {
        self.cache.warnings()
    }
}
