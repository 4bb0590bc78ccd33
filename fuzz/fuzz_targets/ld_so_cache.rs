//! `ld.so.cache`, of any format: what is read is bounded, is found again by its name, and survives being written.

use std::cmp::Ordering;

use imgcheck_fuzz::ld_so_cache;
use imgcheck_loader::abi::Abi;
use imgcheck_loader::cache::{Cache, Format, Hwcap, compare_names};
use imgcheck_loader::hwcaps::{CpuLevel, GlibcVersion, Hwcaps};

/// Libraries that are looked up. Each look-up may walk over all that have the same name.
const LOOKED_UP: usize = 64;
const ABIS: [Abi; 4] = [Abi::X86_64, Abi::X32, Abi::I386, Abi::Aarch64];

pub fn fuzz(bytes: &[u8]) {
    let Ok(cache) = Cache::parse(bytes) else {
        return;
    };
    let strings = cache
        .entries
        .iter()
        .map(|entry| entry.name.len() + entry.path.len());
    // Bytes that are not UTF-8 are written as four characters each.
    assert!(strings.sum::<usize>() <= 4 * Cache::MAX_STRINGS);
    lookups(&cache);
    order(&cache);
    written(&cache);
}

/// What answers a request has its name, and is for the processor; and something answers where the order is right.
fn lookups(cache: &Cache) {
    let in_order = cache
        .entries
        .is_sorted_by(|a, b| compare_names(&a.name, &b.name).is_ge());
    for abi in ABIS {
        let hwcaps = Hwcaps::new(abi, GlibcVersion::new(2, 36), CpuLevel::default());
        for entry in cache.entries.iter().take(LOOKED_UP) {
            let found = cache.lookup(&entry.name, &hwcaps);
            if let Some(found) = found {
                assert_eq!(compare_names(&found.name, &entry.name), Ordering::Equal);
                assert!(abi.accepts(found.flags));
            }
            if in_order && abi.accepts(entry.flags) && entry.hwcap == Hwcap::Bits(0) {
                assert!(found.is_some(), "{} is not found", entry.name);
            }
        }
    }
}

/// The order of names is one.
fn order(cache: &Cache) {
    let names: Vec<&str> = cache
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    for three in names.windows(3) {
        let [a, b, c] = [three[0], three[1], three[2]];
        assert_eq!(compare_names(a, a), Ordering::Equal);
        assert_eq!(compare_names(a, b), compare_names(b, a).reverse());
        if compare_names(a, b).is_le() && compare_names(b, c).is_le() {
            assert!(compare_names(a, c).is_le(), "{a} <= {b} <= {c}");
        }
    }
}

/// As `ldconfig` writes it, it is read the same, but for what that `ldconfig` does not write.
fn written(cache: &Cache) {
    let wanted = Cache {
        format: Format::New,
        generator: None,
        ..cache.clone()
    };
    let strings = wanted
        .entries
        .iter()
        .flat_map(|entry| [&entry.name, &entry.path]);
    // The writer takes text: an escaped byte would be escaped again. A string of 4,096 bytes is too long to be read.
    if strings
        .chain(&wanted.subdirectories)
        .all(|text| text.len() < 4096 && !text.contains("\\x"))
    {
        assert_eq!(Cache::parse(&ld_so_cache::bytes(&wanted)), Ok(wanted));
    }
}
