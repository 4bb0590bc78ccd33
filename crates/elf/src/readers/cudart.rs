//! The version of the CUDA runtime, which `cudaRuntimeGetVersion(int *version)` stores through its argument.
//!
//! The exported function is a wrapper for profilers; the store is in a function that it calls. A runtime that is linked
//! statically into another library exports neither, so its code is searched for.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;

use super::values::{Values, immediate, unanimous};
use crate::aarch64::{self, RET};
use crate::candidate::Candidate;
use crate::error::ElfError;
use crate::number_format::NumberFormat;
use crate::object::{AARCH64, Object, X86_64};
use crate::pattern::bytes_pattern;

pub(super) const EXPORT: &str = "cudaRuntimeGetVersion";
const FORMAT: NumberFormat = NumberFormat::ThousandsAndTens;

/// test rdi,rdi; [mov rbp,rsp;] je …; [xor eax,eax;] mov dword ptr [rdi],imm32
static STORE: LazyLock<Regex> = bytes_pattern!(
    r"\x48\x85\xff(?:\x48\x89\xe5)?(?:\x74.|\x0f\x84....)(?:\x31\xc0)?\xc7\x07(....)"
);
/// How far into a function the store starts, in bytes, and the length of the longest store. On AArch64: ten instructions.
const REACH: u64 = 40;
const STORE_LENGTH: u64 = 24;
/// A wrapper calls a handful of functions.
const MAX_CALLEES: usize = 256;

/// The same with what follows in the static runtime: [xor eax,eax;] [pop rbp;] [add rsp,…;] ret
static GETTER: LazyLock<Regex> = bytes_pattern!(
    r"\x48\x85\xff(?:\x48\x89\xe5)?\x74.(?:\x31\xc0)?\xc7\x07(....)(?:\x31\xc0)?(?:\x5d)?(?:\x48\x83\xc4.)?\xc3"
);
/// Longest match of [`GETTER`], in bytes.
const GETTER_LENGTH: usize = 32;
/// On AArch64 `cbz x0`, the constants and the store are in the five instructions before `ret`.
const BEFORE_RET: usize = 20;

/// The version of a runtime that exports [`EXPORT`].
pub(super) fn version(candidate: &Candidate) -> Result<Values, ElfError> {
    let own = stored_through_argument(candidate, EXPORT, FORMAT)?;
    if !own.is_empty() {
        return Ok(own);
    }
    let Some(export) = candidate.export(EXPORT) else {
        return Ok(Vec::new());
    };
    let body = candidate.body(EXPORT)?;
    let mut targets: Vec<u64> = match candidate.object.machine {
        X86_64 => targets_x86(&body, export.address),
        AARCH64 => targets_aarch64(&body, export.address),
        _ => Vec::new(),
    };
    targets.sort_unstable();
    targets.dedup();
    let mut numbers = Vec::new();
    for target in targets {
        if candidate.object.is_executable(target) {
            numbers.extend(stores_at(candidate.object, target, u64::MAX)?);
        }
    }
    Ok(unanimous(
        numbers,
        FORMAT,
        format!("function called by {EXPORT}"),
    ))
}

/// The constant that an export stores first, through its first argument.
pub(super) fn stored_through_argument(
    candidate: &Candidate,
    export: &str,
    format: NumberFormat,
) -> Result<Values, ElfError> {
    let Some(function) = candidate.export(export) else {
        return Ok(Vec::new());
    };
    let length = match function.size {
        0 => u64::MAX,
        size => size,
    };
    let numbers = stores_at(candidate.object, function.address, length)?;
    Ok(unanimous(numbers, format, export))
}

/// The constants that the function of `length` bytes at an address stores first.
fn stores_at(object: &Object, address: u64, length: u64) -> Result<Vec<u32>, ElfError> {
    match object.machine {
        X86_64 => {
            let code = object.at_address(address, length.min(REACH + STORE_LENGTH))?;
            let store = STORE
                .captures(&code)
                .filter(|it| it.get(0).is_some_and(|it| it.start() < REACH as usize));
            let number = store.and_then(|it| immediate(it.get(1)));
            Ok(number.into_iter().collect())
        }
        AARCH64 => {
            let code = object.at_address(address, length.min(REACH))?;
            Ok(aarch64::stores(&code))
        }
        _ => Ok(Vec::new()),
    }
}

/// Where every E8 (call) or E9 (jmp) would lead if an instruction started there. Most of the wrong ones lead nowhere.
fn targets_x86(body: &[u8], address: u64) -> Vec<u64> {
    body.windows(5)
        .zip(address..)
        .filter(|(code, _)| matches!(code[0], 0xe8 | 0xe9))
        .map(|(code, at)| {
            let distance = i32::from_le_bytes([code[1], code[2], code[3], code[4]]);
            at.wrapping_add(5).wrapping_add_signed(i64::from(distance))
        })
        .take(MAX_CALLEES)
        .collect()
}

fn targets_aarch64(body: &[u8], address: u64) -> Vec<u64> {
    aarch64::words(body)
        .zip(0_u64..)
        .filter_map(|(word, index)| aarch64::branch_target(word, address.wrapping_add(index * 4)))
        .take(MAX_CALLEES)
        .collect()
}

/// The versions of all runtimes that are linked statically: of functions anywhere in the code that store a version through
/// their argument and return.
pub(super) fn static_versions(candidate: &Candidate) -> Result<Values, ElfError> {
    let search = match candidate.object.machine {
        X86_64 => search_x86,
        AARCH64 => search_aarch64,
        _ => return Ok(Vec::new()),
    };
    // By offset, because search windows overlap.
    let mut versions: BTreeMap<u64, String> = BTreeMap::new();
    candidate
        .object
        .search_code(GETTER_LENGTH, |offset, code| {
            search(code, offset, &mut |at, number| {
                versions.extend(FORMAT.decode(number).map(|version| (at, version)));
            });
        })?;
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for version in versions.into_values() {
        *counts.entry(version).or_insert(0) += 1;
    }
    let counts = counts.into_iter();
    Ok(counts
        .map(|(version, count)| (version, format!("{count} getters in code")))
        .collect())
}

fn search_x86(code: &[u8], offset: u64, found: &mut dyn FnMut(u64, u32)) {
    // mov dword ptr [rdi],imm32 is rarer than the test before it.
    for at in memmem::find_iter(code, b"\xc7\x07") {
        let start = at.saturating_sub(10);
        let end = (at + GETTER_LENGTH).min(code.len());
        let number = GETTER
            .captures(&code[start..end])
            .and_then(|getter| getter.get(1));
        if let (Some(place), Some(value)) = (number, immediate(number)) {
            found(offset + (start + place.start()) as u64, value);
        }
    }
}

fn search_aarch64(code: &[u8], offset: u64, found: &mut dyn FnMut(u64, u32)) {
    for at in memmem::find_iter(code, &RET.to_le_bytes()) {
        let Some(start) = at.checked_sub(BEFORE_RET) else {
            continue;
        };
        if !(offset + at as u64).is_multiple_of(4) {
            continue;
        }
        let body = &code[start..at];
        let tests_argument = aarch64::words(body).any(|word| word & 0xff00_001f == 0xb400_0000);
        if let (true, Some(number)) = (tests_argument, aarch64::stores(body).last()) {
            found(offset + at as u64, *number);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Depth;
    use crate::object::{AARCH64, X86_64};
    use crate::testing::{AARCH64_GETTER, Sample, words};

    /// test rdi,rdi; je; mov dword ptr [rdi],12080; xor eax,eax; ret: the helper of CUDA 12
    const HELPER: &[u8] = b"\x48\x85\xff\x74\x0b\xc7\x07\x30\x2f\x00\x00\x31\xc0\xc3";

    fn version(machine: u16, function: &[u8], code: &[u8]) -> Vec<String> {
        let sample = Sample::new(machine).function("cudaRuntimeGetVersion", function);
        let sample = sample.code(code);
        sample.values("cudart", "number", Depth::Default)
    }

    #[test]
    fn version_is_stored_by_the_export_or_a_function_that_it_calls() {
        assert_eq!(version(X86_64, HELPER, b""), ["12.8"]);
        // sub rsp,24; call the code after this function; ret
        let wrapper = b"\x48\x83\xec\x18\xe8\x07\x00\x00\x00\xc3";
        assert_eq!(version(X86_64, wrapper, HELPER), ["12.8"]);
        // bl +16; ret; nop; nop
        let wrapper = words(&[0x9400_0004, 0xd65f_03c0, 0xd503_201f, 0xd503_201f]);
        assert_eq!(
            version(AARCH64, &wrapper, &words(&AARCH64_GETTER)),
            ["13.5"]
        );
    }

    #[test]
    fn a_stack_frame_and_a_long_jump_may_come_before_the_store() {
        // CUDA 10: sub rsp,24; test rdi,rdi; je …; mov dword ptr [rdi],10020
        let old = b"\x48\x83\xec\x18\x48\x85\xff\x74\x0d\xc7\x07\x24\x27\x00\x00\x31\xc0\xc3";
        let long =
            b"\x55\x48\x85\xff\x48\x89\xe5\x0f\x84\x01\x00\x00\x00\xc7\x07\x24\x27\x00\x00\xc3";
        for code in [old.as_slice(), long.as_slice()] {
            assert_eq!(version(X86_64, code, b""), ["10.2"]);
        }
    }

    #[test]
    fn two_different_versions_give_none() {
        let wrapper = b"\xe8\x0b\x00\x00\x00\xe8\x16\x00\x00\x00\xc3";
        let mut both = [HELPER, &[0x90, 0x90], HELPER].concat();
        both[16 + 7] = 0x12; // 12050
        both[16 + 8] = 0x2f;
        assert!(version(X86_64, wrapper, &both).is_empty());
    }

    #[test]
    fn static_runtimes_are_counted_by_version() {
        let getter = b"\x48\x85\xff\x74\x0b\xc7\x07\x30\x2f\x00\x00\x31\xc0\xc3\x90\x90";
        let sample = Sample::new(X86_64)
            .function("f", b"\xc3")
            .code(&[*getter, *getter].concat());
        let readings = sample.readings("static-cudart", "number", Depth::Deep);
        assert_eq!(readings.len(), 1);
        assert_eq!(readings[0].value, "12.8");
        assert_eq!(readings[0].detail, "2 getters in code");
        // A store without the test of the argument.
        let sample = Sample::new(X86_64)
            .function("f", b"\xc3")
            .code(b"\xc7\x07\x30\x2f\x00\x00\x31\xc0\xc3");
        let values = sample.values("static-cudart", "number", Depth::Deep);
        assert!(values.is_empty());
        let sample = Sample::new(AARCH64)
            .function("f", &words(&[0xd65f_03c0]))
            .code(&words(&AARCH64_GETTER));
        let values = sample.values("static-cudart", "number", Depth::Deep);
        assert_eq!(values, ["13.5"]);
    }
}
