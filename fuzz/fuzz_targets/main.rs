//! All fuzz targets in one program: each alone would hold the whole of imgcheck again. `FUZZ_TARGET` names the one that runs.

#![no_main]

mod archive_walk;
mod attestation;
mod cache_entry;
mod chunked_layer;
mod chunked_table;
mod config_file;
mod containerd;
mod elf_file;
mod elf_library;
mod expression;
mod fat_binary;
mod gzip_decoders;
mod image_check;
mod image_facts;
mod image_source;
mod launch_script;
mod layer_blob;
mod layer_merge;
mod layer_scan;
mod ld_so_cache;
mod ld_so_conf;
mod lint_file;
mod loader;
mod manifest;
mod path_resolution;
mod python_module;
mod references;
mod registry;
mod rule_file;
mod sif;
mod squashfs;
mod sweep_plan;
mod version_text;

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;

macro_rules! targets {
    ($($name:ident)*) => {
        /// The target of this name.
        fn target(name: &str) -> Option<fn(&[u8])> {
            match name {
                $(stringify!($name) => Some(|bytes| run($name::fuzz, bytes)),)*
                _ => None,
            }
        }
    };
}

targets! {
    archive_walk
    attestation
    cache_entry
    chunked_layer
    chunked_table
    config_file
    containerd
    elf_file
    elf_library
    expression
    fat_binary
    gzip_decoders
    image_check
    image_facts
    image_source
    launch_script
    layer_blob
    layer_merge
    layer_scan
    ld_so_cache
    ld_so_conf
    lint_file
    loader
    manifest
    path_resolution
    python_module
    references
    registry
    rule_file
    sif
    squashfs
    sweep_plan
    version_text
}

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| panic!("FUZZ_TARGET names no target: {name:?}"))
});

fuzz_target!(|bytes: &[u8]| TARGET(bytes));

/// Makes the input of a target of bytes, as `fuzz_target!` does.
fn run<'a, T: Arbitrary<'a>>(target: fn(T), bytes: &'a [u8]) {
    if let Ok(input) = T::arbitrary_take_rest(Unstructured::new(bytes)) {
        target(input);
    }
}
