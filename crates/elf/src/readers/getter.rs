//! Getters: exported functions that return a constant, or store it through a pointer argument.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::values::{Values, immediates, unanimous};
use crate::aarch64;
use crate::candidate::Candidate;
use crate::error::ElfError;
use crate::number_format::NumberFormat;
use crate::object::{AARCH64, X86_64};
use crate::pattern::bytes_pattern;

/// mov eax,imm32
static MOVE: LazyLock<Regex> = bytes_pattern!(r"\xb8(....)");
/// mov dword ptr [reg],imm32 for every base register: C7 /0 with mod 00, or mod 01 and displacement 0 for rbp and r13.
static STORE: LazyLock<Regex> = bytes_pattern!(
    r"(?:\xc7\x45\x00|\x41\xc7\x04\x24|\x41\xc7\x45\x00|\x41?\xc7[\x00-\x03\x06\x07])(....)"
);

/// mov dword ptr [rdi], [rsi], [rdx],imm32: through the first, second and third argument.
static ARGUMENTS: [LazyLock<Regex>; 3] = [
    bytes_pattern!(r"\xc7\x07(....)"),
    bytes_pattern!(r"\xc7\x06(....)"),
    bytes_pattern!(r"\xc7\x02(....)"),
];
/// Longest body of a function that stores a version through its arguments, in bytes; real ones have 13 to 64.
const MAX_NUMBERS: usize = 128;

/// The only plausible constant in the return register of an export, or the version in a structure
/// `{patch: u16, minor: u16, major: u32}` that it returns (mov rax,imm64; ret).
pub(super) fn returned(
    candidate: &Candidate,
    export: &str,
    format: NumberFormat,
) -> Result<Values, ElfError> {
    let body = candidate.body(export)?;
    let numbers = match (candidate.object.machine, body.as_ref()) {
        (X86_64, [0x48, 0xb8, p0, p1, m0, m1, a, b, 0, 0, 0xc3, ..]) => {
            let half = |low: &u8, high: &u8| u16::from_le_bytes([*low, *high]);
            let (patch, minor, major) = (half(p0, p1), half(m0, m1), half(a, b));
            return Ok(vec![(
                format!("{major}.{minor}.{patch}"),
                export.to_owned(),
            )]);
        }
        (X86_64, body) => immediates(&MOVE, body),
        (AARCH64, body) => aarch64::loads(body),
        _ => Vec::new(),
    };
    Ok(unanimous(numbers, format, export))
}

/// The only plausible constant that an export stores, anywhere in its body.
pub(super) fn stored(
    candidate: &Candidate,
    export: &str,
    format: NumberFormat,
) -> Result<Values, ElfError> {
    let body = candidate.body(export)?;
    let numbers = match candidate.object.machine {
        X86_64 => immediates(&STORE, &body),
        AARCH64 => aarch64::stores(&body),
        _ => Vec::new(),
    };
    Ok(unanimous(numbers, format, export))
}

/// The numbers that a short export stores through its first two or three arguments. x86-64 only.
pub(super) fn stored_numbers(candidate: &Candidate, export: &str) -> Result<Values, ElfError> {
    let body = candidate.body(export)?;
    if candidate.object.machine != X86_64 || body.len() > MAX_NUMBERS {
        return Ok(Vec::new());
    }
    let numbers = ARGUMENTS.iter().map_while(|store| {
        let numbers = immediates(store, &body);
        numbers.first().copied().filter(|number| *number < 1000)
    });
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    Ok(match numbers.len() {
        2.. => vec![(numbers.join("."), export.to_owned())],
        _ => Vec::new(),
    })
}

/// The constant that a function returns, if it does nothing else.
pub(crate) fn constant_function(machine: u16, body: &[u8]) -> Option<u32> {
    match (machine, body) {
        // mov eax,imm32; ret, with or without endbr64 before it
        (X86_64, [0xb8, a, b, c, d, 0xc3, ..])
        | (X86_64, [0xf3, 0x0f, 0x1e, 0xfa, 0xb8, a, b, c, d, 0xc3, ..]) => {
            Some(u32::from_le_bytes([*a, *b, *c, *d]))
        }
        (AARCH64, body) => aarch64::only_returns(body),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Depth;
    use crate::object::{AARCH64, X86_64};
    use crate::testing::{Sample, words};

    #[test]
    fn returned_takes_the_plausible_constant() {
        // mov eax,3; …; mov eax,91002; ret
        let code = b"\xb8\x03\x00\x00\x00\x85\xff\xb8\x7a\x63\x01\x00\xc3";
        let x86 = Sample::new(X86_64).function("f", code);
        let code = words(&[0x528c_6f40, 0x72a0_0020, 0xd65f_03c0]);
        let aarch64 = Sample::new(AARCH64).function("f", &code);
        for sample in [x86, aarch64] {
            let values = sample.values("{returned: f}", "thousands-before-9", Depth::Default);
            assert_eq!(values, ["9.10.2"]);
        }
    }

    #[test]
    fn returned_reads_the_fields_of_a_structure() {
        let code = b"\x48\xb8\x03\x00\x1b\x00\x02\x00\x00\x00\xc3";
        let sample = Sample::new(X86_64).function("f", code);
        let values = sample.values("{returned: f}", "number", Depth::Default);
        assert_eq!(values, ["2.27.3"]);
    }

    #[test]
    fn stored_knows_every_base_register() {
        let stores: [&[u8]; 5] = [
            b"\xc7\x07\xb7\x2d\x00\x00",
            b"\x41\xc7\x45\x00\xb7\x2d\x00\x00",
            b"\xc7\x45\x00\xb7\x2d\x00\x00",
            b"\x41\xc7\x04\x24\xb7\x2d\x00\x00",
            b"\x41\xc7\x06\xb7\x2d\x00\x00",
        ];
        for store in stores {
            let sample = Sample::new(X86_64).function("f", &[store, b"\xc3"].concat());
            let values = sample.values("{stored: f}", "thousands", Depth::Default);
            assert_eq!(values, ["11.7.3"], "{store:x?}");
        }
    }

    #[test]
    fn stored_numbers_are_those_of_the_arguments() {
        // nvFatbinVersion of 12.4: test rdi,rdi; …; mov [rdi],12; xor eax,eax; mov [rsi],4; ret
        let fatbin: &[u8] = b"\x48\x85\xff\x74\x10\xc7\x07\x0c\0\0\0\x31\xc0\xc7\x06\x04\0\0\0\xc3";
        // nvshmemx_vendor_get_version_info of 3.8.0
        let nvshmem: &[u8] = b"\xc7\x07\x03\0\0\0\xc7\x06\x08\0\0\0\xc7\x02\0\0\0\0\xc3";
        let cases = [
            (fatbin, &["12.4"][..]),
            (nvshmem, &["3.8.0"]),
            (b"\xc3", &[]),
        ];
        for (code, expected) in cases {
            let sample = Sample::new(X86_64).function("f", code);
            let values = sample.values("{stored-numbers: f}", "number", Depth::Default);
            assert_eq!(values, expected);
        }
    }
}
