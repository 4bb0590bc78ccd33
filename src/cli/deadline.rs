//! The time that a call may take: when it is over the program ends, whatever its threads wait for.

use std::process;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::output;
use imgcheck::internals::error::{Error, Result};
use imgcheck::internals::limits::{Limit, Limits};

/// What is left to do may take so long: another thread may hold the terminal, or nobody read what is written to it.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// From now on [`Limit::Time`] counts. When it is over, `leave` is called, the error told, and the program ended.
///
/// # Errors
/// There are not enough threads to watch the time.
pub(super) fn watch(limits: Limits, leave: impl FnOnce() + Send + 'static) -> Result<()> {
    let begun = Instant::now();
    let watching = thread::Builder::new().name("deadline".to_owned());
    let watching = watching.spawn(move || {
        thread::sleep(limits.duration(Limit::Time));
        // The second that has begun counts.
        let seconds = begun.elapsed().as_secs().saturating_add(1);
        let passed = limits.passed(Limit::Time, seconds);
        let error = Error::limit("the call", passed);
        let code = i32::from(error.exit_code());
        let (sender, told) = channel();
        let telling = thread::Builder::new().spawn(move || {
            leave();
            output::error(&error);
            sender.send(())
        });
        if telling.is_ok() {
            let _ = told.recv_timeout(LAST_WORDS);
        }
        process::exit(code);
    });
    match watching {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::io("the time of the call", error)),
    }
}
