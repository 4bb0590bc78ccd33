//! The version in cuDNN's dispatcher, `libcudnn.so.9`, which hands it to a formatting function:
//! `snprintf(buffer, 64, "%s.%d.%d.%d", name, 9, 10, 2)`.
//!
//! The numbers are the fifth to the seventh argument: r8d, r9d and the stack on x86-64 (System V ABI, 3.2.3), w4, w5 and w6 on
//! AArch64 (AAPCS64, 6.8.2).

use std::collections::BTreeSet;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;

use super::values::{Values, immediate, immediates};
use crate::aarch64::{self, Registers};
use crate::candidate::Candidate;
use crate::error::ElfError;
use crate::object::{AARCH64, Object, X86_64};
use crate::pattern::bytes_pattern;

const FORMAT: &str = "%s.%d.%d.%d";
/// The second argument of the call.
const BUFFER_SIZE: u32 = 64;
const MAJOR: RangeInclusive<u32> = 8..=12;

/// lea rdx,[rip+rel32]
static LEA: LazyLock<Regex> = bytes_pattern!(r"\x48\x8d\x15(....)");
/// mov r8d,imm32
static FIFTH: LazyLock<Regex> = bytes_pattern!(r"\x41\xb8(....)");
/// mov r9d,imm32
static SIXTH: LazyLock<Regex> = bytes_pattern!(r"\x41\xb9(....)");
/// xor r9d,r9d
const SIXTH_ZERO: &[u8] = b"\x45\x31\xc9";
/// push imm8
static PUSH: LazyLock<Regex> = bytes_pattern!(r"\x6a([\x00-\x32])");
/// How many bytes before the address of the format the arguments start, and how many after it the call ends.
const BEFORE: usize = 64;
const AFTER: usize = 72;
/// On AArch64 the arguments are set within this many instructions before the call.
const ARGUMENTS: usize = 24;
/// movz xN,#imm16 with lsl 0
const MOVZ_X: u32 = 0xd280_0000;

/// Major, minor and patch.
type Version = (u32, u32, u32);

/// The only version that a call formats.
pub(super) fn version(candidate: &Candidate) -> Result<Values, ElfError> {
    let versions = match candidate.object.machine {
        X86_64 => read_x86(candidate.object)?,
        AARCH64 => read_aarch64(candidate.object)?,
        _ => BTreeSet::new(),
    };
    let mut versions = versions.into_iter();
    Ok(match (versions.next(), versions.next()) {
        (Some((major, minor, patch)), None) => vec![(
            format!("{major}.{minor}.{patch}"),
            format!("arguments of \"{FORMAT}\""),
        )],
        _ => Vec::new(),
    })
}

fn read_x86(object: &Object) -> Result<BTreeSet<Version>, ElfError> {
    let mut versions = BTreeSet::new();
    let Some(format) = format_address(object)? else {
        return Ok(versions);
    };
    object.search_code(BEFORE + AFTER, |offset, code| {
        let Some(base) = object.address_of(offset) else {
            return;
        };
        for lea in LEA.captures_iter(code) {
            if let (Some(whole), Some(distance)) = (lea.get(0), immediate(lea.get(1))) {
                let next = base.wrapping_add(whole.end() as u64);
                if next.wrapping_add_signed(i64::from(distance as i32)) == format {
                    versions.extend(arguments_x86(code, whole.start()));
                }
            }
        }
    })?;
    Ok(versions)
}

fn format_address(object: &Object) -> Result<Option<u64>, ElfError> {
    let format = [FORMAT.as_bytes(), b"\0"].concat();
    for range in object.constants() {
        let search = |offset: u64, bytes: &[u8]| match memmem::find(bytes, &format) {
            Some(at) => ControlFlow::Break(offset + at as u64),
            None => ControlFlow::Continue(()),
        };
        if let Some(offset) = object.windows(range, format.len(), search)? {
            return Ok(object.address_of(offset));
        }
    }
    Ok(None)
}

fn arguments_x86(code: &[u8], lea: usize) -> Option<Version> {
    let start = lea.saturating_sub(BEFORE);
    let after = code.get(lea + 7..(lea + AFTER).min(code.len()))?;
    let call = memchr::memchr(0xe8, after).map_or(lea + AFTER, |at| lea + 7 + at + 1);
    let window = code.get(start..call.min(code.len()))?;
    let last = |pattern: &Regex| immediates(pattern, window).last().copied();
    let major = last(&FIFTH).filter(|major| MAJOR.contains(major))?;
    let minor = last(&SIXTH).or_else(|| memmem::find(window, SIXTH_ZERO).map(|_| 0))?;
    let patch = PUSH.captures_iter(window).last()?.get(1)?.as_bytes()[0];
    Some((major, minor, u32::from(patch)))
}

fn read_aarch64(object: &Object) -> Result<BTreeSet<Version>, ElfError> {
    let mut versions = BTreeSet::new();
    object.search_code(4 * (ARGUMENTS + 1), |_, code| {
        let words: Vec<u32> = aarch64::words(code).collect();
        for (index, word) in words.iter().enumerate() {
            if word >> 26 == 0x25 {
                let before = &words[index.saturating_sub(ARGUMENTS)..index];
                versions.extend(arguments_aarch64(before));
            }
        }
    })?;
    Ok(versions)
}

fn arguments_aarch64(before: &[u32]) -> Option<Version> {
    // Most calls have no such constant before them at all.
    let size = |word: &u32| word & 0x7fff_ffff == (MOVZ_X | BUFFER_SIZE << 5 | 1) & 0x7fff_ffff;
    if !before.iter().any(size) {
        return None;
    }
    let mut registers = Registers::default();
    before.iter().for_each(|word| registers.step(*word));
    let (major, minor, patch) = (registers.get(4)?, registers.get(5)?, registers.get(6)?);
    let is_plausible = registers.get(1) == Some(BUFFER_SIZE)
        && MAJOR.contains(&major)
        && minor < 1000
        && patch < 1000;
    is_plausible.then_some((major, minor, patch))
}

#[cfg(test)]
mod tests {
    use crate::Depth;
    use crate::object::{AARCH64, X86_64};
    use crate::testing::{Sample, words};

    fn values(sample: &Sample) -> Vec<String> {
        sample.values("cudnn-dispatcher", "number", Depth::Default)
    }

    #[test]
    fn the_arguments_are_read_on_x86() {
        // push 2; mov r9d,10; mov r8d,9; lea rdx,[rip+…]; call — the code starts at 0xd0, the format at 0xf0
        let code = b"\x6a\x02\x41\xb9\x0a\x00\x00\x00\x41\xb8\x09\x00\x00\x00\x48\x8d\x15\x0b\x00\x00\x00\xe8\x00\x00\x00\x00";
        let sample = |data| {
            let sample = Sample::new(X86_64).function("f", b"\xc3");
            sample.code(code).data(data)
        };
        assert_eq!(values(&sample(b"%s.%d.%d.%d\0")), ["9.10.2"]);
        assert!(values(&sample(b"=%s.%d.%d.%d\0")).is_empty());
    }

    #[test]
    fn the_arguments_are_read_on_aarch64() {
        // mov x1,#64; mov w5,#1; mov w6,w5; mov w4,#9; bl
        let code = [
            0xd280_0801,
            0x5280_0025,
            0x2a05_03e6,
            0x5280_0124,
            0x9400_0010,
        ];
        let sample = Sample::new(AARCH64)
            .function("f", &words(&[0xd65f_03c0]))
            .code(&words(&code));
        assert_eq!(values(&sample), ["9.1.1"]);
    }
}
