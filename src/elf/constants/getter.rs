//! A whole getter, wherever it is in the code: a function that stores one constant through its pointer argument and returns.
//! It betrays a copy of a library that was linked in statically.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;
use serde::Deserialize;

use super::aarch64::{self, RET};
use super::{Found, bytes_pattern, immediate};
use crate::elf::decode::Decoder;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::object::{AARCH64, X86_64};

/// test rdi,rdi; [mov rbp,rsp;] je …; [xor eax,eax;] mov dword ptr [rdi],imm32; [xor eax,eax;] [pop rbp;] [add rsp,…;] ret
static GETTER: LazyLock<Regex> = bytes_pattern!(
    r"\x48\x85\xff(?:\x48\x89\xe5)?\x74.(?:\x31\xc0)?\xc7\x07(....)(?:\x31\xc0)?(?:\x5d)?(?:\x48\x83\xc4.)?\xc3"
);
/// The longest match.
const OVERLAP: usize = 32;
/// On AArch64: `cbz x0`, constants and the store stand in the five instructions before the `ret`.
const BEFORE_RET: usize = 20;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct Getter {}

impl Getter {
    pub fn read(&self, subject: &Subject, decoder: Decoder) -> Result<Found, ElfError> {
        let search = match subject.object.machine {
            X86_64 => search_x86,
            AARCH64 => search_aarch64,
            _ => return Ok(Vec::new()),
        };
        let mut places: BTreeMap<u64, String> = BTreeMap::new();
        for range in subject.object.code() {
            subject.object.windows(range, OVERLAP, |offset, code| {
                search(code, offset, &mut |at, number| {
                    places.extend(decoder.decode(number).map(|value| (at, value)));
                });
                ControlFlow::<()>::Continue(())
            })?;
        }
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for value in places.into_values() {
            *counts.entry(value).or_insert(0) += 1;
        }
        Ok(counts
            .into_iter()
            .map(|(value, count)| (value, format!("{count} getters in the code")))
            .collect())
    }
}

fn search_x86(code: &[u8], offset: u64, found: &mut dyn FnMut(u64, u32)) {
    // mov dword ptr [rdi],imm32 is rarer than the test before it.
    for at in memmem::find_iter(code, b"\xc7\x07") {
        let start = at.saturating_sub(10);
        let end = (at + OVERLAP).min(code.len());
        let Some(getter) = GETTER.captures(&code[start..end]) else {
            continue;
        };
        if let Some(number) = immediate(getter.get(1)) {
            let place = getter.get(1).map_or(0, |it| start + it.start());
            found(offset + place as u64, number);
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
        let tests = aarch64::words(body).any(|word| word & 0xff00_001f == 0xb400_0000);
        if let (true, Some(number)) = (tests, aarch64::stores(body).last()) {
            found(offset + at as u64, *number);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::{AARCH64, X86_64};
    use crate::elf::testing::{AARCH64_GETTER, Sample, words};

    const FROM: &str = "{getter: {}}";

    #[test]
    fn getters_are_counted_by_value() {
        let getter = b"\x48\x85\xff\x74\x0b\xc7\x07\x30\x2f\x00\x00\x31\xc0\xc3\x90\x90";
        let sample = Sample::new(X86_64)
            .function("f", b"\xc3")
            .code(&[*getter, *getter].concat());
        let readings = sample.readings(FROM, "thousands-and-tens", Depth::Deep);
        assert_eq!(readings.len(), 1);
        assert_eq!(
            (readings[0].value.as_str(), readings[0].detail.as_str()),
            ("12.8", "2 getters in the code")
        );
    }

    #[test]
    fn a_store_without_the_test_is_none() {
        let sample = Sample::new(X86_64)
            .function("f", b"\xc3")
            .code(b"\xc7\x07\x30\x2f\x00\x00\x31\xc0\xc3");
        assert!(
            sample
                .values(FROM, "thousands-and-tens", Depth::Deep)
                .is_empty()
        );
    }

    #[test]
    fn aarch64_getters_are_found() {
        let sample = Sample::new(AARCH64)
            .function("f", &words(&[0xd65f_03c0]))
            .code(&words(&AARCH64_GETTER));
        assert_eq!(
            sample.values(FROM, "thousands-and-tens", Depth::Deep),
            ["13.5"]
        );
    }
}
