//! What `ldconfig` would write in an image with any configuration, links and libraries.

use imgcheck_fuzz::described::Described;
use imgcheck_fuzz::ld_so_cache;
use imgcheck_image::RootFilesystem;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_loader::abi::Abi;
use imgcheck_loader::cache::{Cache, compare_names};
use imgcheck_loader::hwcaps::GlibcVersion;
use imgcheck_loader::ldconfig::{rebuild, staleness};

/// Before and after `ldconfig` lost its older directories.
const RELEASES: [GlibcVersion; 2] = [GlibcVersion::new(2, 31), GlibcVersion::new(2, 40)];

pub fn fuzz(text: &str) {
    let image = Described::new(text);
    for glibc in RELEASES {
        check(&image.layers, glibc);
    }
}

fn check(layers: &[LayerFacts], glibc: GlibcVersion) {
    let root = RootFilesystem::merge(layers);
    let rebuilt = rebuild(&root, Abi::X86_64, glibc);
    let cache = &rebuilt.cache;
    assert_eq!(cache.entries.len(), rebuilt.files.len());
    assert!(
        cache
            .entries
            .is_sorted_by(|a, b| compare_names(&a.name, &b.name).is_ge())
    );
    for (entry, file) in cache.entries.iter().zip(&rebuilt.files) {
        assert!(file.content().is_some(), "{} is no file", file.path());
        let found = cache.subdirectory(entry);
        assert!(found.is_none() || entry.path.contains("glibc-hwcaps"));
    }
    let _ = staleness(&root, &rebuilt);
    if cache
        .entries
        .iter()
        .all(|entry| is_writable(&entry.name) && is_writable(&entry.path))
    {
        after_ldconfig(layers, cache, glibc);
    }
}

fn is_writable(text: &str) -> bool {
    text.len() < 4096 && !text.contains('\0')
}

/// Once `ldconfig` has run, it would add nothing and drop nothing.
fn after_ldconfig(layers: &[LayerFacts], cache: &Cache, glibc: GlibcVersion) {
    let bytes = ld_so_cache::bytes(cache);
    assert_eq!(Cache::parse(&bytes).as_ref(), Ok(cache));
    let written = LayerFacts {
        entries: vec![Entry {
            path: "etc/ld.so.cache".to_owned(),
            kind: EntryKind::File(Content::Bytes(bytes)),
            size: 1,
            mode: 0o644,
            owner: Default::default(),
        }],
    };
    let root = RootFilesystem::merge(layers.iter().chain([&written]));
    let rebuilt = rebuild(&root, Abi::X86_64, glibc);
    // The new file may replace a link or directory that counted.
    if rebuilt.cache == *cache {
        let result = staleness(&root, &rebuilt);
        assert_eq!(result.missing, [], "something is missing");
        assert_eq!(result.dropped, [], "something is not wanted any more");
    }
}
