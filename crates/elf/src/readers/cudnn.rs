//! The versions in the sublibraries of cuDNN. That of the dispatcher, `libcudnn.so`, is read by `cudnn_dispatcher`.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;

use super::values::{Values, immediate, only};
use crate::Depth;
use crate::candidate::Candidate;
use crate::error::ElfError;
use crate::number_format::NumberFormat;
use crate::object::X86_64;
use crate::pattern::bytes_pattern;

const FORMAT: NumberFormat = NumberFormat::ThousandsBefore9;
const PACKED: NumberFormat = NumberFormat::Bytes;

/// Exported data objects of four bytes that hold a version.
pub(super) static OBJECT: LazyLock<Regex> = bytes_pattern!(r"^cudnn_\w+_version$");

/// The name of a function that checks the version, which it has as a string.
static CHECK: LazyLock<Regex> = bytes_pattern!(r"cudnn\w{1,40}VersionCheck");
/// The version starts at a multiple of four after the string, at most this many bytes later.
const CHECK_REACH: usize = 8;
const CHECK_OVERLAP: usize = 256;

/// CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH
const MISMATCH: u32 = 1002;
/// After mov eax|ebx,[`MISMATCH`]: cmp edi,imm32 or cmp dword ptr [rax],imm32
static AFTER: LazyLock<Regex> = bytes_pattern!(r"\A.{0,16}?(?:\x81\xff(....)|\x81\x38(....))");
/// Before it: cmp edi,imm32
static BEFORE: LazyLock<Regex> = bytes_pattern!(r"\x81\xff(....)\z");
/// Longer than the comparison with its status, in bytes.
const COMPARISON: usize = 32;
/// The exports near which the comparison is, and how near, in bytes.
pub(super) const NEAR: [&str; 6] = [
    "cudnnOpsVersionCheck",
    "cudnnCnnVersionCheck",
    "cudnnAdvVersionCheck",
    "dummyBackendEnginesPreCompiledSymbol",
    "dummyBackendEnginesRuntimeCompiledSymbol",
    "dummyHeuristicSymbol",
];
const NEIGHBORHOOD: u64 = 16 << 10;

/// Records of an engine hold `id << 32 | version` as the immediate of one instruction: the versions that count, the largest
/// patch number among them, and an upper bound of ids.
const RECORD_VERSIONS: std::ops::RangeInclusive<u32> = 90_000..=99_999;
const MAX_RECORD_PATCH: u32 = 9;
const RECORD_IDS: u32 = 4096;
/// movabs r64,imm64: a REX prefix, the opcode with the register, eight bytes.
const RECORD: usize = 10;

/// The versions in exported data objects.
pub(super) fn objects(candidate: &Candidate) -> Result<Values, ElfError> {
    let mut values = Vec::new();
    for export in candidate.exports {
        if !export.object || export.size != 4 || !OBJECT.is_match(export.name.as_bytes()) {
            continue;
        }
        let bytes = candidate.object.at_address(export.address, 4)?;
        let number = bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        if let Some(version) = number.and_then(|number| PACKED.decode(number)) {
            values.push((version, export.name.clone()));
        }
    }
    Ok(values)
}

/// The versions that the compiler placed directly after the name of a function that checks them.
pub(super) fn checks(candidate: &Candidate) -> Result<Values, ElfError> {
    let mut versions: BTreeMap<String, String> = BTreeMap::new();
    for range in candidate.object.constants() {
        let search = |offset: u64, bytes: &[u8]| {
            for name in CHECK.find_iter(bytes) {
                if let Some(version) = number_after(bytes, name.end(), offset) {
                    let name = String::from_utf8_lossy(name.as_bytes());
                    let detail = || format!("after the string {name}");
                    versions.entry(version).or_insert_with(detail);
                }
            }
            ControlFlow::<()>::Continue(())
        };
        candidate.object.windows(range, CHECK_OVERLAP, search)?;
    }
    Ok(versions.into_iter().collect())
}

fn number_after(bytes: &[u8], end: usize, offset: u64) -> Option<String> {
    let rest = bytes.get(end..)?;
    let padding = rest.iter().take_while(|byte| **byte == 0).count();
    if padding == 0 {
        return None;
    }
    // The number's own zero bytes may be among the padding: start one word early.
    let misalignment = ((offset + (end + padding) as u64) % 4) as usize;
    let aligned = end + padding + (4 - misalignment) % 4;
    let first = if aligned > end + 4 {
        aligned - 4
    } else {
        aligned
    };
    (first..=first + CHECK_REACH).step_by(4).find_map(|at| {
        let word = bytes.get(at..)?.first_chunk()?;
        PACKED.decode(u32::from_le_bytes(*word))
    })
}

/// The version with which a sublibrary compares that of its caller when it is loaded (x86-64). The deep reading searches all
/// code, the default one that near some exports.
pub(super) fn comparison(candidate: &Candidate) -> Result<Values, ElfError> {
    let mut versions: Vec<String> = Vec::new();
    if candidate.object.machine == X86_64 {
        for range in comparison_ranges(candidate) {
            candidate.object.windows(range, COMPARISON, |_, code| {
                search_comparison(code, &mut versions);
                ControlFlow::<()>::Continue(())
            })?;
        }
    }
    let detail = format!("compared before status {MISMATCH}");
    Ok(only(versions.into_iter(), detail))
}

fn comparison_ranges(candidate: &Candidate) -> Vec<Range<u64>> {
    let code = candidate.object.code();
    if candidate.depth == Depth::Deep {
        return code;
    }
    let exports = NEAR.iter().filter_map(|name| candidate.export(name));
    exports
        .filter_map(|export| {
            let (offset, _) = candidate.object.locate(export.address)?;
            let whole = code.iter().find(|range| range.contains(&offset))?;
            let start = offset.saturating_sub(NEIGHBORHOOD).max(whole.start);
            Some(start..offset.saturating_add(NEIGHBORHOOD).min(whole.end))
        })
        .collect()
}

fn search_comparison(code: &[u8], versions: &mut Vec<String>) {
    let status = MISMATCH.to_le_bytes();
    for at in memmem::find_iter(code, &status) {
        let opcode = at.checked_sub(1);
        let Some(opcode) = opcode.filter(|it| matches!(code[*it], 0xb8 | 0xbb)) else {
            continue;
        };
        if let Some(before) = BEFORE.captures(&code[opcode.saturating_sub(6)..opcode]) {
            versions.extend(immediate(before.get(1)).and_then(|it| FORMAT.decode(it)));
            continue;
        }
        let rest = &code[at + status.len()..];
        if let Some(after) = AFTER.captures(&rest[..rest.len().min(COMPARISON)]) {
            let number = immediate(after.get(1)).and_then(|it| FORMAT.decode(it));
            let packed = immediate(after.get(2)).and_then(|it| PACKED.decode(it));
            versions.extend(number.or(packed));
        }
    }
}

/// The version that occurs at least twice in records, and at least twice as often as any other (x86-64).
pub(super) fn records(candidate: &Candidate) -> Result<Values, ElfError> {
    let mut counts = BTreeMap::new();
    if candidate.object.machine == X86_64 {
        // Windows overlap by less than a record, so none is counted twice.
        candidate.object.search_code(RECORD - 1, |_, code| {
            count_records(code, &mut counts);
        })?;
    }
    let mut ordered: Vec<(u32, u32)> = counts
        .into_iter()
        .map(|(number, count)| (count, number))
        .collect();
    ordered.sort_unstable_by(|left, right| right.cmp(left));
    let second = ordered.get(1).map_or(0, |(count, _)| *count);
    let first = ordered
        .first()
        .filter(|(count, _)| *count >= 2 && *count >= 2 * second);
    let version = first.and_then(|(count, number)| {
        let detail = format!("{count} records in code");
        Some((FORMAT.decode(*number)?, detail))
    });
    Ok(version.into_iter().collect())
}

fn count_records(code: &[u8], counts: &mut BTreeMap<u32, u32>) {
    // Both ends of the range have the same upper half: it is the rarest byte sequence to look for.
    let upper = [(RECORD_VERSIONS.start() >> 16) as u8, 0];
    for at in memmem::find_iter(code, &upper) {
        let record = at.checked_sub(4).and_then(|start| code.get(start..));
        let Some(&[rex, opcode, a, b, c, d, i, j, k, l]) = record.and_then(<[u8]>::first_chunk)
        else {
            continue;
        };
        let version = u32::from_le_bytes([a, b, c, d]);
        let id = u32::from_le_bytes([i, j, k, l]);
        if matches!(rex, 0x48 | 0x49)
            && matches!(opcode, 0xb8..=0xbf)
            && id < RECORD_IDS
            && RECORD_VERSIONS.contains(&version)
            && version % 100 <= MAX_RECORD_PATCH
        {
            *counts.entry(version).or_insert(0) += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sample;

    fn values(sample: &Sample, reader: &str) -> Vec<String> {
        sample.values(reader, "number", Depth::Default)
    }

    #[test]
    fn objects_of_four_bytes_are_read() {
        let sample = Sample::new(X86_64)
            .function("f", b"\xc3")
            .object("cudnn_graph_version", b"\x02\x0a\x09\x00")
            .object("cudnn_long_version", b"\x02\x0a\x09\x00\x00\x00\x00\x00");
        let readings = sample.readings("cudnn-object", "number", Depth::Default);
        assert_eq!(readings.len(), 1);
        assert_eq!(readings[0].value, "9.10.2");
        assert_eq!(readings[0].detail, "cudnn_graph_version");
    }

    #[test]
    fn a_version_follows_the_name_of_its_check() {
        for name in ["Ops", "xCnn", "xxAdv", "xxGraph"] {
            let mut data = format!("cudnn{name}VersionCheck\0").into_bytes();
            data.resize(data.len().next_multiple_of(4), 0);
            data.extend(b"\x00\x0a\x09\x00"); // 9.10.0: starts with a zero byte
            let sample = Sample::new(X86_64).function("f", b"\xc3").data(&data);
            assert_eq!(values(&sample, "cudnn-check"), ["9.10.0"], "{name}");
        }
        let sample = Sample::new(X86_64)
            .function("f", b"\xc3")
            .data(b"cudnnOpsVersionCheck\0\0\0\0/usr/local/include/x.h");
        assert!(values(&sample, "cudnn-check").is_empty());
    }

    #[test]
    fn the_comparison_comes_before_or_after_the_status() {
        // mov eax,1002; …; cmp edi,91002 — cmp edi,91002; mov ebx,1002 — mov eax,1002; …; cmp dword ptr [rax],0x090a02
        let comparisons: [&[u8]; 3] = [
            b"\xb8\xea\x03\x00\x00\x90\x90\x81\xff\x7a\x63\x01\x00\xc3",
            b"\x81\xff\x7a\x63\x01\x00\xbb\xea\x03\x00\x00\xc3",
            b"\xbb\xea\x03\x00\x00\x90\x81\x38\x02\x0a\x09\x00\xc3",
        ];
        for code in comparisons {
            let sample = Sample::new(X86_64).function(NEAR[0], b"\xc3").code(code);
            let found = values(&sample, "cudnn-comparison");
            assert_eq!(found, ["9.10.2"], "{code:x?}");
        }
    }

    #[test]
    fn only_the_deep_reading_finds_a_comparison_far_from_the_exports() {
        let mut code = vec![0x90; 40 << 10];
        code.extend(b"\xb8\xea\x03\x00\x00\x81\xff\x7a\x63\x01\x00\xc3");
        let sample = Sample::new(X86_64).function(NEAR[0], b"\xc3").code(&code);
        assert!(values(&sample, "cudnn-comparison").is_empty());
        let deep = sample.values("cudnn-comparison", "number", Depth::Deep);
        assert_eq!(deep, ["9.10.2"]);
    }

    #[test]
    fn the_prevailing_record_counts() {
        let found = |records: &[(u32, u32)]| {
            let record = |(id, version): &(u32, u32)| {
                [&[0x48, 0xb8][..], &version.to_le_bytes(), &id.to_le_bytes()].concat()
            };
            let code: Vec<u8> = records.iter().flat_map(record).collect();
            let sample = Sample::new(X86_64).function("f", b"\xc3").code(&code);
            values(&sample, "cudnn-records")
        };
        assert_eq!(found(&[(1, 91002), (2, 91002), (3, 90100)]), ["9.10.2"]);
        assert!(found(&[(1, 91002), (2, 91002), (3, 90100), (4, 90100)]).is_empty());
        assert!(found(&[(1, 91002)]).is_empty());
        assert!(found(&[(5000, 91002), (5000, 91002)]).is_empty());
    }
}
