//! The facts of an ELF file: read from the whole file, and from what is retained while it is streamed.
//!
//! The first bytes of the input say how it is streamed; see [`imgcheck_fuzz::streamed`].

use imgcheck_fuzz::streamed::{Way, compare};

pub fn fuzz(bytes: &[u8]) {
    if let Some((way, rest)) = Way::read(bytes) {
        compare(way.file(rest), way);
    }
}
