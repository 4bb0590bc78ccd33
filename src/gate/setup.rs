//! What can change while the gate runs: the configuration, and what is known about the cluster.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use quick_cache::sync::Cache;

use super::cluster::ClusterState;
use crate::checker::{Checker, schedule_digest};
use crate::error::{Error, Result};
use crate::knowledge;
use crate::policy::gate::GateConfig;
use crate::targets::nodes::{Cluster, NodeClass};
use crate::workload::{Container, Kinds, Objects, Placement};

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
    /// Which configuration of this process it is.
    pub generation: u64,
    /// Digests of what the classes are for a container, by its placement.
    schedules: Cache<(Arc<Placement>, bool), Arc<str>>,
}

/// Placements whose schedules are kept. Pods of one owner share theirs.
const PLACEMENTS: usize = 1000;

impl View {
    /// What of the cluster decides the verdict on a container: it stays the same while nodes come and go that make no difference.
    pub fn schedule(&self, container: &Container) -> Option<Arc<str>> {
        let classes = self.classes.as_deref()?;
        let place = (container.placement.clone(), container.gpu.is_some());
        if let Some(known) = self.schedules.get(&place) {
            return Some(known);
        }
        let digest: Arc<str> = schedule_digest(container, classes).into();
        self.schedules.insert(place, digest.clone());
        Some(digest)
    }
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
        let generation = last.as_ref().map_or(0, |view| {
            view.generation + u64::from(!Arc::ptr_eq(&view.setup, &setup))
        });
        let view = Arc::new(View {
            classes: classes.then(|| known.flatten().cloned().collect()),
            objects: Objects::of_cluster(&cluster.runtime_classes, &cluster.related, &setup.kinds),
            generation,
            schedules: Cache::new(PLACEMENTS),
            setup,
            cluster,
        });
        *last = Some(view.clone());
        view
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::targets::Target;
    use crate::targets::nodes::Node;

    /// A class with nodes, each with a time in its labels as GPU feature discovery gives them.
    fn class(driver: &str, nodes: &[&str]) -> NodeClass {
        let node = |name: &&str| Node {
            name: (*name).to_owned(),
            labels: Some(Arc::new(
                [
                    ("nvidia.com/gfd.timestamp".to_owned(), (*name).to_owned()),
                    ("pool".to_owned(), "training".to_owned()),
                ]
                .into(),
            )),
            ..Node::default()
        };
        NodeClass {
            target: Target {
                name: "h100".to_owned(),
                driver: Some(driver.to_owned()),
                ..Target::default()
            },
            has_gpu: true,
            nodes: nodes.iter().map(node).collect(),
            ..NodeClass::default()
        }
    }

    /// A class in another pool.
    fn inference() -> NodeClass {
        let pool = [("pool".to_owned(), "inference".to_owned())];
        let node = Node {
            labels: Some(Arc::new(pool.into())),
            ..Node::default()
        };
        NodeClass {
            nodes: [node].into(),
            ..class("535.183.06", &[])
        }
    }

    fn on(pool: &str) -> Container {
        Container {
            placement: Arc::new(Placement {
                selector: [("pool".to_owned(), pool.to_owned())].into(),
                ..Placement::default()
            }),
            ..Container::default()
        }
    }

    #[test]
    fn a_verdict_outlives_nodes_that_make_no_difference() {
        let setup = || Setup::new(Checker::builder().build().unwrap()).unwrap();
        let views = Views::new(setup());
        let view = |classes: Vec<NodeClass>| {
            views.of(Arc::new(ClusterState {
                classes: Some(classes),
                ..ClusterState::default()
            }))
        };
        let (training, other) = (on("training"), on("inference"));
        let first = view(vec![class("570.86.10", &["a"])]);
        let grown = view(vec![class("570.86.10", &["a", "b"])]);
        assert!(!Arc::ptr_eq(&first, &grown));
        assert_eq!(first.generation, grown.generation);
        assert_eq!(first.schedule(&training), grown.schedule(&training));
        assert_ne!(first.schedule(&training), first.schedule(&other));
        let beside = view(vec![class("570.86.10", &["a"]), inference()]);
        assert_eq!(first.schedule(&training), beside.schedule(&training));
        assert_ne!(first.schedule(&other), beside.schedule(&other));
        let older = view(vec![class("470.82.01", &["a", "b"])]);
        assert_ne!(first.schedule(&training), older.schedule(&training));
        let empty = view(Vec::new());
        assert_ne!(older.schedule(&training), empty.schedule(&training));
        views.replace(setup());
        assert_ne!(view(Vec::new()).generation, empty.generation);
    }
}
