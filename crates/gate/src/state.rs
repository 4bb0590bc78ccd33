//! What a gate holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::Utc;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::cluster::Cluster;
use super::facts::KnownFacts;
use super::flights::Flights;
use super::harbor::forward::Forwarder;
use super::harbor::scans::Scans;
use super::metrics::Metrics;
use super::options::GateOptions;
use super::queue::Queue;
use super::recent::RecentDecisions;
use super::resolve::Resolver;
use super::server::{Tls, Tokens};
use super::setup::{Setup, View, Views};
use super::verdict::Judgement;
use imgcheck_base::error::Result;
use imgcheck_checker::Checker;

/// How long a judgment may continue after its last request stopped waiting.
pub(crate) const LONGEST_JUDGEMENT: Duration = Duration::from_secs(60);
/// Verdicts that are expected; their bytes are what is bounded.
const VERDICTS: usize = 100_000;
/// Of the memory that is allowed, the part for verdicts; the rest is for facts.
const VERDICTS_SHARE: u64 = 4;

/// Reads the configuration.
pub type Load = Box<dyn Fn() -> Result<Checker> + Send + Sync>;

/// A gate. Clones share it.
#[derive(Clone)]
pub struct Gate(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub views: Views,
    pub load: Load,
    pub cluster: Arc<dyn Cluster>,
    pub metrics: Arc<Metrics>,
    pub tokens: Tokens,
    pub tls: Option<Arc<Tls>>,
    pub queue: Queue,
    /// What Harbor asked for.
    pub scans: Arc<Scans>,
    pub forwarder: Forwarder,
    pub recent: RecentDecisions,
    pub resolver: Resolver,
    pub facts: KnownFacts,
    pub verdicts: Cache<VerdictKey, Arc<Judgement>, ByBytes>,
    pub judging: Flights<VerdictKey, Arc<Judgement>>,
    pub judges: Arc<Semaphore>,
    pub requests: AtomicU64,
    /// Distinguishes the requests of this process from those of others.
    pub process: u32,
    pub stop: CancellationToken,
}

/// The SHA-256 of all that decides a verdict.
pub type VerdictKey = [u8; 32];

#[derive(Debug, Clone)]
pub struct ByBytes;

impl Weighter<VerdictKey, Arc<Judgement>> for ByBytes {
    fn weight(&self, _: &VerdictKey, judgement: &Arc<Judgement>) -> u64 {
        judgement.bytes()
    }
}

impl Gate {
    /// Opens everything that a gate needs.
    ///
    /// # Errors
    /// The configuration, a file of the options, or the queue cannot be used.
    pub fn new(options: &GateOptions, load: Load, cluster: Arc<dyn Cluster>) -> Result<Self> {
        let setup = Setup::new(load()?)?;
        let metrics = Arc::new(Metrics::default());
        let tls = options
            .tls
            .clone()
            .map(Tls::read)
            .transpose()?
            .map(Arc::new);
        let verdicts = options.memory / VERDICTS_SHARE;
        let queue = Queue::open(&options.state, metrics.clone())?;
        let scans = Arc::new(Scans::open(queue.clone(), metrics.clone())?);
        let inner = Inner {
            tokens: Tokens::read(options.tokens.clone())?,
            forwarder: Forwarder::new(scans.clone(), metrics.clone())?,
            scans,
            queue,
            recent: RecentDecisions::default(),
            resolver: Resolver::new(metrics.clone()),
            facts: KnownFacts::new(options.memory - verdicts, metrics.clone()),
            verdicts: Cache::with_weighter(VERDICTS, verdicts, ByBytes),
            judging: Flights::default(),
            judges: Arc::new(Semaphore::new(imgcheck_base::parallel::cores())),
            requests: AtomicU64::new(0),
            process: std::process::id(),
            stop: CancellationToken::new(),
            views: Views::new(setup),
            load,
            cluster,
            metrics,
            tls,
        };
        Ok(Gate(Arc::new(inner)))
    }

    /// Configuration and cluster as they are now.
    pub fn view(&self) -> Arc<View> {
        self.0.views.of(self.0.cluster.state())
    }

    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    pub fn queue(&self) -> &Queue {
        &self.0.queue
    }

    /// The last decisions.
    pub fn recent(&self) -> &RecentDecisions {
        &self.0.recent
    }

    /// An id for a request.
    pub fn new_id(&self) -> String {
        let count = self.0.requests.fetch_add(1, Ordering::Relaxed);
        format!(
            "{:x}-{:x}-{count:x}",
            self.0.process,
            Utc::now().timestamp()
        )
    }

    /// Why no requests should be sent here, if so.
    pub fn obstacle(&self) -> Option<String> {
        if self.0.stop.is_cancelled() {
            return Some("the server is about to end".to_owned());
        }
        if !self.0.cluster.is_ready() {
            return Some("the cluster was not read yet".to_owned());
        }
        self.0.queue.obstacle()
    }
}
