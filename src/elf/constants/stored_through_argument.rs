//! A constant that a getter stores through its first pointer argument: `int getVersion(int *version)`.
//!
//! The store may be in the exported function or in a function it calls directly, where a profiler's wrapper is exported.

use std::sync::LazyLock;

use regex::bytes::Regex;
use serde::Deserialize;

use super::{Found, aarch64, bytes_pattern, immediate, unanimous};
use crate::elf::decode::Decoder;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::object::{AARCH64, X86_64};

/// test rdi,rdi; [mov rbp,rsp;] je …; [xor eax,eax;] mov dword ptr [rdi],imm32
static STORE: LazyLock<Regex> = bytes_pattern!(
    r"\x48\x85\xff(?:\x48\x89\xe5)?(?:\x74.|\x0f\x84....)(?:\x31\xc0)?\xc7\x07(....)"
);
/// How far into a function the store is searched: bytes on x86-64, then the length of the pattern itself.
const REACH: u64 = 40;
const PATTERN: u64 = 24;
/// The same on AArch64: ten instructions.
const REACH_AARCH64: u64 = 40;
/// A wrapper calls a handful of functions.
const CALLEE_LIMIT: usize = 256;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct StoredThroughArgument {
    pub export: String,
    #[serde(default)]
    pub callees: bool,
}

impl StoredThroughArgument {
    pub fn read(&self, subject: &Subject, decoder: Decoder) -> Result<Found, ElfError> {
        let Some(export) = subject.export(&self.export) else {
            return Ok(Vec::new());
        };
        let length = if export.size == 0 {
            u64::MAX
        } else {
            export.size
        };
        let mut numbers = stores_at(subject, export.address, length)?;
        let mut detail = self.export.clone();
        if self.callees && !numbers.iter().any(|it| decoder.decode(*it).is_some()) {
            let body = subject.body(export)?;
            let targets = match subject.object.machine {
                X86_64 => targets_x86(&body, export.address),
                AARCH64 => targets_aarch64(&body, export.address),
                _ => Vec::new(),
            };
            for target in targets {
                if subject.object.is_executable(target) {
                    numbers.extend(stores_at(subject, target, u64::MAX)?);
                }
            }
            detail.push_str(", function called");
        }
        Ok(unanimous(numbers, decoder, detail))
    }
}

/// The constants that the function at `address` stores first; `length` is its size, if that is known.
fn stores_at(subject: &Subject, address: u64, length: u64) -> Result<Vec<u32>, ElfError> {
    match subject.object.machine {
        X86_64 => {
            let code = subject
                .object
                .at_address(address, length.min(REACH + PATTERN))?;
            let found = STORE.captures(&code).filter(|captures| {
                captures
                    .get(0)
                    .is_some_and(|it| it.start() < REACH as usize)
            });
            Ok(found
                .and_then(|it| immediate(it.get(1)))
                .into_iter()
                .collect())
        }
        AARCH64 => {
            let code = subject
                .object
                .at_address(address, length.min(REACH_AARCH64))?;
            Ok(aarch64::stores(&code))
        }
        _ => Ok(Vec::new()),
    }
}

/// Where every E8 (call) or E9 (jmp) would lead, if it were the start of an instruction; most of the wrong ones lead nowhere.
fn targets_x86(body: &[u8], address: u64) -> Vec<u64> {
    let mut targets: Vec<u64> = body
        .windows(5)
        .zip(address..)
        .filter(|(code, _)| matches!(code[0], 0xe8 | 0xe9))
        .map(|(code, at)| {
            let distance = i32::from_le_bytes([code[1], code[2], code[3], code[4]]);
            at.wrapping_add(5).wrapping_add_signed(i64::from(distance))
        })
        .take(CALLEE_LIMIT)
        .collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

fn targets_aarch64(body: &[u8], address: u64) -> Vec<u64> {
    let mut targets: Vec<u64> = aarch64::words(body)
        .zip(0_u64..)
        .filter_map(|(word, index)| aarch64::branch_target(word, address.wrapping_add(index * 4)))
        .take(CALLEE_LIMIT)
        .collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::{AARCH64, X86_64};
    use crate::elf::testing::{AARCH64_GETTER, Sample, words};

    const OWN: &str = "{stored-through-argument: {export: f}}";
    const CALLED: &str = "{stored-through-argument: {export: f, callees: true}}";
    /// test rdi,rdi; je; mov dword ptr [rdi],12080; xor eax,eax; ret — the helper of CUDA 12
    const HELPER: &[u8] = b"\x48\x85\xff\x74\x0b\xc7\x07\x30\x2f\x00\x00\x31\xc0\xc3";

    #[test]
    fn the_function_itself_stores() {
        let sample = Sample::new(X86_64).function("f", HELPER);
        assert_eq!(
            sample.values(OWN, "thousands-and-tens", Depth::Default),
            ["12.8"]
        );
        assert_eq!(
            sample.values(CALLED, "thousands-and-tens", Depth::Default),
            ["12.8"]
        );
    }

    #[test]
    fn a_called_function_stores() {
        // sub rsp,24; call the code behind this function; ret
        let wrapper = b"\x48\x83\xec\x18\xe8\x07\x00\x00\x00\xc3";
        let sample = Sample::new(X86_64).function("f", wrapper).code(HELPER);
        assert!(
            sample
                .values(OWN, "thousands-and-tens", Depth::Default)
                .is_empty()
        );
        assert_eq!(
            sample.values(CALLED, "thousands-and-tens", Depth::Default),
            ["12.8"]
        );
    }

    #[test]
    fn the_frame_pointer_and_a_long_jump_may_stand_between() {
        // CUDA 10: sub rsp,24; test rdi,rdi; je …; mov dword ptr [rdi],10020
        let old = b"\x48\x83\xec\x18\x48\x85\xff\x74\x0d\xc7\x07\x24\x27\x00\x00\x31\xc0\xc3";
        let long =
            b"\x55\x48\x85\xff\x48\x89\xe5\x0f\x84\x01\x00\x00\x00\xc7\x07\x24\x27\x00\x00\xc3";
        for code in [old.as_slice(), long.as_slice()] {
            let sample = Sample::new(X86_64).function("f", code);
            assert_eq!(
                sample.values(OWN, "thousands-and-tens", Depth::Default),
                ["10.2"]
            );
        }
    }

    #[test]
    fn two_different_versions_are_none() {
        let wrapper = b"\xe8\x0b\x00\x00\x00\xe8\x16\x00\x00\x00\xc3";
        let mut both = [HELPER, &[0x90, 0x90], HELPER].concat();
        both[16 + 7] = 0x12; // 12050
        both[16 + 8] = 0x2f;
        let sample = Sample::new(X86_64).function("f", wrapper).code(&both);
        assert!(
            sample
                .values(CALLED, "thousands-and-tens", Depth::Default)
                .is_empty()
        );
    }

    #[test]
    fn aarch64_calls_and_stores() {
        // bl +8; ret; nop; nop
        let wrapper = words(&[0x9400_0004, 0xd65f_03c0, 0xd503_201f, 0xd503_201f]);
        let sample = Sample::new(AARCH64)
            .function("f", &wrapper)
            .code(&words(&AARCH64_GETTER));
        assert_eq!(
            sample.values(CALLED, "thousands-and-tens", Depth::Default),
            ["13.5"]
        );
    }
}
