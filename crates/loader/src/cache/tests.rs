#![allow(clippy::unwrap_used)]

use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::abi::Abi;
use crate::hwcaps::Hwcaps;
use crate::hwcaps::{CpuLevel, GlibcVersion};

const SUBDIRECTORIES: [&str; 4] = ["valgrind", "x86-64-v2", "x86-64-v3", "x86-64-v4"];

/// An entry as it is written: name, path, flags, and the capabilities in their encoded form.
type Written = (String, String, u32, u64);

fn plain(name: &str, path: &str) -> Written {
    (name.to_owned(), path.to_owned(), 0x303, 0)
}

/// The new format, at `base` bytes from the start of the file.
fn new_format(entries: &[Written], base: usize) -> Vec<u8> {
    let mut strings = Vec::new();
    let mut table = Vec::new();
    let start = 48 + 24 * entries.len();
    let put = |text: &str, strings: &mut Vec<u8>| {
        let offset = (start + strings.len()) as u32;
        strings.extend_from_slice(text.as_bytes());
        strings.push(0);
        offset
    };
    for (name, path, flags, hwcap) in entries {
        let (name, path) = (put(name, &mut strings), put(path, &mut strings));
        table.extend([*flags, name, path, 0].map(u32::to_le_bytes).concat());
        table.extend(hwcap.to_le_bytes());
    }
    let names = SUBDIRECTORIES.map(|name| put(name, &mut strings) + base as u32);
    strings.resize(strings.len().next_multiple_of(4), 0);
    let extension = (base + start + strings.len()) as u32;
    let generator = b"ldconfig of a test";
    let parts = [0xeaa4_2174, 2].into_iter().chain([
        0,
        0,
        extension + 40 + 16,
        generator.len() as u32,
        1,
        0,
        extension + 40,
        16,
    ]);
    let mut file = b"glibc-ld.so.cache1.1".to_vec();
    let header = [
        entries.len() as u32,
        strings.len() as u32,
        2,
        extension,
        0,
        0,
        0,
    ];
    file.extend(header.map(u32::to_le_bytes).concat());
    file.extend(table);
    file.extend(strings);
    file.extend(parts.flat_map(u32::to_le_bytes));
    file.extend(names.map(u32::to_le_bytes).concat());
    file.extend(generator);
    file
}

/// The old format, with room before the strings for what comes between.
fn old_format(entries: &[Written], between: &[u8]) -> Vec<u8> {
    let mut file = b"ld.so-1.7.0\0".to_vec();
    file.extend((entries.len() as u32).to_le_bytes());
    let mut strings = between.to_vec();
    for (name, path, flags, _) in entries {
        let offset = strings.len() as u32;
        strings.extend(format!("{name}\0{path}\0").into_bytes());
        let fields = [*flags, offset, offset + name.len() as u32 + 1];
        file.extend(fields.map(u32::to_le_bytes).concat());
    }
    file.extend(strings);
    file
}

fn on(level: CpuLevel) -> Hwcaps {
    Hwcaps::new(Abi::X86_64, GlibcVersion::new(2, 36), level)
}

#[test]
fn numbers_in_names_are_compared_as_numbers() {
    for (a, b, order) in [
        ("libfoo.so.9", "libfoo.so.10", Ordering::Less),
        ("libfoo.so.1", "libfoo.so.01", Ordering::Equal),
        ("libfoo.so.1", "libfoo.so", Ordering::Greater),
        ("libfoo1.so", "libfooa.so", Ordering::Greater),
        ("libA.so", "liba.so", Ordering::Less),
        ("", "", Ordering::Equal),
        ("lib1", "lib1a", Ordering::Less),
    ] {
        assert_eq!(compare_names(a, b), order, "{a} {b}");
        assert_eq!(compare_names(b, a), order.reverse(), "{b} {a}");
    }
}

#[test]
fn both_formats_give_the_same_entries() {
    let entries = [
        plain("libz.so.1", "/usr/lib/libz.so.1"),
        plain("libc.so.6", "/lib/libc.so.6"),
    ];
    let new = Cache::parse(&new_format(&entries, 0)).unwrap();
    assert_eq!(new.format, Format::New);
    assert_eq!(new.generator.as_deref(), Some("ldconfig of a test"));
    assert_eq!(new.subdirectories, SUBDIRECTORIES);
    let old = Cache::parse(&old_format(&entries, &[])).unwrap();
    assert_eq!(old.format, Format::Old);
    assert_eq!(old.entries, new.entries);
    // Two old entries end at a multiple of eight; the new part is recognized by a different path.
    let newer = [plain("libz.so.1", "/new/libz.so.1")];
    let both = Cache::parse(&old_format(&entries, &new_format(&newer, 40))).unwrap();
    assert_eq!(both.format, Format::Compatible);
    assert_eq!(both.entries.len(), 1);
    assert_eq!(both.entries[0].path, "/new/libz.so.1");
    assert_eq!(both.subdirectories, SUBDIRECTORIES);
    for cache in [new, old, both] {
        assert!(cache.lookup("libz.so.1", &on(CpuLevel::V1)).is_some());
        assert!(cache.lookup("libz.so.2", &on(CpuLevel::V1)).is_none());
    }
}

#[test]
fn other_architectures_are_skipped_and_the_best_subdirectory_wins() {
    let named = |index: u64| 1 << 62 | index;
    let of = |path: &str, flags, hwcap| ("libm.so.6".to_owned(), path.to_owned(), flags, hwcap);
    let file = new_format(
        &[
            of("/arm", 0xa03, 0),
            of("/valgrind", 0x303, named(0)),
            of("/v2", 0x303, named(1)),
            of("/v3", 0x303, named(2)),
            of("/v4 that asks for more", 0x303, named(3) | 4 << 32),
            of("/haswell", 0x303, 1 << 50),
            of("/plain", 0x303, 0),
            of("/x86", 3, 0),
        ],
        0,
    );
    let cache = Cache::parse(&file).unwrap();
    let path = |hwcaps: &Hwcaps| cache.lookup("libm.so.6", hwcaps).unwrap().path.clone();
    assert_eq!(path(&on(CpuLevel::V4)), "/v3");
    assert_eq!(path(&on(CpuLevel::V3)), "/v3");
    assert_eq!(path(&on(CpuLevel::V2)), "/v2");
    assert_eq!(path(&on(CpuLevel::V1)), "/plain");
    let with = |abi, minor| Hwcaps::new(abi, GlibcVersion::new(2, minor), CpuLevel::V3);
    assert_eq!(path(&with(Abi::X86_64, 31)), "/haswell");
    assert_eq!(path(&with(Abi::Aarch64, 36)), "/arm");
    assert_eq!(path(&with(Abi::I386, 36)), "/x86");
    assert_eq!(cache.lookup("libm.so.6", &with(Abi::X32, 36)), None);
}

#[test]
fn each_kind_of_damage_has_its_error() {
    let good = new_format(&[plain("libz.so.1", "/lib/libz.so.1")], 0);
    let with = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        Cache::parse(&file).unwrap_err()
    };
    let size = good.len();
    assert_eq!(Cache::parse(b""), Err(CacheError::Magic));
    assert_eq!(Cache::parse(b"\x7fELF"), Err(CacheError::Magic));
    let entries = u32::MAX;
    assert_eq!(with(20, &[0xff; 4]), CacheError::CutOff { entries, size });
    assert_eq!(
        Cache::parse(&good[..47]),
        Err(CacheError::CutOff {
            entries: 1,
            size: 47
        })
    );
    assert_eq!(with(28, &[3]), CacheError::ByteOrder(3));
    assert_eq!(with(28, &[1]), CacheError::ByteOrder(1));
    let offset = u32::MAX;
    assert_eq!(
        with(52, &[0xff; 4]),
        CacheError::String { entry: 0, offset }
    );
    assert!(matches!(with(32, &[2]), CacheError::Extension(_)));
    let magic = good.len() - 18 - 16 - 40;
    assert!(matches!(with(magic, &[0]), CacheError::Extension(_)));
    assert!(matches!(
        with(magic + 4, &[0xff; 4]),
        CacheError::Extension(_)
    ));
    let unended = Cache::parse(&old_format(&[plain("a", "b")], &[])[..31]);
    assert!(matches!(unended, Err(CacheError::String { entry: 0, .. })));
    let long = plain("a", &"x".repeat(5000));
    assert_eq!(
        Cache::parse(&new_format(&[long], 0)),
        Err(CacheError::LongString(0))
    );
}

#[test]
fn strings_that_overlap_do_not_take_more_than_the_limit() {
    let mut file = b"ld.so-1.7.0\0".to_vec();
    let count = 20_000_u32;
    file.extend(count.to_le_bytes());
    for _ in 0..count {
        file.extend([3, 0, 1_u32].map(u32::to_le_bytes).concat());
    }
    file.extend([b'x'; 4000]);
    file.push(0);
    assert_eq!(
        Cache::parse(&file),
        Err(CacheError::Strings(Cache::MAX_STRINGS))
    );
}

#[test]
fn names_that_are_not_utf8_stay_distinct() {
    let mut file = new_format(&[plain("libz.so.1", "/lib/libz.so.1")], 0);
    file[48 + 24] = 0xff;
    assert_eq!(
        Cache::parse(&file).unwrap().entries[0].name,
        "\\xffibz.so.1"
    );
}

/// The entry that is to win, said another way: of all that fit, the best subdirectory, else the first for every processor.
fn naive<'c>(cache: &'c Cache, name: &str, hwcaps: &Hwcaps) -> Option<&'c Entry> {
    let fitting: Vec<&Entry> = cache
        .entries
        .iter()
        .filter(|entry| compare_names(&entry.name, name).is_eq())
        .filter(|entry| hwcaps.abi().accepts(entry.flags))
        .collect();
    let in_subdirectory = hwcaps.active().iter().find_map(|wanted| {
        fitting.iter().find(|entry| {
            let level = match entry.hwcap {
                Hwcap::Subdirectory { isa_level, .. } => isa_level,
                Hwcap::Bits(_) => return false,
            };
            cache.subdirectory(entry) == Some(*wanted) && hwcaps.accepts_isa_level(level)
        })
    });
    let plain = || {
        fitting
            .iter()
            .find(|entry| matches!(entry.hwcap, Hwcap::Bits(bits) if hwcaps.accepts_bits(bits)))
    };
    in_subdirectory.or_else(plain).copied()
}

fn entry() -> impl Strategy<Value = Written> {
    let name = prop::sample::select(vec![
        "liba.so.1",
        "liba.so.01",
        "liba.so.2",
        "liba.so.10",
        "libb.so",
        "ld-linux.so.2",
    ]);
    let bits = prop::sample::select(vec![0, 0, 1 << 50, 1 << 1, 1 << 2, 1 << 63, 1 << 51]);
    let named = (0..5_u64, 0..5_u64).prop_map(|(index, level)| 1 << 62 | level << 32 | index);
    let flags = prop::sample::select(vec![0x303, 0x303, 3, 1, 0xa03]);
    (name, 0..100_u32, flags, prop_oneof![bits, named])
        .prop_map(|(name, path, flags, hwcap)| (name.to_owned(), path.to_string(), flags, hwcap))
}

/// Sorts as ldconfig does, as far as it decides.
fn sort(entries: &mut [Written]) {
    entries.sort_by(|a, b| {
        let named = |entry: &Written| entry.3 >> 62 == 1;
        compare_names(&b.0, &a.0)
            .then(b.2.cmp(&a.2))
            .then(named(b).cmp(&named(a)))
    });
}

proptest! {
    #[test]
    fn a_lookup_equals_a_linear_search(
        mut entries in prop::collection::vec(entry(), 0..24),
        level in prop::sample::select(vec![CpuLevel::V1, CpuLevel::V2, CpuLevel::V3, CpuLevel::V4]),
        minor in prop::sample::select(vec![31, 33, 36, 41]),
        abi in prop::sample::select(vec![Abi::X86_64, Abi::I386, Abi::Aarch64]),
    ) {
        sort(&mut entries);
        let cache = Cache::parse(&new_format(&entries, 0)).unwrap();
        let hwcaps = Hwcaps::new(abi, GlibcVersion::new(2, minor), level);
        for name in ["liba.so.1", "liba.so.2", "liba.so.10", "libb.so", "ld-linux.so.2", "libz.so"] {
            prop_assert_eq!(cache.lookup(name, &hwcaps), naive(&cache, name, &hwcaps));
        }
    }

    #[test]
    fn no_bytes_panic(
        head in 0..3_usize,
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        small in prop::collection::vec(0..48_u8, 0..200),
    ) {
        let magic: &[u8] = [b"" as &[u8], b"ld.so-1.7.0\0", b"glibc-ld.so.cache1.1"][head];
        for tail in [bytes, small] {
            if let Ok(cache) = Cache::parse(&[magic, &tail].concat()) {
                cache.lookup("libz.so.1", &on(CpuLevel::V3));
            }
        }
    }

    #[test]
    fn no_damage_panics(at in 0..400_usize, value in any::<u32>(), cut in 0..400_usize) {
        let entries = [plain("libz.so.1", "/lib/libz.so.1"), plain("libc.so.6", "/lib/libc.so.6")];
        for mut file in [new_format(&entries, 0), old_format(&entries, &new_format(&entries, 40))] {
            let at = at % (file.len() - 4);
            file[at..at + 4].copy_from_slice(&value.to_le_bytes());
            file.truncate(file.len() - cut % file.len());
            if let Ok(cache) = Cache::parse(&file) {
                for name in ["libz.so.1", "libc.so.6", ""] {
                    cache.lookup(name, &on(CpuLevel::V3));
                }
            }
        }
    }

    #[test]
    fn names_are_totally_ordered(names in prop::collection::vec("[a-b01\u{e9}.]{0,6}", 3)) {
        let order = |a: usize, b: usize| compare_names(&names[a], &names[b]);
        prop_assert_eq!(order(0, 1), order(1, 0).reverse());
        if order(0, 1).is_le() && order(1, 2).is_le() {
            prop_assert!(order(0, 2).is_le());
        }
    }
}
