//! A version handed to a formatting function as three numbers: `snprintf(buffer, 64, "%s.%d.%d.%d", name, 9, 10, 2)`.
//!
//! The integer arguments are the fifth to the seventh. On x86-64 that is r8d, r9d and the stack (System V ABI, 3.2.3), on
//! AArch64 w4, w5 and w6 (AAPCS64, 6.8.2).

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;
use serde::Deserialize;

use super::aarch64::{self, Registers};
use super::{Found, bytes_pattern, immediate};
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::object::{AARCH64, X86_64};

/// lea rdx,[rip+rel32]
static LEA: LazyLock<Regex> = bytes_pattern!(r"\x48\x8d\x15(....)");
/// mov r8d,imm32 — mov r9d,imm32 — push imm8
static FIFTH: LazyLock<Regex> = bytes_pattern!(r"\x41\xb8(....)");
static SIXTH: LazyLock<Regex> = bytes_pattern!(r"\x41\xb9(....)");
static PUSH: LazyLock<Regex> = bytes_pattern!(r"\x6a([\x00-\x32])");
/// xor r9d,r9d
const SIXTH_ZERO: &[u8] = b"\x45\x31\xc9";
/// How far the arguments stand before the address of the format, and the call behind it.
const BEFORE: usize = 64;
const AFTER: usize = 72;
/// On AArch64 the arguments are set within this many instructions before the call.
const ARGUMENTS: usize = 24;
/// mov xN,#imm16 with lsl 0
const MOVZ_X: u32 = 0xd280_0000;

/// `buffer` is the second argument of the call; a major version lies between `major[0]` and `major[1]`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct FormattedCall {
    pub format: String,
    pub buffer: u32,
    pub major: (u32, u32),
}

impl FormattedCall {
    pub fn read(&self, subject: &Subject) -> Result<Found, ElfError> {
        let versions = match subject.object.machine {
            X86_64 => self.read_x86(subject)?,
            AARCH64 => self.read_aarch64(subject)?,
            _ => BTreeSet::new(),
        };
        let mut versions = versions.into_iter();
        Ok(match (versions.next(), versions.next()) {
            (Some((major, minor, patch)), None) => vec![(
                format!("{major}.{minor}.{patch}"),
                format!("arguments of \"{}\"", self.format),
            )],
            _ => Vec::new(),
        })
    }

    fn read_x86(&self, subject: &Subject) -> Result<BTreeSet<(u32, u32, u32)>, ElfError> {
        let mut versions = BTreeSet::new();
        let Some(format) = self.format_address(subject)? else {
            return Ok(versions);
        };
        for range in subject.object.code() {
            subject
                .object
                .windows(range, BEFORE + AFTER, |offset, code| {
                    let Some(base) = subject.object.address_of(offset) else {
                        return ControlFlow::Break(());
                    };
                    for lea in LEA.captures_iter(code) {
                        let (Some(whole), Some(distance)) = (lea.get(0), immediate(lea.get(1)))
                        else {
                            continue;
                        };
                        let next = base.wrapping_add(whole.end() as u64);
                        if next.wrapping_add_signed(i64::from(distance as i32)) == format {
                            versions.extend(arguments_x86(code, whole.start(), self.major));
                        }
                    }
                    ControlFlow::Continue(())
                })?;
        }
        Ok(versions)
    }

    fn format_address(&self, subject: &Subject) -> Result<Option<u64>, ElfError> {
        let mut wanted = self.format.clone().into_bytes();
        wanted.push(0);
        for range in subject.object.constants() {
            let found = subject
                .object
                .windows(range, wanted.len(), |offset, bytes| {
                    match memmem::find(bytes, &wanted) {
                        Some(at) => ControlFlow::Break(offset + at as u64),
                        None => ControlFlow::Continue(()),
                    }
                })?;
            if let Some(offset) = found {
                return Ok(subject.object.address_of(offset));
            }
        }
        Ok(None)
    }

    fn read_aarch64(&self, subject: &Subject) -> Result<BTreeSet<(u32, u32, u32)>, ElfError> {
        let mut versions = BTreeSet::new();
        for range in subject.object.code() {
            subject
                .object
                .windows(range, 4 * (ARGUMENTS + 1), |_, code| {
                    let words: Vec<u32> = aarch64::words(code).collect();
                    for (index, word) in words.iter().enumerate() {
                        if word >> 26 == 0x25 {
                            let before = &words[index.saturating_sub(ARGUMENTS)..index];
                            versions.extend(self.arguments_aarch64(before));
                        }
                    }
                    ControlFlow::<()>::Continue(())
                })?;
        }
        Ok(versions)
    }

    fn arguments_aarch64(&self, before: &[u32]) -> Option<(u32, u32, u32)> {
        // Most calls are preceded by no such constant at all.
        let size = |word: &u32| word & 0x7fff_ffff == (MOVZ_X | self.buffer << 5 | 1) & 0x7fff_ffff;
        if !before.iter().any(size) {
            return None;
        }
        let mut registers = Registers::default();
        before.iter().for_each(|word| registers.step(*word));
        let (major, minor, patch) = (registers.get(4)?, registers.get(5)?, registers.get(6)?);
        let plausible = registers.get(1) == Some(self.buffer)
            && (self.major.0..=self.major.1).contains(&major)
            && minor < 1000
            && patch < 1000;
        plausible.then_some((major, minor, patch))
    }
}

fn arguments_x86(code: &[u8], lea: usize, major: (u32, u32)) -> Option<(u32, u32, u32)> {
    let start = lea.saturating_sub(BEFORE);
    let behind = code.get(lea + 7..(lea + AFTER).min(code.len()))?;
    let call = memchr::memchr(0xe8, behind).map_or(lea + AFTER, |at| lea + 7 + at + 1);
    let window = code.get(start..call.min(code.len()))?;
    let last = |pattern: &Regex| immediate(pattern.captures_iter(window).last()?.get(1));
    let fifth = last(&FIFTH)?;
    let sixth = last(&SIXTH).or_else(|| memmem::find(window, SIXTH_ZERO).map(|_| 0))?;
    let pushed = PUSH.captures_iter(window).last()?.get(1)?.as_bytes()[0];
    (major.0..=major.1)
        .contains(&fifth)
        .then_some((fifth, sixth, u32::from(pushed)))
}

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::{AARCH64, X86_64};
    use crate::elf::testing::{Sample, words};

    const FROM: &str = "{formatted-call: {format: '%s.%d.%d.%d', buffer: 64, major: [8, 12]}}";

    #[test]
    fn the_arguments_are_read_on_x86() {
        // push 2; mov r9d,10; mov r8d,9; lea rdx,[rip+…]; call — the code starts at 0xd0, the format at 0xf0
        let code = b"\x6a\x02\x41\xb9\x0a\x00\x00\x00\x41\xb8\x09\x00\x00\x00\x48\x8d\x15\x0b\x00\x00\x00\xe8\x00\x00\x00\x00";
        let sample = Sample::new(X86_64)
            .function("f", b"\xc3")
            .code(code)
            .data(b"%s.%d.%d.%d\0");
        assert_eq!(sample.values(FROM, "number", Depth::Default), ["9.10.2"]);
        let other = Sample::new(X86_64)
            .function("f", b"\xc3")
            .code(code)
            .data(b"=%s.%d.%d.%d\0");
        assert!(other.values(FROM, "number", Depth::Default).is_empty());
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
        assert_eq!(sample.values(FROM, "number", Depth::Default), ["9.1.1"]);
    }
}
