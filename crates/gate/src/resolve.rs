//! From references to digests, by a HEAD request with the credentials of whoever pulls. It is also what proves that they may pull:
//! facts that were read with the credentials of one namespace answer another only after its own credentials were accepted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quick_cache::sync::Cache;
use tokio::sync::Semaphore;
use tracing::Instrument;

use super::cluster::PullSecret;
use super::credentials;
use super::flights::Flights;
use super::metrics::Metrics;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::digest::sha256;
use imgcheck_base::error::{Error, ErrorCode};
use imgcheck_base::reference::name::Name;
use imgcheck_checker::{Checker, ImageRequest};
use imgcheck_source::source::registry::Credentials;

/// How long a tag is taken to have the same digest.
const TAG: Duration = Duration::from_secs(10);
/// How long access to a digest is taken to be allowed.
const DIGEST: Duration = Duration::from_secs(300);
/// How long a failure is not tried again.
const FAILURE: Duration = Duration::from_secs(3);
/// How long to wait for a registry, even if no request waits for the answer any more.
const LONGEST: Duration = Duration::from_secs(10);
/// Requests to one registry, and to all, at once.
const OF_REGISTRY: usize = 8;
const OF_ALL: usize = 64;
/// Answers that are remembered.
const REMEMBERED: usize = 20_000;

/// Why a reference has no digest.
#[derive(Debug, Clone)]
pub struct Unresolved {
    /// The kind of failure.
    pub code: ErrorCode,
    /// What is wrong, in one sentence.
    pub problem: String,
    /// A retry changes nothing: it is not a reference, or its registry is not allowed.
    pub is_final: bool,
}

impl Unresolved {
    /// The registry took longer than whoever asks can wait.
    pub fn late(registry: &str) -> Self {
        unresolved(
            ErrorCode::Timeout,
            format!("the registry {registry} did not answer in time"),
        )
    }
}

/// A canonical reference, and a digest of the credentials that it is resolved with.
type Key = (String, String);
type Answer = Result<String, Unresolved>;

/// Resolves references.
#[derive(Debug)]
pub struct Resolver {
    known: Cache<Key, (Instant, Answer)>,
    flights: Flights<Key, Answer>,
    all: Arc<Semaphore>,
    registries: Mutex<HashMap<String, Arc<Semaphore>>>,
    metrics: Arc<Metrics>,
}

impl Resolver {
    /// A resolver that knows nothing yet.
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Resolver {
            known: Cache::new(REMEMBERED),
            flights: Flights::default(),
            all: Arc::new(Semaphore::new(OF_ALL)),
            registries: Mutex::default(),
            metrics,
        }
    }

    /// The digest of a name in its canonical form. The first credentials that are accepted count; without any, those of the server's own
    /// configuration.
    pub async fn resolve(
        &self,
        checker: &Arc<Checker>,
        name: &Name,
        secrets: &[PullSecret],
    ) -> Answer {
        let registry = name.registry.as_deref().unwrap_or_default();
        let candidates = credentials::of_secrets(secrets, registry, &name.repository);
        let key = (name.to_string(), identity(&candidates));
        let known = self.known.get(&key);
        let known = known.filter(|(until, _)| *until > Instant::now());
        self.metrics.lookup("digest", known.is_some());
        if let Some((_, answer)) = known {
            return answer;
        }
        let work = || {
            let limits = [self.of_registry(name), self.all.clone()];
            let registry = name.registry.as_deref().unwrap_or_default();
            let span =
                tracing::info_span!("resolve", otel.kind = "client", server.address = registry);
            ask(checker.clone(), name.clone(), candidates, limits).instrument(span)
        };
        let answer = self.flights.join(key.clone(), work).await;
        let answer = answer
            .unwrap_or_else(|| Err(unresolved(ErrorCode::Damaged, "it could not be resolved")));
        let age = match (&answer, &name.digest) {
            (Err(_), _) => FAILURE,
            (Ok(_), Some(_)) => DIGEST,
            (Ok(_), None) => TAG,
        };
        self.known
            .insert(key, (Instant::now() + age, answer.clone()));
        answer
    }

    fn of_registry(&self, name: &Name) -> Arc<Semaphore> {
        let registry = name.registry.clone().unwrap_or_default();
        let mut registries = self
            .registries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        registries.retain(|_, it| Arc::strong_count(it) > 1);
        let semaphore = registries.entry(registry);
        semaphore
            .or_insert_with(|| Arc::new(Semaphore::new(OF_REGISTRY)))
            .clone()
    }
}

/// Tells credentials apart without keeping them.
fn identity(candidates: &[Credentials]) -> String {
    let mut all = Vec::new();
    for credentials in candidates {
        let parts = match credentials {
            Credentials::Password { user, password } => [user.as_str(), password.as_str()],
            Credentials::IdentityToken(token) => ["", token.as_str()],
        };
        for part in parts {
            all.extend((part.len() as u64).to_le_bytes());
            all.extend(part.as_bytes());
        }
    }
    sha256(&all)
}

async fn ask(
    checker: Arc<Checker>,
    name: Name,
    candidates: Vec<Credentials>,
    [of_registry, all]: [Arc<Semaphore>; 2],
) -> Answer {
    let deadline = Instant::now() + LONGEST;
    let registry = name.registry.clone().unwrap_or_default();
    let permits = async { (of_registry.acquire_owned().await, all.acquire_owned().await) };
    let Ok(permits) = tokio::time::timeout_at(deadline.into(), permits).await else {
        let problem = format!("the registry {registry} has not answered earlier requests yet");
        return Err(unresolved(ErrorCode::Timeout, problem));
    };
    let work = move || {
        let _permits = permits;
        let request = ImageRequest::new(format!("docker://{name}"))
            .cancellation(Cancellation::default().with_deadline(deadline));
        let resolved =
            credentials::with_each(&request, candidates, |it| checker.resolve_at_once(it));
        resolved.map_err(|error| {
            if matches!(error, Error::Deadline) {
                return Unresolved::late(&registry);
            }
            let message = error.message();
            let subject = error.subject().map(|subject| format!("{subject}: "));
            let problem = subject.and_then(|it| message.strip_prefix(&it));
            unresolved(error.code(), problem.unwrap_or(&message))
        })
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(unresolved(ErrorCode::Damaged, "it could not be resolved")))
}

fn unresolved(code: ErrorCode, problem: impl Into<String>) -> Unresolved {
    let problem = problem.into();
    Unresolved {
        code,
        problem,
        is_final: false,
    }
}
