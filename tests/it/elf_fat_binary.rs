//! The fat binaries of `testdata/fatbin`, each in the sections that contain them in real libraries.

use std::path::Path;

use imgcheck_base::limits::Limit;
use imgcheck_elf::facts::{ElfFacts, GpuCode};
use imgcheck_elf::{self as elf, Depth, ElfError, ReadAt, Retainer};

fn fixture(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fatbin");
    std::fs::read(directory.join(name).with_extension("fatbin")).unwrap()
}

/// Where the first section of [`elf_of`] starts, in the file and in memory.
const START: u64 = 64 + 56;

/// A shared object with one segment and one section of the given name that holds `content`.
fn elf_with(section: &str, content: &[u8]) -> Vec<u8> {
    elf_of(&[(section, content)])
}

/// A shared object with one segment, and sections of these names and contents one behind the other, at addresses that are their offsets.
fn elf_of(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = vec![0; START as usize];
    let mut headers: Vec<(u32, u32, u64, u64, u64)> = Vec::new();
    let mut names = String::from("\0");
    for (section, content) in sections {
        file.resize(file.len().next_multiple_of(8), 0);
        let length = content.len() as u64;
        headers.push((names.len() as u32, 1, 2, file.len() as u64, length));
        file.extend(*content);
        names += &format!("{section}\0");
    }
    let loaded = file.len() as u64;
    let kind = names.len() as u32;
    names += ".shstrtab\0";
    headers.push((kind, 3, 0, file.len() as u64, names.len() as u64));
    file.extend(names.bytes());
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len() as u64;
    file.extend([0; 64]);
    for (name, kind, flags, offset, size) in &headers {
        file.extend(name.to_le_bytes());
        file.extend(kind.to_le_bytes());
        for value in [*flags, *offset, *offset, *size, 0, 8, 0] {
            file.extend(value.to_le_bytes());
        }
    }
    let count = headers.len() as u8 + 1;
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"\x7fELF\x02\x01\x01");
    put(16, &[3, 0, 62, 0, 1]);
    put(32, &64_u64.to_le_bytes());
    put(40, &table.to_le_bytes());
    put(52, &[64, 0, 56, 0, 1, 0, 64, 0, count, 0, count - 1, 0]);
    put(64, &[1, 0, 0, 0, 4, 0, 0, 0]);
    put(64 + 32, &loaded.to_le_bytes());
    put(64 + 40, &loaded.to_le_bytes());
    file
}

fn read(file: &[u8], depth: Depth) -> ElfFacts {
    let recipes = imgcheck_model::knowledge::recipes().unwrap();
    let facts = elf::read(&file.to_vec(), &recipes, depth).unwrap();
    let mut retainer = Retainer::new(file.len() as u64, elf::retain::DEFAULT_LIMIT);
    file.chunks(97).for_each(|chunk| retainer.push(chunk));
    assert_eq!(
        elf::read(&retainer.finish(), &recipes, depth).unwrap(),
        facts
    );
    facts
}

fn gpu(file: &[u8], depth: Depth) -> Option<GpuCode> {
    read(file, depth).gpu
}

fn names(list: &[(String, u32)]) -> Vec<&str> {
    list.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn suffixes_and_compression_modes_are_read() {
    for name in [
        "75", "80", "90", "90a", "100", "100a", "100f", "103", "103a", "120", "120a", "120f",
    ] {
        let found = gpu(
            &elf_with(".nv_fatbin", &fixture(&format!("f_{name}"))),
            Depth::Default,
        )
        .unwrap();
        assert_eq!(names(&found.sass), [format!("sm_{name}")]);
        assert_eq!(names(&found.ptx), [format!("compute_{name}")]);
        let isa = (format!("compute_{name}"), "9.0".to_owned());
        assert_eq!(found.ptx_isa, [isa]);
        assert_eq!(
            (found.containers, found.entries, found.damaged),
            (1, 2, false)
        );
    }
    for mode in ["none", "default", "size", "speed", "balance"] {
        let found = gpu(
            &elf_with(".nv_fatbin", &fixture(&format!("m_{mode}"))),
            Depth::Default,
        )
        .unwrap();
        assert_eq!(
            (names(&found.sass), names(&found.ptx)),
            (vec!["sm_90a"], vec!["compute_90a"])
        );
    }
}

#[test]
fn concatenated_entries_are_taken_apart() {
    for name in ["c_size", "c_speed", "c_balance", "c_x"] {
        let found = gpu(&elf_with("__nv_relfatbin", &fixture(name)), Depth::Default).unwrap();
        assert_eq!(
            names(&found.sass),
            ["sm_80", "sm_90a", "sm_100f", "sm_120"],
            "{name}"
        );
        assert_eq!(names(&found.ptx), ["compute_120"]);
        assert_eq!((found.entries, found.damaged), (5, false));
    }
    let found = gpu(&elf_with(".nv_fatbin", &fixture("c3")), Depth::Default).unwrap();
    assert_eq!(
        names(&found.sass),
        ["sm_75", "sm_80", "sm_86", "sm_89", "sm_103f"]
    );
}

#[test]
fn coverage_is_counted_by_container_across_padding() {
    let mut content = Vec::new();
    for (name, padding) in [("f_80", 0), ("f_90", 8), ("f_80", 224), ("c_x", 0)] {
        content.extend(fixture(name));
        content.resize(content.len().next_multiple_of(8) + padding, 0);
    }
    let found = gpu(&elf_with(".nv_fatbin", &content), Depth::Default).unwrap();
    assert_eq!(found.containers, 4);
    assert_eq!(found.sass[0], ("sm_80".to_owned(), 3));
    assert_eq!(found.sass[1], ("sm_90".to_owned(), 1));
}

#[test]
fn outside_the_named_sections_only_deep_searches() {
    let mut content = b"\x50\xed\x55\xba is no container, and at an odd place: ".to_vec();
    content.resize(64, 1);
    content.extend(fixture("f_100f"));
    let file = elf_with(".data", &content);
    assert_eq!(gpu(&file, Depth::Default), None);
    let found = gpu(&file, Depth::Deep).unwrap();
    assert_eq!(
        (names(&found.sass), found.damaged),
        (vec!["sm_100f"], false)
    );
}

#[test]
fn damage_is_reported() {
    let whole = fixture("f_80");
    let cut = gpu(
        &elf_with(".nv_fatbin", &whole[..whole.len() - 8]),
        Depth::Default,
    )
    .unwrap();
    assert!(cut.damaged);
    let mut wrong = whole.clone();
    wrong[16 + 4] = 0; // an entry header of no bytes
    let found = gpu(&elf_with(".nv_fatbin", &wrong), Depth::Default).unwrap();
    assert!(found.damaged);
    assert_eq!(gpu(&elf_with(".nv_fatbin", b""), Depth::Default), None);
}

#[test]
fn millions_of_entries_end() {
    // 48 bytes each, without payload: as many as fit into 96 MiB.
    let mut entry = [0; 48];
    entry[..8].copy_from_slice(&[2, 0, 1, 1, 48, 0, 0, 0]);
    let entries = entry.repeat(2 << 20);
    let mut content = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    content.extend((entries.len() as u64).to_le_bytes());
    content.extend(entries);
    let file = elf_with(".nv_fatbin", &content);
    assert_eq!(ReadAt::size(&file), file.len() as u64);
    let recipes = imgcheck_model::knowledge::recipes().unwrap();
    match elf::read(&file, &recipes, Depth::Default) {
        Err(ElfError::Limit(exceeded)) => assert_eq!(exceeded.limit, Limit::GpuContainers),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_sample_is_taken_where_wrappers_say_where_the_containers_are() {
    let mut containers = Vec::new();
    let mut wrappers = Vec::new();
    for number in 0..41 {
        let container = fixture(if number == 20 { "f_90" } else { "f_80" });
        wrappers.extend(0x4662_43b1_u32.to_le_bytes());
        wrappers.extend(1_u32.to_le_bytes());
        wrappers.extend((START + containers.len() as u64).to_le_bytes());
        wrappers.extend(0_u64.to_le_bytes());
        containers.extend(container);
        containers.resize(containers.len().next_multiple_of(8), 0);
    }
    let sample = |wrappers: &[u8]| {
        let file = elf_of(&[(".nv_fatbin", &containers), (".nvFatBinSegment", wrappers)]);
        gpu(&file, Depth::Sampled).unwrap()
    };
    let found = sample(&wrappers);
    assert!(found.sampled && !found.damaged);
    assert_eq!((found.containers, found.entries), (6, 12));
    // The container in the middle is the first that is looked at.
    assert_eq!(names(&found.sass), ["sm_80", "sm_90"]);
    // Too few wrappers, or none that points anywhere: everything is read.
    let nowhere = vec![0xff; wrappers.len()];
    for few in [&wrappers[..24 * 5], &[], &nowhere] {
        let found = sample(few);
        assert!(!found.sampled && !found.damaged);
        assert_eq!((found.containers, found.entries), (41, 82));
    }
    let all = elf_with(".nv_fatbin", &containers);
    assert_eq!(gpu(&all, Depth::Sampled), gpu(&all, Depth::Default));
}
