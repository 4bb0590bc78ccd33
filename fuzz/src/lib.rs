//! What several fuzz targets need.

pub mod chunked;
pub mod described;
pub mod documents;
pub mod layers;
pub mod ld_so_cache;
pub mod place;
pub mod streamed;

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

/// An open file in memory that holds `bytes`.
///
/// # Panics
/// The machine is out of file descriptors or of memory.
pub fn file(bytes: &[u8]) -> Arc<File> {
    let descriptor = rustix::fs::memfd_create("fuzzed", rustix::fs::MemfdFlags::CLOEXEC);
    let mut file = File::from(descriptor.expect("a file in memory"));
    file.write_all(bytes).expect("room for the file");
    Arc::new(file)
}
