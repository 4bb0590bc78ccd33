//! Part of build scripts: what decides a cached value is hashed, and the hash is part of its key.

use std::path::{Path, PathBuf};
use std::{env, fs};

use xxhash_rust::xxh3::Xxh3;

/// Passes a hash of files and directories of the repository to the compiler as an environment variable. Where the crate is built outside
/// the repository, its version stands for them.
pub fn hash_sources(variable: &str, paths: &[&str]) {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let mut hasher = Xxh3::new();
    hasher.update(env::var("CARGO_PKG_VERSION").unwrap_or_default().as_bytes());
    for path in paths.iter().map(|path| root.join(path)) {
        println!("cargo::rerun-if-changed={}", path.display());
        if path.exists() {
            hash(&path, &mut hasher).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
    println!("cargo::rustc-env={variable}={:032x}", hasher.digest128());
}

/// Hashes a file, or all files of a directory in alphabetical order.
fn hash(path: &Path, hasher: &mut Xxh3) -> std::io::Result<()> {
    if path.is_dir() {
        let children = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
        let mut children = children.collect::<std::io::Result<Vec<_>>>()?;
        children.sort();
        return children.iter().try_for_each(|child| hash(child, hasher));
    }
    let content = fs::read(path)?;
    hasher.update(&(content.len() as u64).to_le_bytes());
    hasher.update(&content);
    Ok(())
}
