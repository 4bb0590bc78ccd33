//! Images, layers, ELF files, servers and engines for imgcheck's tests.
//!
//! Unit tests, integration tests and fuzz targets build their input here. This crate writes bytes and starts servers; it does not
//! depend on imgcheck, so a fault in imgcheck cannot hide in what it is tested with. A builder panics when it fails.

mod archive;
pub mod bolt;
pub mod chunked;
mod compression;
mod digest;
pub mod disk;
pub mod elf;
#[cfg(feature = "servers")]
pub mod engine;
#[cfg(feature = "servers")]
pub mod fleet;
mod image;
#[cfg(feature = "servers")]
pub mod interleaving;
#[cfg(feature = "servers")]
pub mod kubernetes;
pub mod layout;
pub mod ld_so_cache;
#[cfg(feature = "servers")]
pub mod registry;
pub mod sif;
pub mod tools;
#[cfg(feature = "servers")]
pub mod writable;

pub use archive::{
    Item, directory, file, hard_link, repair_checksums, symlink, tar, write_archive,
    write_directory,
};
pub use compression::{Compression, compress, gzip, zstd};
pub use digest::{hex, sha256};
pub use image::{
    Image, blob, descriptor, docker_archive, docker_archive_with_layout, manifest_entry, oci_layout,
};
