//! What a gate asks a checker for.

use super::state::Checker;
use crate::error::{Error, Result};
use crate::knowledge::OnFirstUse;
use crate::policy::gate::GateConfig;
use crate::targets::Target;
use crate::targets::nodes::Cluster;

impl Checker {
    /// The section `gate` of the configuration.
    pub(crate) fn gate(&self) -> &GateConfig {
        &self.gate
    }

    /// The clusters that the configuration declares.
    pub(crate) fn clusters(&self) -> &[Cluster] {
        &self.policy.clusters
    }

    /// The same checker for another target. It shares everything but the capacity for reading layers.
    ///
    /// # Errors
    /// A GPU or the driver is not one.
    pub(crate) fn for_target(&self, gpus: &[String], driver: Option<&str>) -> Result<Self> {
        let target = Target {
            name: String::new(),
            gpus: gpus.to_owned(),
            driver: driver.map(str::to_owned),
        };
        target
            .check(&self.knowledge.targets.gpus)
            .map_err(Error::misread)?;
        let mut policy = self.policy.clone();
        policy.targets = vec![target];
        Ok(Checker {
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
            loader_trees: self.loader_trees,
        })
    }
}
