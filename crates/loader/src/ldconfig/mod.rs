//! The cache that `ldconfig` would write in the image, and how the image's `ld.so.cache` differs from it.
//!
//! Source: glibc's `elf/ldconfig.c`, `elf/cache.c` (`compare`, `add_to_cache`), `elf/dl-is_dso.h`, `elf/readlib.c` and the
//! architectures' `readelflib.c`.

mod configuration;
mod glob;
mod libraries;
mod rebuild;
mod staleness;
#[cfg(test)]
mod tests;

pub use configuration::{
    Configuration, Directory, DirectoryOrigin, configuration, system_directories,
};
pub use rebuild::{Rebuilt, rebuild};
pub use staleness::{Addition, CacheState, Staleness, staleness};
