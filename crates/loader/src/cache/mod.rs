//! `/etc/ld.so.cache`: where the loader finds most libraries, by name.
//!
//! Source: glibc's `elf/cache.c`, which writes the file, and `elf/dl-cache.c`, which searches it.

mod compare;
mod content;
mod parse;
#[cfg(test)]
mod tests;

pub use compare::compare_names;
pub use content::{Cache, CacheError, Entry, Format, Hwcap};
