//! Tells the person who runs the tests, also when a test passes: the runner hides what `eprintln!` writes.

use std::fmt::Arguments;
use std::io::Write;

/// A line on the standard error stream.
pub fn line(text: Arguments) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
