//! The facts of an ELF file: read from the whole file, and from what is kept of it while it streams by.
//!
//! The first bytes of the input say how it streams by; see [`imgcheck_fuzz::streamed`].

#![no_main]

use imgcheck_fuzz::streamed::{Way, compare};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some((way, rest)) = Way::read(bytes) {
        compare(way.file(rest), way);
    }
});
