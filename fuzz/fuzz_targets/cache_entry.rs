//! A cache file and its content. Layer facts that are decoded from it can be encoded, decoded again and merged.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use imgcheck_base::digest::sha256;
use imgcheck_fuzz::layers::CONTEXT;
use imgcheck_image::RootFilesystem;
use imgcheck_layer::cache::{FactsCache, version};
use imgcheck_source::cache::{Cache, CacheOptions, Key};

/// A directory of this process. It is left behind, with one small file: `fuzz/run` removes it.
static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let name = format!("imgcheck-fuzz-{}", std::process::id());
    std::env::temp_dir().join(name)
});
static CACHE: LazyLock<Cache> = LazyLock::new(|| {
    let places = CacheOptions {
        directory: Some(DIRECTORY.clone()),
        ..CacheOptions::default()
    };
    Cache::open(&places).expect("a cache")
});

pub fn fuzz(bytes: &[u8]) {
    let diff_id = sha256(b"a layer");
    let key = Key::Facts {
        diff_id: diff_id.clone(),
        version: version(CONTEXT.depth, &CONTEXT.bounds.limits),
    };
    let facts = FactsCache::new(CACHE.clone(), CONTEXT.depth, &CONTEXT.bounds.limits);
    CACHE.put(&key, bytes);
    assert_eq!(
        CACHE.get(&key).as_deref(),
        Some(bytes),
        "what was put is there"
    );
    let Some(found) = facts.get(&diff_id) else {
        return damaged(&key, bytes);
    };
    let _ = RootFilesystem::merge([&found, &found]).files().count();
    facts
        .put(&diff_id, &found)
        .expect("the cache can be written");
    assert_eq!(
        facts.get(&diff_id),
        Some(found),
        "facts are read as they were written"
    );
}

/// The same bytes as the file itself.
fn damaged(key: &Key, bytes: &[u8]) {
    for stored in fs::read_dir(&*DIRECTORY).expect("the directory").flatten() {
        fs::write(stored.path(), bytes).expect("room for a file");
    }
    let _ = CACHE.get(key);
}
