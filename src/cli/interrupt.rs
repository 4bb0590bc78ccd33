//! Ctrl-C: ends the run at once, and leaves nothing behind.

use crate::cache::Cache;

use super::progress::Report;

/// What a shell says of a program that ended by SIGINT; the others give the same.
const INTERRUPTED: i32 = 130;

/// From now on SIGINT, SIGTERM and SIGHUP take the bar from the terminal and half-written files from the cache, and end the
/// program. Without it they still end it.
pub(super) fn watch(progress: &Report, cache: &Cache) {
    let (bar, cache) = (progress.bar(), cache.clone());
    // It can be set once; a command that reads images does it once.
    let _ = ctrlc::set_handler(move || {
        bar.finish_and_clear();
        cache.abandon();
        std::process::exit(INTERRUPTED);
    });
}
