//! Runs that are killed in the middle, and those that come after them with the same cache.

use std::fs;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use super::case::{Case, Ending, FOUND, duration, run};

/// Exit codes of a run that SIGINT or SIGTERM ended through its handler.
const INTERRUPTED: [i32; 2] = [130, 143];

#[test]
fn a_killed_run_has_no_verdict_and_the_next_one_is_right() {
    let case = Case::new(3 << 20);
    let cache = case.path("cache");
    let whole = duration(&mut case.cached(&case.path("other")));
    let mut endings = Vec::new();
    for moment in 0..18 {
        let signal = [Signal::KILL, Signal::TERM, Signal::INT][moment % 3];
        let mut command = case.cached(&cache);
        let mut child = command.spawn().unwrap();
        thread::sleep(whole * moment as u32 / 16);
        // It may have ended already.
        if child.try_wait().unwrap().is_none() {
            kill_process(Pid::from_child(&child), signal).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let ending = case.ending(&output);
        match output.status.code() {
            // Ended by the signal itself, which has no handler yet, or never has one.
            None => {}
            Some(code) => assert!(code == FOUND || INTERRUPTED.contains(&code), "{ending:?}"),
        }
        endings.push(ending);
        let next = run(&mut case.cached(&cache));
        assert_eq!(case.ending(&next), Ending::Whole, "after {signal:?}");
        // The next run used what the killed one left; the run after it starts over.
        fs::remove_dir_all(&cache).unwrap();
    }
    assert!(endings.iter().any(|it| *it != Ending::Whole), "{whole:?}");
}
