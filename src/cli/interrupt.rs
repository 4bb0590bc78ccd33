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

/// How long running work may take to end by itself.
pub const GRACE: Duration = Duration::from_secs(1);

/// A command that writes what it has when it is stopped has this long; Kubernetes kills a container after 30 seconds.
pub const GRACE_TO_WRITE: Duration = Duration::from_secs(25);

/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

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
    /// From now on signals cancel the run, and its time counts. If something does not end within `grace`, or at a second signal,
    /// `clean_up` is called and the process exits.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(
        checker: &Arc<Checker>,
        grace: Duration,
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
        let received = Arc::new(AtomicUsize::new(0));
        for signal in SIGNALS {
            let number = usize::try_from(signal).unwrap_or_default();
            flag::register_usize(signal, Arc::clone(&received), number).map_err(failed)?;
        }
        let (cancellation, signal) = (run.cancellation.clone(), Arc::clone(&run.signal));
        let clean = Arc::clone(&clean_up);
        let watch = thread::Builder::new().name("signals".to_owned());
        let watch = watch.spawn(move || {
            let first = next_signal(&received, None);
            signal.store(first, Ordering::SeqCst);
            cancellation.cancel();
            next_signal(&received, Some(grace));
            exit(clean, 128 + signal_of(&signal), None);
        });
        watch.map_err(failed)?;
        let watch = thread::Builder::new().name("deadline".to_owned());
        let watch = watch.spawn(move || {
            thread::sleep(limit);
            let error = time.error(&[]);
            thread::sleep(grace);
            exit(clean_up, i32::from(error.exit_code()), Some(error));
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
        self.check_reading(&[])
    }

    /// Same as [`check`](Self::check), and names the images that were not read when the time was over.
    ///
    /// # Errors
    /// Same as [`check`](Self::check).
    pub fn check_reading(&self, unread: &[&str]) -> Result<(), Stop> {
        match signal_of(&self.signal) {
            0 => match self.cancellation.check() {
                Ok(()) => Ok(()),
                Err(_) => Err(Stop::Error(self.time.error(unread))),
            },
            signal => Err(Stop::Signal(signal)),
        }
    }
}

impl Time {
    fn error(self, unread: &[&str]) -> Error {
        // A second that has begun counts.
        let seconds = self.start.elapsed().as_secs().saturating_add(1);
        let subject = match unread {
            [] => "the call".to_owned(),
            unread => format!("reading {}", unread.join(", ")),
        };
        Error::limit(subject, self.limits.exceeded(Limit::Time, seconds))
    }
}

/// The signal that came; 0 if none came.
fn signal_of(received: &AtomicUsize) -> i32 {
    received
        .load(Ordering::SeqCst)
        .try_into()
        .unwrap_or_default()
}

/// Waits for a signal. Returns 0 if none came in `time`.
fn next_signal(received: &AtomicUsize, time: Option<Duration>) -> usize {
    let start = Instant::now();
    loop {
        let signal = received.swap(0, Ordering::SeqCst);
        if signal != 0 || time.is_some_and(|time| start.elapsed() >= time) {
            return signal;
        }
        thread::sleep(INTERVAL);
    }
}

/// Exits although the main thread has not done so: it may wait for a terminal, or for somebody to read its output.
fn exit(clean_up: Arc<impl Fn() + Send + Sync + 'static>, code: i32, error: Option<Error>) -> ! {
    let (sender, done) = channel();
    let last_words = thread::Builder::new().spawn(move || {
        clean_up();
        if let Some(error) = error {
            output::error(&error);
        }
        sender.send(())
    });
    if last_words.is_ok() {
        let _ = done.recv_timeout(LAST_WORDS);
    }
    process::exit(code)
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
