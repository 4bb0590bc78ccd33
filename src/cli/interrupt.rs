//! Ends a run early: on SIGINT, SIGTERM and SIGHUP (on Windows, on Ctrl-C), and when the time of `--limit time` is over.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use imgcheck::{Cancellation, Checker, Error, Limit, Limits, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::output;

/// The signals that end a run.
#[cfg(unix)]
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// How long to wait before looking for a signal.
const INTERVAL: Duration = Duration::from_millis(20);

/// What is running has this long to end by itself.
const GRACE: Duration = Duration::from_secs(1);

/// A run that can end early.
pub struct Run {
    cancellation: Cancellation,
    signal: Arc<AtomicUsize>,
    time: Time,
}

/// When `--limit time` began to count.
#[derive(Clone, Copy)]
struct Time {
    start: Instant,
    limits: Limits,
}

impl Run {
    /// From now on signals cancel the run, and its time counts. If something does not end in time, `clean_up` is called and the
    /// process exits.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(
        checker: &Arc<Checker>,
        clean_up: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self> {
        let time = Time {
            start: Instant::now(),
            limits: *checker.limits(),
        };
        let limit = time.limits.duration(Limit::Time);
        let cancellation = match time.start.checked_add(limit) {
            Some(deadline) => Cancellation::default().with_deadline(deadline),
            None => Cancellation::default(),
        };
        let run = Run {
            cancellation,
            signal: Arc::default(),
            time,
        };
        let checker = Arc::clone(checker);
        let clean_up = Arc::new(move || {
            clean_up();
            checker.abandon_cache();
        });
        let failed = |error| Error::io("the signals of the process", error);
        for signal in SIGNALS {
            let number = usize::try_from(signal).unwrap_or_default();
            flag::register_usize(signal, Arc::clone(&run.signal), number).map_err(failed)?;
        }
        let (cancellation, received) = (run.cancellation.clone(), Arc::clone(&run.signal));
        let clean = Arc::clone(&clean_up);
        let watch = thread::Builder::new().name("signals".to_owned());
        let watch = watch.spawn(move || {
            while received.load(Ordering::SeqCst) == 0 {
                thread::sleep(INTERVAL);
            }
            cancellation.cancel();
            exit_after_grace(clean, 128 + signal_of(&received), None);
        });
        watch.map_err(failed)?;
        let watch = thread::Builder::new().name("deadline".to_owned());
        let watch = watch.spawn(move || {
            thread::sleep(limit);
            let error = time.error();
            exit_after_grace(clean_up, i32::from(error.exit_code()), Some(error));
        });
        watch.map_err(failed)?;
        Ok(run)
    }

    /// What the requests of this run get.
    pub fn cancellation(&self) -> Cancellation {
        self.cancellation.clone()
    }

    /// Call it before a report is written: a run that ended early writes no report.
    ///
    /// # Errors
    /// A signal came, or the time is over.
    pub fn check(&self) -> Result<(), Stop> {
        match signal_of(&self.signal) {
            0 => match self.cancellation.check() {
                Ok(()) => Ok(()),
                Err(_) => Err(Stop::Error(self.time.error())),
            },
            signal => Err(Stop::Signal(signal)),
        }
    }
}

impl Time {
    fn error(self) -> Error {
        // A second that has begun counts.
        let seconds = self.start.elapsed().as_secs().saturating_add(1);
        Error::limit("the call", self.limits.exceeded(Limit::Time, seconds))
    }
}

/// The signal that came; 0 if none came.
fn signal_of(received: &AtomicUsize) -> i32 {
    received
        .load(Ordering::SeqCst)
        .try_into()
        .unwrap_or_default()
}

/// Exits if the main thread has not done so by then: it may wait for a terminal, or for somebody to read its output.
fn exit_after_grace(
    clean_up: Arc<impl Fn() + Send + Sync + 'static>,
    code: i32,
    error: Option<Error>,
) {
    let exit = move || {
        thread::sleep(GRACE);
        let (sender, done) = channel();
        let last_words = thread::Builder::new().spawn(move || {
            clean_up();
            if let Some(error) = error {
                output::error(&error);
            }
            sender.send(())
        });
        if last_words.is_ok() {
            let _ = done.recv_timeout(GRACE);
        }
        process::exit(code);
    };
    if thread::Builder::new().spawn(exit).is_err() {
        process::exit(code);
    }
}

/// Why a command ends.
pub enum Stop {
    /// An error, which is printed.
    Error(Error),
    /// A signal of this number.
    Signal(i32),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}
