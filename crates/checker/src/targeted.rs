//! What a gate asks a checker for.

use std::sync::Mutex;

use super::state::Checker;
use imgcheck_base::error::{Error, Result};
use imgcheck_lint::workload::Kinds;
use imgcheck_model::knowledge::{self, OnFirstUse};
use imgcheck_model::targets::Target;
use imgcheck_model::targets::nodes::Cluster;
use imgcheck_rules::policy::Policy;
use imgcheck_rules::policy::gate::GateConfig;

impl Checker {
    /// The section `gate` of the configuration.
    pub fn gate(&self) -> &GateConfig {
        &self.gate
    }

    /// The machines that images must run on, unless a request names others.
    pub fn targets(&self) -> &[Target] {
        &self.policy.targets
    }

    /// The clusters that the configuration declares.
    pub fn clusters(&self) -> &[Cluster] {
        &self.policy.clusters
    }

    /// Which objects start containers: those of the table, and those of the configuration.
    ///
    /// # Errors
    /// The table is wrong.
    pub fn kinds(&self) -> Result<Kinds> {
        let known: Kinds = knowledge::table("workloads")?;
        Ok(known.with(&self.policy.kinds))
    }

    /// The same checker for another target. It shares everything but the capacity for reading layers.
    ///
    /// # Errors
    /// A GPU or the driver is not one.
    pub fn for_target(&self, gpus: &[String], driver: Option<&str>) -> Result<Self> {
        let target = Target {
            gpus: gpus.to_owned(),
            driver: driver.map(str::to_owned),
            ..Target::default()
        };
        target
            .check(&self.knowledge.targets)
            .map_err(Error::misread)?;
        Ok(self.with_target(target))
    }

    /// The same checker for every GPU of the tables.
    pub(crate) fn for_all_gpus(&self) -> Self {
        self.with_target(Target::all(&self.knowledge.targets.gpus))
    }

    fn with_target(&self, target: Target) -> Self {
        let mut policy = self.policy.clone();
        policy.targets = vec![target];
        self.with_policy(policy)
    }

    /// The same checker for reports with pictures of the loader model. It shares everything but the capacity for reading layers.
    pub fn with_pictures(&self) -> Self {
        Checker {
            loader_trees: true,
            ..self.with_policy(self.policy.clone())
        }
    }

    fn with_policy(&self, policy: Policy) -> Self {
        Checker {
            knowledge: self.knowledge.clone(),
            rules: self.rules.clone(),
            policy,
            configuration: self.configuration.clone(),
            limits: self.limits,
            cache: self.cache.clone(),
            registries: self.registries.clone(),
            offline: self.offline.clone(),
            gate: self.gate.clone(),
            layers: OnFirstUse::default(),
            no_lazy: self.no_lazy,
            facts_keys: self.facts_keys.clone(),
            remarks: Mutex::default(),
            loader_trees: self.loader_trees,
            python_module: self.python_module.clone(),
            skipped_rules: self.skipped_rules,
        }
    }
}
