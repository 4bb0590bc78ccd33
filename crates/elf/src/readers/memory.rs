//! Versions in constants that an export addresses relative to itself. x86-64 only.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::values::{Values, immediate, unanimous};
use crate::candidate::Candidate;
use crate::error::ElfError;
use crate::number_format::NumberFormat;
use crate::object::X86_64;
use crate::pattern::bytes_pattern;

/// mov reg,[rip+rel32], then mov [rdi+disp8],reg, perhaps after another field: two numbers of a structure at once
static COPY: LazyLock<Regex> = bytes_pattern!(
    r"\x48\x8b[\x05\x0d\x15\x1d](....)(?:\xc7\x47.....)?\x48\x89(?:[\x07\x0f\x17\x1f]|[\x47\x4f\x57\x5f].)"
);
/// lea rax,[rip+rel32]; ret
static POINTER: LazyLock<Regex> = bytes_pattern!(r"^\x48\x8d\x05(....)\xc3");
/// Length of the instruction at the start of both, in bytes: the distance counts from its end.
const INSTRUCTION: u64 = 7;

/// The number at `index` of the two that an export copies into the structure of its caller.
pub(super) fn copied(
    candidate: &Candidate,
    export: &str,
    index: usize,
    format: NumberFormat,
) -> Result<Values, ElfError> {
    let numbers = numbers(candidate, export, &COPY)?;
    Ok(unanimous(numbers.get(index).copied(), format, export))
}

/// The numbers in the structure `{int major, minor, patch}` that an export returns a pointer to.
pub(super) fn pointed_numbers(candidate: &Candidate, export: &str) -> Result<Values, ElfError> {
    let numbers = numbers(candidate, export, &POINTER)?;
    Ok(match numbers[..] {
        [major @ 1..1000, minor @ 0..1000, patch @ 0..1000, ..] => {
            vec![(format!("{major}.{minor}.{patch}"), export.to_owned())]
        }
        _ => Vec::new(),
    })
}

/// The numbers at the address that the first match of a pattern in an export has; fewer at the end of a segment.
fn numbers(candidate: &Candidate, export: &str, pattern: &Regex) -> Result<Vec<u32>, ElfError> {
    let body = candidate.body(export)?;
    let address = candidate.export(export).map(|it| it.address);
    let found = pattern
        .captures(&body)
        .filter(|_| candidate.object.machine == X86_64);
    let (Some(found), Some(address)) = (found, address) else {
        return Ok(Vec::new());
    };
    let start = found.get(0).map_or(0, |it| it.start() as u64);
    let distance = immediate(found.get(1)).unwrap_or_default() as i32;
    let constant = address
        .wrapping_add(start + INSTRUCTION)
        .wrapping_add_signed(distance.into());
    let bytes: Cow<[u8]> = candidate.object.at_address(constant, 12)?;
    let words = bytes.chunks_exact(4);
    Ok(words
        .map(|it| u32::from_le_bytes([it[0], it[1], it[2], it[3]]))
        .collect())
}

#[cfg(test)]
mod tests {
    use crate::Depth;
    use crate::object::X86_64;
    use crate::testing::Sample;

    /// Constants follow the functions at a multiple of 16.
    fn read(code: &[u8], constants: &[u32], from: &str) -> Vec<String> {
        let bytes: Vec<u8> = constants.iter().flat_map(|it| it.to_le_bytes()).collect();
        let sample = Sample::new(X86_64).function("f", code).data(&bytes);
        sample.values(from, "thousands", Depth::Default)
    }

    #[test]
    fn copied_reads_either_number() {
        // nvcompGetProperties of 5.3: test rdi,rdi; je; mov rax,[rip+20]; mov [rdi],rax; xor eax,eax; ret
        let code = b"\x48\x85\xff\x74\x0d\x48\x8b\x05\x14\0\0\0\x48\x89\x07\x31\xc0\xc3";
        let constants = [5300, 12090];
        assert_eq!(read(code, &constants, "{copied: f}"), ["5.3.0"]);
        assert_eq!(read(code, &constants, "{copied-second: f}"), ["12.0.90"]);
        assert_eq!(read(b"\xc3", &constants, "{copied: f}"), [""; 0]);
    }

    #[test]
    fn pointed_numbers_are_those_of_the_structure() {
        // nppGetLibVersion: lea rax,[rip+9]; ret
        let code = b"\x48\x8d\x05\x09\0\0\0\xc3";
        let from = "{pointed-numbers: f}";
        assert_eq!(read(code, &[12, 4, 1, 1], from), ["12.4.1"]);
        assert_eq!(read(code, &[0, 4, 1], from), [""; 0]);
        let far = b"\x48\x8d\x05\xff\xff\xff\x7f\xc3";
        assert_eq!(read(far, &[12, 4, 1], from), [""; 0]);
    }
}
