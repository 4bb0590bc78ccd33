//! What can change while the gate runs: the configuration, and what is known about the cluster.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::cluster::ClusterState;
use crate::checker::Checker;
use crate::error::{Error, Result};
use crate::knowledge;
use crate::policy::gate::GateConfig;
use crate::targets::nodes::{Cluster, NodeClass};
use crate::workload::{Kinds, Objects};

/// The configuration, read.
#[derive(Debug)]
pub struct Setup {
    /// Rules, policy, limits, registries.
    pub checker: Arc<Checker>,
    /// Which objects start containers.
    pub kinds: Kinds,
    /// The node classes that the configuration declares for the cluster.
    declared: Option<Vec<NodeClass>>,
}

impl Setup {
    /// # Errors
    /// The section `gate` names a cluster that is not declared.
    pub fn new(checker: Checker) -> Result<Self> {
        let name = checker.gate().cluster.as_deref();
        let declared = Cluster::choose(checker.clusters(), name);
        let declared = declared.map_err(|problem| {
            Error::config(problem).with_help(match name {
                Some(_) => "declare it under `clusters:`",
                None => "choose one with `gate: {cluster: NAME}`",
            })
        })?;
        let declared = declared.map(|cluster| cluster.classes.clone());
        Ok(Setup {
            declared,
            kinds: knowledge::table("workloads")?,
            checker: Arc::new(checker),
        })
    }

    /// The section `gate`.
    pub fn config(&self) -> &GateConfig {
        self.checker.gate()
    }
}

/// Configuration and cluster at one time.
#[derive(Debug)]
pub struct View {
    /// The configuration.
    pub setup: Arc<Setup>,
    /// The cluster.
    pub cluster: Arc<ClusterState>,
    /// The classes of the cluster and those that are declared; `None` if no nodes are known.
    pub classes: Option<Vec<NodeClass>>,
    /// The objects of the cluster that workloads refer to.
    pub objects: Objects,
    /// Differs from that of every other view of this process.
    pub generation: u64,
}

/// The setup in use, and the last view of it.
#[derive(Debug)]
pub struct Views {
    setup: RwLock<Arc<Setup>>,
    last: Mutex<Option<Arc<View>>>,
}

impl Views {
    /// Views of a setup.
    pub fn new(setup: Setup) -> Self {
        Views {
            setup: RwLock::new(Arc::new(setup)),
            last: Mutex::default(),
        }
    }

    /// Uses another setup from now on.
    pub fn replace(&self, setup: Setup) {
        *self.setup.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(setup);
    }

    /// The setup in use.
    pub fn setup(&self) -> Arc<Setup> {
        self.setup
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The view of a state of the cluster.
    pub fn of(&self, cluster: Arc<ClusterState>) -> Arc<View> {
        let setup = self.setup();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(view) = last.as_ref()
            && Arc::ptr_eq(&view.setup, &setup)
            && Arc::ptr_eq(&view.cluster, &cluster)
        {
            return view.clone();
        }
        let known = [cluster.classes.as_ref(), setup.declared.as_ref()];
        let known = known.into_iter().flatten();
        let classes = known.clone().next().is_some();
        let view = Arc::new(View {
            classes: classes.then(|| known.flatten().cloned().collect()),
            objects: Objects::of_cluster(&cluster.runtime_classes, &cluster.queues, &setup.kinds),
            generation: last.as_ref().map_or(0, |view| view.generation + 1),
            setup,
            cluster,
        });
        *last = Some(view.clone());
        view
    }
}
