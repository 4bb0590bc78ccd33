//! Writes what the program's own reader of `ld.so.cache` has read.

use imgcheck_loader::cache::{Cache, Hwcap};
use testkit::ld_so_cache::{Entry, new_format};

/// The bytes of a cache in the new format. Its generator is not written.
#[must_use]
pub fn bytes(cache: &Cache) -> Vec<u8> {
    let entries = cache.entries.iter().map(|entry| Entry {
        flags: entry.flags,
        kernel: entry.kernel,
        hwcap: match entry.hwcap {
            Hwcap::Bits(bits) => bits,
            Hwcap::Subdirectory { index, isa_level } => Entry::subdirectory_hwcap(index, isa_level),
        },
        ..Entry::new(&entry.name, &entry.path)
    });
    new_format(&entries.collect::<Vec<_>>(), &cache.subdirectories)
}
