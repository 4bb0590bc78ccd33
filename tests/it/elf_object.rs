//! Reading agrees with the `object` crate, and never panics.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use imgcheck_elf::facts::Bound;
use imgcheck_elf::{self as elf, Depth, ElfFacts, Recipes, Retainer};
use object::{Object, ObjectSymbol, RelocationFlags, RelocationTarget};
use proptest::prelude::*;

/// Shared objects of this machine, smallest first; they differ from machine to machine, and so they should.
fn libraries() -> Vec<PathBuf> {
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for directory in [
        "/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/lib",
    ] {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        for entry in entries {
            let size = entry.metadata().map_or(0, |it| it.len());
            let name = entry.file_name();
            let mut magic = [0; 4];
            let read =
                std::fs::File::open(entry.path()).and_then(|mut it| it.read_exact(&mut magic));
            let library = name.to_string_lossy().contains(".so") && magic == *b"\x7fELF";
            if library
                && read.is_ok()
                && entry.file_type().is_ok_and(|it| it.is_file())
                && size < 4 << 20
            {
                found.push((size, entry.path()));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, path)| path).take(80).collect()
}

fn recipes() -> &'static Recipes {
    static RECIPES: OnceLock<Recipes> = OnceLock::new();
    RECIPES.get_or_init(|| imgcheck_model::knowledge::recipes().unwrap())
}

/// Each import is bound as the relocations say that refer to it.
fn compare_bounds(oracle: &object::File, facts: &ElfFacts, path: &Path) {
    let mut expected: BTreeMap<usize, Bound> = BTreeMap::new();
    for (_, relocation) in oracle.dynamic_relocations().into_iter().flatten() {
        let (RelocationTarget::Symbol(symbol), RelocationFlags::Elf { r_type }) =
            (relocation.target(), relocation.flags())
        else {
            continue;
        };
        let jump_slot = if facts.machine == 183 { 1026 } else { 7 };
        let bound = if r_type.0 == jump_slot {
            Bound::Lazy
        } else {
            Bound::Now
        };
        let before = expected.entry(symbol.0).or_insert(bound);
        *before = bound.max(*before);
    }
    let undefined = oracle.dynamic_symbols();
    let undefined = undefined.filter(|it| it.is_undefined() && !it.is_local() && it.index().0 > 0);
    // The file's own order is that of the lookups; here the names decide.
    let mut expected: Vec<(String, Bound)> = undefined
        .map(|it| {
            let bound = expected.get(&it.index().0).copied();
            let name = it.name_bytes().unwrap_or_default();
            let name = String::from_utf8_lossy(name).into_owned();
            (name, bound.unwrap_or(Bound::Never))
        })
        .collect();
    let imports = facts.imports.iter();
    let mut read: Vec<(String, Bound)> =
        imports.map(|it| (it.name.into_owned(), it.bound)).collect();
    expected.sort();
    read.sort();
    assert_eq!(read, expected, "{}", path.display());
}

fn compare(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let Ok(oracle) = object::File::parse(&*bytes) else {
        return;
    };
    let facts = elf::read(&bytes, recipes(), Depth::Deep).unwrap();
    let build_id = oracle.build_id().unwrap().map(|id| {
        id.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    });
    assert_eq!(facts.build_id, build_id, "{}", path.display());
    let symbols: Vec<_> = oracle.dynamic_symbols().collect();
    let imports: BTreeSet<_> = symbols
        .iter()
        .filter(|symbol| symbol.is_undefined() && !symbol.is_local())
        .filter_map(|symbol| symbol.name().ok().map(Cow::Borrowed))
        .collect();
    let read: BTreeSet<_> = facts.imports.iter().map(|it| it.name).collect();
    assert_eq!(read, imports, "{}", path.display());
    compare_bounds(&oracle, &facts, path);
    let missing: Vec<&str> = symbols
        .iter()
        .filter(|symbol| symbol.is_definition() && symbol.is_global() && symbol.address() != 0)
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| !facts.exports.defines(name, None))
        .collect();
    // Symbols that only an explicit version finds are exported as `name@version` alone.
    let hidden: Vec<&str> = missing
        .into_iter()
        .filter(|name| {
            !facts
                .version_definitions
                .iter()
                .any(|version| facts.exports.defines(name, Some(version)))
        })
        .collect();
    assert!(hidden.is_empty(), "{}: {hidden:?}", path.display());
}

#[test]
fn symbols_and_build_ids_are_those_of_the_oracle() {
    let libraries = libraries();
    assert!(!libraries.is_empty(), "no shared objects on this machine");
    libraries.iter().for_each(|path| compare(path));
}

#[test]
fn without_section_headers_the_facts_are_the_same() {
    for path in libraries() {
        let mut bytes = std::fs::read(&path).unwrap();
        if !bytes.starts_with(b"\x7fELF\x02\x01") {
            continue;
        }
        let with = elf::read(&bytes, recipes(), Depth::Default).unwrap();
        bytes[40..48].fill(0); // e_shoff
        bytes[60..64].fill(0); // e_shnum, e_shstrndx
        let without = elf::read(&bytes, recipes(), Depth::Default).unwrap();
        assert_eq!(with, without, "{}", path.display());
    }
}

#[test]
fn other_classes_and_byte_orders_are_named() {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x02\x01");
    bytes[16..20].copy_from_slice(&[0, 3, 0, 22]); // a shared object for s390x
    let facts = elf::read(&bytes, recipes(), Depth::Default).unwrap();
    assert_eq!((facts.class, facts.machine, facts.object_type), (64, 22, 3));
}

#[test]
fn broken_files_say_why() {
    let cases: [(&[u8], &str); 4] = [
        (b"", "no ELF magic"),
        (b"#!/bin/sh\n", "no ELF magic"),
        (b"\x7fELF\x02\x01\x01", "ends within the ELF header"),
        (
            b"\x7fELF\x07\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\0\0\0\0",
            "unknown ELF class 7",
        ),
    ];
    for (bytes, problem) in cases {
        let error = elf::read(&bytes.to_vec(), recipes(), Depth::Default).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }
    let library = std::fs::read(&libraries()[0]).unwrap();
    let half = library[..library.len() / 2].to_vec();
    let error = elf::read(&half, recipes(), Depth::Default).unwrap_err();
    assert!(error.to_string().contains("truncated"), "{error}");
}

/// A small real library and where to damage it: mostly in the headers and tables at its start and end.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let files: Vec<Vec<u8>> = libraries()
        .iter()
        .take(6)
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    let place = prop_oneof![
        3 => 0..512_usize,
        3 => 0..0x4000_usize,
        2 => (0..0x2000_usize).prop_map(|back| usize::MAX - back),
        1 => any::<usize>(),
    ];
    let value = prop_oneof![any::<u8>(), Just(0), Just(0xff), Just(0x7f), Just(1)];
    let length = prop_oneof![9 => Just(1.0), 1 => 0.0..1.0_f64];
    (
        prop::sample::select(files),
        prop::collection::vec((place, value), 1..24),
        length,
    )
        .prop_map(|(mut file, changes, length)| {
            for (place, value) in changes {
                let length = file.len();
                let place = if place > length {
                    length - 1 - (usize::MAX - place) % length
                } else {
                    place
                };
                if let Some(byte) = file.get_mut(place) {
                    *byte = value;
                }
            }
            file.truncate((file.len() as f64 * length) as usize);
            file
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(file in damaged(), chunk in 1..70_000_usize) {
        for depth in [Depth::Default, Depth::Deep] {
            let direct = elf::read(&file, recipes(), depth);
            let mut retainer = Retainer::new(file.len() as u64, elf::retain::DEFAULT_LIMIT);
            file.chunks(chunk).for_each(|bytes| retainer.push(bytes));
            let kept = elf::read(&retainer.finish(), recipes(), depth);
            match (direct, kept) {
                (Ok(direct), Ok(kept)) => prop_assert_eq!(direct, kept),
                (Err(direct), Err(kept)) if !matches!(kept, elf::ElfError::Missing { .. }) =>
                    prop_assert_eq!(direct.to_string(), kept.to_string()),
                (_, Err(elf::ElfError::Missing { .. })) => {}
                (direct, kept) => prop_assert!(false, "{direct:?} but {kept:?}"),
            }
        }
    }
}
