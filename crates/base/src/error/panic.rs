//! Panics as errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Error, ErrorCode, Result};

/// Does work on a subject. A panic is an error, so that it costs no other subject; in a program that is built with `panic = "abort"` it
/// ends the program.
///
/// # Errors
/// The errors of `work`; [`ErrorCode::Internal`] if it panics.
pub fn caught<T>(subject: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // Locks that a panic poisons are taken over where they protect what is consistent at any time.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref().copied());
        let problem = format!("imgcheck panicked: {}", message.unwrap_or_default());
        let help = "this is a bug: report it, with this message and the image if you can";
        Err(Error::new(ErrorCode::Internal, subject, problem).with_help(help))
    })
}
