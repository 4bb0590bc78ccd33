//! Registries that ask to be left alone.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::registry::{Answer, Seen, Server, error, with};

use super::*;

/// When each request came, since the refused one; nothing before.
type Times = Arc<Mutex<(Option<Instant>, Vec<Duration>)>>;

/// A registry that refuses one request, and asks for a pause of so many seconds.
fn refuses_once(
    seconds: u64,
    refused: impl Fn(&Seen) -> bool + Send + Sync + 'static,
) -> (Server, Times) {
    let times = Times::default();
    let (fleet, log) = (fleet(), Arc::clone(&times));
    let answer = move |seen: &Seen| -> Answer {
        let mut log = log.lock().unwrap();
        match log.0 {
            Some(start) => log.1.push(start.elapsed()),
            None if refused(seen) => {
                log.0 = Some(Instant::now());
                let answer = error(429, "TOOMANYREQUESTS", "slow down");
                return with(answer, "retry-after", &seconds.to_string());
            }
            None => {}
        }
        fleet.answer(seen)
    };
    (Server::new(answer), times)
}

/// How many requests came during a pause, without those that were under way, and after it.
fn during_and_after(times: &Times, pause: Duration) -> (usize, usize) {
    let second = Duration::from_secs(1);
    let times = &times.lock().unwrap().1;
    // On a busy machine, what is under way may come late.
    let during = times
        .iter()
        .filter(|it| **it > 2 * second && **it + second / 2 < pause);
    let after = times.iter().filter(|it| **it + second / 2 >= pause);
    (during.count(), after.count())
}

#[test]
fn all_requests_of_a_process_wait_when_one_is_refused() {
    let case = Case::new();
    let (server, times) = refuses_once(4, |seen| seen.method == "HEAD");
    let (totals, _) = case.plan(&[&format!("registry:{}", server.address)]);
    // Without further attempts, the refused one is lost.
    assert_eq!(totals["skipped"], json!({"rate-limited": 1}));
    let (during, after) = during_and_after(&times, Duration::from_secs(4));
    assert_eq!(during, 0, "{times:?}");
    assert!(after >= 10, "{times:?}");
}

#[test]
fn other_workers_wait_when_one_is_refused() {
    let case = Case::new();
    let content = fleet();
    let repository = &content.repositories["text/train"];
    let blob = layers_of(&content, "text/train", "v0").pop().unwrap();
    assert!(repository.blobs.contains_key(&blob));
    let pause = Duration::from_secs(8);
    let (server, times) = refuses_once(8, move |seen| seen.path.ends_with(&blob));
    case.plan(&[&format!("registry:{}", server.address)]);
    let first = worker(&case, &["--claim-expiry", "4"]);
    let patience = Instant::now() + Duration::from_secs(30);
    while case.objects("pause-").is_empty() {
        assert!(Instant::now() < patience, "no pause is told");
        thread::sleep(Duration::from_millis(20));
    }
    let other = worker(&case, &["--claim-expiry", "4"]);
    for worker in [first, other] {
        let output = worker.wait_with_output().unwrap();
        let shown = text(&output.stderr);
        assert!(
            shown.contains("asks to wait") || shown.is_empty(),
            "{shown}"
        );
    }
    let (during, after) = during_and_after(&times, pause);
    assert_eq!(during, 0, "{times:?}");
    assert!(after > 0, "{times:?}");
    assert!(case.run(&[]).status.success());
    assert!(case.judge(&[]).0.iter().all(|it| it["status"] == "judged"));
}

#[test]
fn requests_have_a_budget() {
    let case = Case::new();
    let server = fleet().serve();
    let start = Instant::now();
    let source = format!("registry:{}", server.address);
    case.plan(&[&source, "--requests-per-second", "20"]);
    let least = Duration::from_secs(1) / 20 * (server.seen().len() as u32 - 1);
    assert!(start.elapsed() >= least, "{:?}", start.elapsed());
    // Each of four shards has a fourth of the budget.
    let (start, before) = (Instant::now(), server.seen().len());
    let run = case.run(&["--shard", "2/4", "--requests-per-second", "20"]);
    assert!(run.status.success());
    let requests = server.seen().len() - before;
    assert!(requests > 3);
    let least = Duration::from_secs(4) / 20 * (requests as u32 - 1);
    assert!(start.elapsed() >= least, "{:?}", start.elapsed());
}
