//! Files that are streamed once, and once more for what was missed.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::object::X86_64;
use crate::testing::Sample;
use crate::{Depth, ElfError, Recipes, read};

fn stream(mut retainer: Retainer, file: &[u8], chunk: usize) -> SparseFile {
    file.chunks(chunk).for_each(|bytes| retainer.push(bytes));
    retainer.finish()
}

#[test]
fn other_files_are_kept_unchanged() {
    let file: Vec<u8> = (0..1_000_000_u32).map(|at| at as u8).collect();
    for chunk in [1000, 65_536, 1_000_000] {
        let retainer = Retainer::new(file.len() as u64, DEFAULT_LIMIT);
        let kept = stream(retainer, &file, chunk);
        let mut copy = vec![0; file.len()];
        assert_eq!(kept.read_at(0, &mut copy).unwrap(), file.len());
        assert_eq!(copy, file);
    }
}

#[test]
fn at_most_the_limit_is_kept() {
    let file = vec![1; 64 << 20];
    let retainer = Retainer::new(file.len() as u64, 40 << 20);
    let kept = stream(retainer, &file, 1 << 20);
    assert!(kept.held() <= 40 << 20, "{}", kept.held());
    assert!(kept.held() >= 20 << 20, "{}", kept.held());
}

#[test]
fn further_passes_fetch_missing_ranges() {
    let getter = b"\xb8\x7a\x63\x01\x00\xc3";
    let sample = Sample::new(X86_64)
        .code(&vec![0x90; 48 << 20])
        .function("f", getter)
        .build();
    let recipes = "libraries: [{library: x, source: a test, files: [{exports: [f]}], \
                   readings: [{fact: version, from: cudnn-records}]}]";
    let recipes = Recipes::parse("test", recipes).unwrap();
    let whole = read(&sample, &recipes, Depth::Default).unwrap();
    let size = sample.len() as u64;
    let mut ranges = Vec::new();
    let mut kept = stream(Retainer::new(size, 24 << 20), &sample, 1 << 16);
    let mut passes = 1;
    let facts = loop {
        match read(&kept, &recipes, Depth::Default) {
            Ok(facts) => break facts,
            Err(ElfError::Missing { offset, length }) => {
                passes += 1;
                assert!(passes < 8, "{offset}+{length} again");
                ranges.push(offset..offset + length);
                let again = Retainer::new(size, 24 << 20).keeping(ranges.clone());
                kept = stream(again, &sample, 1 << 16);
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(facts, whole);
    assert!(passes > 1);
}

/// BOLT writes new program headers behind what was there: published for PyTorch 2.15 on AArch64.
#[test]
fn program_headers_at_the_end_take_one_more_pass() {
    let mut file = Sample::new(X86_64)
        .code(&vec![0x90; 48 << 20])
        .function("f", b"\xb8\x7a\x63\x01\x00\xc3")
        .build();
    let (offset, count) = (field(&file, 32, 8), field(&file, 56, 2));
    let table = file[offset..offset + count * 56].to_vec();
    file[offset..offset + count * 56].fill(0);
    let moved = file.len().next_multiple_of(8);
    file.resize(moved, 0);
    file.extend(table);
    file[32..40].copy_from_slice(&(moved as u64).to_le_bytes());
    let recipes = "libraries: [{library: x, source: a test, files: [{exports: [f]}], \
                   readings: [{fact: version, decode: thousands-before-9, from: {returned: f}}]}]";
    let recipes = Recipes::parse("test", recipes).unwrap();
    let whole = read(&file, &recipes, Depth::Default).unwrap();
    let size = file.len() as u64;
    let kept = stream(Retainer::new(size, 24 << 20), &file, 1 << 16);
    let Err(ElfError::Missing { offset, length }) = read(&kept, &recipes, Depth::Default) else {
        panic!("all was kept");
    };
    let missing = Vec::from_iter(std::iter::once(offset..offset + length));
    let ranges = Retainer::missed(&kept, missing);
    let again = Retainer::new(size, 24 << 20).keeping(ranges);
    let again = stream(again, &file, 1 << 16);
    let facts = read(&again, &recipes, Depth::Default).unwrap();
    assert_eq!(facts, whole);
}

#[test]
fn a_range_inside_a_payload_is_kept_if_another_pass_wants_it() {
    const PAYLOAD: u64 = 16 << 20;
    let mut container = [&MAGIC[..], &[1, 0, 16, 0]].concat();
    container.extend((ENTRY_HEADER as u64 + PAYLOAD).to_le_bytes());
    container.extend([2, 0, 1, 1, ENTRY_HEADER as u8, 0, 0, 0]);
    container.extend(PAYLOAD.to_le_bytes());
    container.resize(CONTAINER_HEADER + ENTRY_HEADER, 0);
    let headers = container.len();
    container.extend((0..PAYLOAD).map(|at| at as u8));
    let file = Sample::new(X86_64).data(&container).build();
    let size = file.len() as u64;
    let start = memmem::find(&file, &container[..headers]).unwrap() + headers;
    let wanted = start as u64 + (5 << 20)..start as u64 + (6 << 20);
    let limit = 8 << 20;
    let once = stream(Retainer::new(size, limit), &file, 70_000);
    for chunk in [70_000, 1 << 20, 64 << 20] {
        let again = Retainer::new(size, limit).keeping(vec![wanted.clone()]);
        let again = stream(again, &file, chunk);
        assert_eq!(again.held(), once.held() + (1 << 20));
        let mut bytes = vec![0; 1 << 20];
        assert_eq!(again.read_at(wanted.start, &mut bytes).unwrap(), 1 << 20);
        assert_eq!(bytes, file[wanted.start as usize..wanted.end as usize]);
    }
}

fn field(file: &[u8], at: usize, length: usize) -> usize {
    let bytes = file[at..at + length].iter().rev();
    bytes.fold(0, |number, byte| number << 8 | usize::from(*byte))
}

#[test]
fn the_table_of_section_names_after_the_segments_is_kept() {
    let mut file = Sample::new(X86_64).build();
    let loaded = file.len();
    file.resize(loaded + (3 << 20), 7);
    let names = b"\0.text\0.shstrtab\0.symtab\0";
    file[loaded + (1 << 20)..][..names.len()].copy_from_slice(names);
    let size = file.len() as u64;
    for chunk in [4096, 100_000, 1 << 20] {
        let retainer = Retainer::new(size, DEFAULT_LIMIT);
        let kept = stream(retainer, &file, chunk);
        let mut found = vec![0; names.len()];
        let place = (loaded + (1 << 20)) as u64;
        assert_eq!(kept.read_at(place, &mut found).unwrap(), names.len());
        assert_eq!(found, names);
        assert!(kept.held() < 2 << 20, "{}", kept.held());
    }
}
