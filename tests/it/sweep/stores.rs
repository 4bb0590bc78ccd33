//! Stores that are full, clocks that are wrong, and plans that are interrupted.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use testkit::disk::Disk;
use testkit::registry::{Server, held};
use testkit::tools::{run, tool};

use super::*;

#[test]
fn a_full_store_ends_the_worker_and_a_larger_one_goes_on() {
    let case = Case::new();
    let place = case.path("store");
    let server = fleet().serve();
    case.plan(&[&format!("registry:{}", server.address)]);
    let Some(store) = Disk::mount(&place, "1m") else {
        return;
    };
    // All but a few pages are taken.
    std::fs::write(case.path("store/filler"), vec![1; (1 << 20) - 100_000]).unwrap();
    let output = case.run(&[]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("the store file://"), "{error}");
    assert!(error.contains("No space left on device"), "{error}");
    assert!(error.contains("run the same command again"), "{error}");
    let kept = case.objects("facts-").len();
    assert!(kept > 0 && kept < 15, "{kept}");
    store.remount("size=8m");
    let output = case.run(&[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (records, code) = case.judge(&[]);
    assert_eq!((records.len(), code), (15, 0));
    assert!(records.iter().all(|it| it["status"] == "judged"));
}

#[test]
fn a_worker_whose_clock_is_wrong_takes_no_claim_of_others() {
    if !tool("faketime") {
        return;
    }
    let case = Case::new();
    let content = fleet();
    let slow = layers_of(&content, "text/train", "v2").pop().unwrap();
    let bytes = content.repositories["text/train"].blobs[&slow].clone();
    let (gate, digest) = (Arc::new(AtomicBool::new(false)), slow.clone());
    let open = Arc::clone(&gate);
    let server = Server::new(move |seen| match seen.path.ends_with(&digest) {
        true => held(Arc::clone(&open), &bytes),
        false => content.answer(seen),
    });
    case.plan(&[&format!("registry:{}", server.address)]);
    let holder = worker(&case, &["--claim-expiry", "4"]);
    let patience = Instant::now() + Duration::from_secs(30);
    while !blob_requests(&server).contains_key(&slow) {
        assert!(Instant::now() < patience, "the layer was never asked for");
        thread::sleep(Duration::from_millis(20));
    }
    let others = ["+2 days", "-2 days"].map(|shift| {
        let mut command = Command::new("faketime");
        command
            .args(["-f", shift, env!("CARGO_BIN_EXE_imgcheck")])
            .args(["sweep", "run", "plan", "--store", &case.store()])
            .args(["--no-progress", "--claim-expiry", "4"])
            .current_dir(case.path(""))
            // The times of files are those of the store.
            .env("NO_FAKE_STAT", "1")
            // Only the clock on the wall is wrong: faketime does not know how the threads of Rust wait.
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    });
    // Longer than a claim that is not renewed lasts.
    thread::sleep(Duration::from_secs(6));
    assert_eq!(blob_requests(&server)[&slow], 1);
    gate.store(true, Ordering::Relaxed);
    for worker in others.into_iter().chain([holder]) {
        let output = worker.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_eq!(blob_requests(&server)[&slow], 1);
}

#[test]
fn an_interrupted_plan_is_resumed() {
    const TAGS: usize = 600;
    let case = Case::new();
    let mut content = Fleet::default();
    let images = ["a", "b", "c"].map(|own| small_image("debian", own));
    for tag in 0..TAGS {
        push(
            &mut content,
            "team/train",
            &format!("v{tag:03}"),
            &images[tag % 3],
        );
    }
    let gate = Arc::new(AtomicBool::new(false));
    let open = Arc::clone(&gate);
    let server = Server::new(move |seen| match seen.path.rsplit_once("manifests/v") {
        Some((_, tag)) if tag >= "560" && !open.load(Ordering::Relaxed) => {
            held(Arc::clone(&open), b"x")
        }
        _ => content.answer(seen),
    });
    let source = format!("registry:{}", server.address);
    let mut planning = sweep(&["plan", &source, "-o", "plan"]);
    planning.current_dir(case.path(""));
    interrupt(&mut planning, || server.count("train/manifests/v56") > 0);
    gate.store(true, Ordering::Relaxed);
    let before = server.seen().len();
    let (totals, code) = case.plan(&[&source, "--resume", "plan"]);
    assert_eq!((totals["planned"].as_u64(), code), (Some(TAGS as u64), 0));
    let asked = server.seen().split_off(before);
    let heads = asked.iter().filter(|it| it.method == "HEAD").count();
    assert_eq!(heads, TAGS - 512);
}

/// Starts to plan, interrupts it when `is_time`, and expects that it says how to go on.
pub fn interrupt(planning: &mut Command, is_time: impl Fn() -> bool) {
    let planning = planning.stderr(Stdio::piped()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(30);
    while !is_time() {
        assert!(Instant::now() < patience, "the images are never asked for");
        thread::sleep(Duration::from_millis(20));
    }
    run("kill", &["-INT", &planning.id().to_string()]);
    let output = planning.wait_with_output().unwrap();
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{shown}");
    assert!(shown.contains("--resume"), "{shown}");
}
