//! The targets and the clusters that a configuration declares.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::source::Source;
use crate::policy::file::{ClusterEntry, NodeEntry, TargetEntry};
use imgcheck_base::error::Result;
use imgcheck_base::yaml::{self, Spanned};
use imgcheck_model::targets::nodes::{Cluster, Node, NodeClass, Taint};
use imgcheck_model::targets::{DriverVersion, Gpu, Tables, Target};

impl Source {
    pub(super) fn target(&self, entry: &TargetEntry, tables: &Tables) -> Result<Target> {
        let target = Target {
            name: entry.name.value.clone(),
            gpus: entry.gpus.iter().map(|gpu| gpu.value.clone()).collect(),
            driver: entry.driver.as_ref().map(|driver| driver.value.clone()),
            ..Target::default()
        };
        if target.gpus.is_empty() && target.driver.is_none() {
            let problem = format!("target `{}` has no GPUs and no driver", target.name);
            let help = "add `gpus: [a100]`, `driver: \"535.183.06\"`, or both";
            return Err(self.fault(yaml::span(&entry.name), &problem, help));
        }
        self.check_pairs(&entry.gpus, entry.driver.as_ref(), tables)?;
        Ok(target)
    }

    pub(super) fn clusters(
        &self,
        entries: &BTreeMap<String, ClusterEntry>,
        tables: &Tables,
    ) -> Result<Vec<Cluster>> {
        let cluster = |(name, entry): (&String, &ClusterEntry)| {
            Ok(Cluster {
                name: name.clone(),
                classes: self.each(&entry.nodes, |source, it| source.node_class(it, tables))?,
            })
        };
        entries.iter().map(cluster).collect()
    }

    fn node_class(&self, entry: &NodeEntry, tables: &Tables) -> Result<Arc<NodeClass>> {
        let gpu = entry.gpu.as_ref();
        let target = Target {
            name: entry.name.value.clone(),
            gpus: gpu.map(|it| it.value.clone()).into_iter().collect(),
            driver: entry.driver.as_ref().map(|it| it.value.clone()),
            ..Target::default()
        };
        self.check_pairs(entry.gpu.as_slice(), entry.driver.as_ref(), tables)?;
        let taint = |source: &Self, text: &Spanned<String>| {
            let help = "write `key=value:NoSchedule` or `key:NoSchedule`";
            Taint::parse(&text.value).ok_or_else(|| {
                let problem = format!("`{}` is not a taint", text.value);
                source.fault(yaml::span(text), &problem, help)
            })
        };
        let architecture = entry.arch.as_deref().unwrap_or("amd64");
        Ok(Arc::new(NodeClass {
            has_gpu: !target.gpus.is_empty() || target.driver.is_some(),
            architecture: architecture.to_owned(),
            cdi: entry.cdi,
            nodes: vec![Node {
                name: target.name.clone(),
                labels: entry.labels.clone().map(Arc::new),
                architecture: architecture.to_owned(),
                taints: self.each(&entry.taints, taint)?,
                resources: None,
            }],
            is_declared: true,
            target,
        }))
    }

    /// Checks that the GPUs and the driver are known, and that one machine can have them.
    fn check_pairs(
        &self,
        gpus: &[Spanned<String>],
        driver: Option<&Spanned<String>>,
        tables: &Tables,
    ) -> Result<()> {
        let read = |source: &Self, gpu: &Spanned<String>| {
            source.located(gpu, tables.gpus.parse(&gpu.value))
        };
        let gpus: Vec<Gpu> = self.each(gpus, read)?;
        let Some(driver) = driver else {
            return Ok(());
        };
        let version = self.located(driver, DriverVersion::parse(&driver.value))?;
        self.located(driver, tables.check_pairs(&gpus, &version))
    }
}
