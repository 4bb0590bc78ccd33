//! Errors of damaged images.

use std::fmt;
use std::io::{self, ErrorKind};

pub(super) fn damaged(problem: impl fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("damaged: {problem}"))
}
