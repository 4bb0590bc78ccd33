//! A constant that an exported function returns.

use std::sync::LazyLock;

use regex::bytes::Regex;
use serde::Deserialize;

use super::{Found, aarch64, bytes_pattern, immediate, unanimous};
use crate::elf::decode::Decoder;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::object::{AARCH64, X86_64};

/// mov eax,imm32
static MOVE: LazyLock<Regex> = bytes_pattern!(r"\xb8(....)");

/// The only plausible constant that the body moves into the return register.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct Returned {
    pub export: String,
}

impl Returned {
    pub fn read(&self, subject: &Subject, decoder: Decoder) -> Result<Found, ElfError> {
        let Some(export) = subject.export(&self.export) else {
            return Ok(Vec::new());
        };
        let body = subject.body(export)?;
        let numbers = match subject.object.machine {
            X86_64 => MOVE
                .captures_iter(&body)
                .filter_map(|it| immediate(it.get(1)))
                .collect(),
            AARCH64 => aarch64::loads(&body),
            _ => Vec::new(),
        };
        Ok(unanimous(numbers, decoder, self.export.as_str()))
    }
}

/// A structure `{patch: u16, minor: u16, major: u32}` returned in one register: mov rax,imm64; ret (x86-64).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct ReturnedFields {
    pub export: String,
}

impl ReturnedFields {
    pub fn read(&self, subject: &Subject) -> Result<Found, ElfError> {
        let Some(export) = subject.export(&self.export) else {
            return Ok(Vec::new());
        };
        let body = subject.body(export)?;
        Ok(match (subject.object.machine, body.as_ref()) {
            (X86_64, [0x48, 0xb8, p0, p1, m0, m1, a, b, 0, 0, 0xc3, ..]) => {
                let half = |low: &u8, high: &u8| u16::from_le_bytes([*low, *high]);
                let (patch, minor, major) = (half(p0, p1), half(m0, m1), half(a, b));
                vec![(format!("{major}.{minor}.{patch}"), self.export.clone())]
            }
            _ => Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::{AARCH64, X86_64};
    use crate::elf::testing::{Sample, words};

    const RETURNED: &str = "{returned: {export: f}}";

    #[test]
    fn the_plausible_constant_is_taken() {
        // mov eax,3; …; mov eax,91002; ret
        let code = b"\xb8\x03\x00\x00\x00\x85\xff\xb8\x7a\x63\x01\x00\xc3";
        let sample = Sample::new(X86_64).function("f", code);
        assert_eq!(
            sample.values(RETURNED, "thousands-before-9", Depth::Default),
            ["9.10.2"]
        );
        let sample =
            Sample::new(AARCH64).function("f", &words(&[0x528c_6f40, 0x72a0_0020, 0xd65f_03c0]));
        assert_eq!(
            sample.values(RETURNED, "thousands-before-9", Depth::Default),
            ["9.10.2"]
        );
    }

    #[test]
    fn fields_of_a_structure_are_taken_apart() {
        let code = b"\x48\xb8\x03\x00\x1b\x00\x02\x00\x00\x00\xc3";
        let sample = Sample::new(X86_64).function("f", code);
        let values = sample.values("{returned-fields: {export: f}}", "number", Depth::Default);
        assert_eq!(values, ["2.27.3"]);
    }
}
