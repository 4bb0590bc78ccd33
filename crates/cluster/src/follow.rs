//! Follows the objects of one kind: a list, then a watch, again after every failure.

use std::pin::pin;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures_util::StreamExt;
use kube::runtime::watcher::{self, Event};
use serde_json::{Value, json};

use super::api::{self, Api, Kind};
use super::kept::Kept;

/// How long the server lets a watch last, in seconds. A connection that died silently is noticed 5 s later.
const WATCH: u32 = 50;
/// The first and the longest wait after a failure.
const WAITS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// How often to look for a kind that the cluster does not know: it may be upgraded.
const UNKNOWN_KIND: Duration = Duration::from_secs(300);

/// Follows a kind for ever. `read` says what to keep of an object; `changed` is called after every change.
pub(crate) async fn follow<T: PartialEq>(
    api: &Api,
    kind: Kind,
    read: impl Fn(Value) -> Option<T>,
    kept: &Mutex<Kept<T>>,
    changed: impl Fn(),
) {
    let mut waits = waits();
    loop {
        let problem = match api.of_kind(kind).await {
            Ok(None) => {
                let is_new = apply(kept, |it| {
                    it.begin();
                    it.complete()
                });
                if is_new {
                    changed();
                }
                tokio::time::sleep(UNKNOWN_KIND).await;
                continue;
            }
            Ok(Some(objects)) => {
                let mut stream = pin!(watcher::watcher(
                    objects,
                    watcher::Config::default().timeout(WATCH)
                ));
                loop {
                    match stream.next().await {
                        Some(Ok(event)) => {
                            if matches!(event, Event::InitDone) {
                                waits = self::waits();
                            }
                            if apply(kept, |it| record(it, kind, event, &read)) {
                                changed();
                            }
                        }
                        Some(Err(error)) => break failure(api, error),
                        None => break "the watch ended".to_owned(),
                    }
                }
            }
            Err(error) => error.message(),
        };
        if apply(kept, |it| it.fail(problem, Instant::now())) {
            changed();
        }
        tokio::time::sleep(waits.next().unwrap_or(WAITS.1)).await;
    }
}

fn waits() -> ExponentialBackoff {
    let waits = ExponentialBuilder::default()
        .with_min_delay(WAITS.0)
        .with_max_delay(WAITS.1)
        .without_max_times()
        .with_jitter();
    waits.build()
}

fn apply<T>(kept: &Mutex<Kept<T>>, change: impl FnOnce(&mut Kept<T>) -> bool) -> bool {
    // A panic of another thread leaves a whole state behind: every change is one assignment.
    change(&mut kept.lock().unwrap_or_else(|it| it.into_inner()))
}

fn record<T: PartialEq>(
    kept: &mut Kept<T>,
    kind: Kind,
    event: Event<kube::api::DynamicObject>,
    read: impl Fn(Value) -> Option<T>,
) -> bool {
    let name = |object: &kube::api::DynamicObject| {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        match &object.metadata.namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        }
    };
    let content = |object| read(api::with_kind(object, &json!({"kind": kind.name()})));
    match event {
        Event::Init => {
            kept.begin();
            false
        }
        Event::InitApply(object) => {
            let name = name(&object);
            if let Some(content) = content(object) {
                kept.listed(name, content);
            }
            false
        }
        Event::InitDone => kept.complete(),
        Event::Apply(object) => {
            let name = name(&object);
            match content(object) {
                Some(content) => kept.put(name, content),
                None => kept.remove(&name),
            }
        }
        Event::Delete(object) => kept.remove(&name(&object)),
    }
}

fn failure(api: &Api, error: watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => api.failed(&error).message(),
        error => error.to_string(),
    }
}
