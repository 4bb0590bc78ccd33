//! Ctrl-C: ends the run at once, and leaves nothing behind.

/// What a shell says of a program that ended by SIGINT; the others give the same.
const INTERRUPTED: i32 = 130;

/// From now on SIGINT, SIGTERM and SIGHUP call `leave` and end the program. Without it they still end it.
pub(super) fn watch(leave: impl Fn() + Send + 'static) {
    // It can be set once; a command that reads images does it once.
    let _ = ctrlc::set_handler(move || {
        leave();
        std::process::exit(INTERRUPTED);
    });
}
