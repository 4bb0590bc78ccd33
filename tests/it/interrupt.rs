//! Ctrl-C ends a run at once, with an exit code that no verdict has, and leaves nothing in the cache.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Waits until the process handles the signal: `SigCgt` of proc_pid_status(5) has a bit for each.
fn wait_for_handler(child: &mut Child, signal: Signal) {
    let status = format!("/proc/{}/status", child.id());
    for _ in 0..600 {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        let text = fs::read_to_string(&status).unwrap();
        let mask = text
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .unwrap();
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        if mask & (1 << (signal.as_raw() - 1)) != 0 {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("the signal is never handled");
}

#[test]
fn a_run_that_is_interrupted_ends_and_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_imgcheck"))
            .args(["-", "--cache-dir"])
            .arg(scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_handler(&mut child, signal);
        kill_process(Pid::from_child(&child), signal).unwrap();
        // The archive on its standard input has not even begun.
        let input = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(input);
        assert_eq!(output.status.code(), Some(code));
        assert!(output.stdout.is_empty());
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
