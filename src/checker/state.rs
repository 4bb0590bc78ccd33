//! What a checker holds.

use std::sync::Arc;

use crate::cache::Cache;
use crate::finding::Finding;
use crate::knowledge::Knowledge;
use crate::layer::LayerReader;
use crate::limits::Limits;
use crate::policy::Policy;
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
    pub(super) limits: Limits,
    pub(super) cache: Cache,
    pub(super) registries: Registries,
    pub(super) layers: LayerReader,
    pub(super) loader_trees: bool,
}

impl Checker {
    /// The limits of every request that sets none of its own.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The verdict on findings under the policy of the checker.
    pub fn verdict(&self, findings: &[Finding]) -> Verdict {
        Verdict::of(findings, self.policy.fail_on)
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
