//! What can change while the gate runs: the configuration, and what is known about the cluster.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use quick_cache::sync::Cache;

use super::cluster::ClusterState;
use imgcheck_base::error::{Error, Result};
use imgcheck_checker::{Checker, Schedule};
use imgcheck_lint::workload::{Container, Kinds, Objects, Placement};
use imgcheck_model::targets::nodes::{Cluster, NodeClass};
use imgcheck_rules::policy::gate::GateConfig;

/// The configuration, read.
#[derive(Debug)]
pub struct Setup {
    /// Rules, policy, limits, registries.
    pub checker: Arc<Checker>,
    /// Which objects start containers.
    pub kinds: Kinds,
    /// The node classes that the configuration declares for the cluster.
    pub(crate) declared: Option<Vec<Arc<NodeClass>>>,
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
            kinds: checker.kinds()?,
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
    pub classes: Option<Vec<Arc<NodeClass>>>,
    /// The objects of the cluster that workloads refer to.
    pub objects: Objects,
    /// Which configuration of this process it is.
    pub generation: u64,
    /// By the placement of a container, and whether it has a GPU.
    schedules: Cache<(Arc<Placement>, bool), Scheduled>,
}

/// The parts of a cluster that decide the verdict on a container.
#[derive(Debug, Clone)]
pub struct Scheduled {
    /// What the scheduler may choose.
    pub schedule: Arc<Schedule>,
    /// A digest of it that stays the same while nodes come and go that make no difference.
    pub digest: Arc<str>,
}

/// Placements whose schedules are kept. Pods of one owner share theirs.
const PLACEMENTS: usize = 1000;

impl View {
    /// The parts of the cluster that decide the verdict on a container; `None` if no nodes are known.
    pub fn schedule(&self, container: &Container) -> Option<Scheduled> {
        let classes = self.classes.as_deref()?;
        let place = (container.placement.clone(), container.gpu.is_some());
        if let Some(known) = self.schedules.get(&place) {
            return Some(known);
        }
        let schedule = Schedule::of(container, classes);
        let found = Scheduled {
            digest: schedule.digest().into(),
            schedule: Arc::new(schedule),
        };
        self.schedules.insert(place, found.clone());
        Some(found)
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
    use imgcheck_model::targets::Target;
    use imgcheck_model::targets::nodes::Node;

    /// A class with nodes, each with a time in its labels as GPU feature discovery gives them.
    fn class(driver: &str, nodes: &[&str]) -> Arc<NodeClass> {
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
        Arc::new(NodeClass {
            target: Target {
                name: "h100".to_owned(),
                driver: Some(driver.to_owned()),
                ..Target::default()
            },
            has_gpu: true,
            nodes: nodes.iter().map(node).collect(),
            ..NodeClass::default()
        })
    }

    /// A class in another pool.
    fn inference() -> Arc<NodeClass> {
        let pool = [("pool".to_owned(), "inference".to_owned())];
        let node = Node {
            labels: Some(Arc::new(pool.into())),
            ..Node::default()
        };
        Arc::new(NodeClass {
            nodes: vec![node],
            ..NodeClass::clone(&class("535.183.06", &[]))
        })
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

    /// The parts of the cluster that decide the verdict on a container.
    fn decisive(view: &View, container: &Container) -> Option<Arc<str>> {
        view.schedule(container).map(|it| it.digest)
    }

    #[test]
    fn a_verdict_outlives_nodes_that_make_no_difference() {
        let setup = || Setup::new(Checker::builder().build().unwrap()).unwrap();
        let views = Views::new(setup());
        let view = |classes: Vec<Arc<NodeClass>>| {
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
        assert_eq!(decisive(&first, &training), decisive(&grown, &training));
        assert_ne!(decisive(&first, &training), decisive(&first, &other));
        let beside = view(vec![class("570.86.10", &["a"]), inference()]);
        assert_eq!(decisive(&first, &training), decisive(&beside, &training));
        assert_ne!(decisive(&first, &other), decisive(&beside, &other));
        let older = view(vec![class("470.82.01", &["a", "b"])]);
        assert_ne!(decisive(&first, &training), decisive(&older, &training));
        let empty = view(Vec::new());
        assert_ne!(decisive(&older, &training), decisive(&empty, &training));
        views.replace(setup());
        assert_ne!(view(Vec::new()).generation, empty.generation);
    }
}
