//! What the user asks beyond what every image is judged for: GPUs, a driver, a policy.

use super::rule::Rule;
use crate::policy::PolicyFacts;
use imgcheck_model::targets::TargetFacts;

/// The questions of one check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Questions {
    gpus: bool,
    driver: bool,
    /// The fields of `policy` that are not empty.
    policy: Vec<&'static str>,
}

impl Questions {
    /// The questions of targets and a policy.
    pub fn of(targets: &[TargetFacts], policy: &PolicyFacts) -> Self {
        fn is_given<T>(list: &Option<Vec<T>>) -> bool {
            list.as_ref().is_some_and(|list| !list.is_empty())
        }
        let fields = [
            ("policy.expect", is_given(&policy.expect)),
            ("policy.stacks", is_given(&policy.stacks)),
            ("policy.sizes", is_given(&policy.sizes)),
            ("policy.consistent", is_given(&policy.consistent)),
            ("policy.ignores", is_given(&policy.ignores)),
        ];
        let given = fields.into_iter().filter(|(_, is_given)| *is_given);
        Questions {
            gpus: targets.iter().any(|target| !target.gpus.is_empty()),
            driver: targets.iter().any(|target| target.driver.is_some()),
            policy: given.map(|(field, _)| field).collect(),
        }
    }

    /// Whether the user says what images must contain.
    pub fn expect_contents(&self) -> bool {
        let mut given = self.policy.iter();
        given.any(|it| ["policy.expect", "policy.stacks"].contains(it))
    }

    /// Whether the user asked the question that a rule answers; `None` for a rule about every image.
    pub fn include(&self, rule: &Rule) -> Option<bool> {
        let mentions = |text: &str| rule.conditions().any(|it| it.text().contains(text));
        if mentions("policy.") {
            return Some(self.policy.iter().any(|field| mentions(field)));
        }
        if !rule.is_about_targets() {
            return None;
        }
        let (gpus, driver) = (mentions(".gpus"), mentions(".driver"));
        Some(match (gpus, driver) {
            (true, _) => self.gpus,
            (false, true) => self.driver,
            (false, false) => self.gpus || self.driver,
        })
    }
}
