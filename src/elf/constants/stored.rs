//! A constant that an exported function stores through a pointer, wherever it stands in its body.

use std::sync::LazyLock;

use regex::bytes::Regex;
use serde::Deserialize;

use super::{Found, aarch64, bytes_pattern, immediate, unanimous};
use crate::elf::decode::Decoder;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::object::{AARCH64, X86_64};

/// mov dword ptr [reg],imm32 for every base register: C7 /0 with mod 00, or mod 01 and displacement 0 for rbp and r13.
static STORE: LazyLock<Regex> = bytes_pattern!(
    r"(?:\xc7\x45\x00|\x41\xc7\x04\x24|\x41\xc7\x45\x00|\x41?\xc7[\x00-\x03\x06\x07])(....)"
);
/// mov dword ptr [rdi],imm32 and mov dword ptr [rsi],imm32
static FIRST: LazyLock<Regex> = bytes_pattern!(r"\xc7\x07(....)");
static SECOND: LazyLock<Regex> = bytes_pattern!(r"\xc7\x06(....)");
/// A function that stores two numbers is this short.
const PAIR_REACH: u64 = 64;

/// The only plausible constant that the function stores.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct Stored {
    pub export: String,
}

impl Stored {
    pub fn read(&self, subject: &Subject, decoder: Decoder) -> Result<Found, ElfError> {
        let Some(export) = subject.export(&self.export) else {
            return Ok(Vec::new());
        };
        let body = subject.body(export)?;
        let numbers = match subject.object.machine {
            X86_64 => STORE
                .captures_iter(&body)
                .filter_map(|it| immediate(it.get(1)))
                .collect(),
            AARCH64 => aarch64::stores(&body),
            _ => Vec::new(),
        };
        Ok(unanimous(numbers, decoder, self.export.as_str()))
    }
}

/// Major and minor, stored through the first and the second argument (x86-64).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct StoredPair {
    pub export: String,
}

impl StoredPair {
    pub fn read(&self, subject: &Subject) -> Result<Found, ElfError> {
        let Some(export) = subject.export(&self.export) else {
            return Ok(Vec::new());
        };
        if subject.object.machine != X86_64 {
            return Ok(Vec::new());
        }
        let body = subject.object.at_address(export.address, PAIR_REACH)?;
        let stored = |pattern: &Regex| {
            let number = immediate(pattern.captures(&body)?.get(1))?;
            (number < 1000).then_some(number)
        };
        Ok(match (stored(&FIRST), stored(&SECOND)) {
            (Some(major), Some(minor)) if major > 0 => {
                vec![(format!("{major}.{minor}"), self.export.clone())]
            }
            _ => Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::X86_64;
    use crate::elf::testing::Sample;

    #[test]
    fn every_base_register_is_understood() {
        let stores: [&[u8]; 5] = [
            b"\xc7\x07\xb7\x2d\x00\x00",
            b"\x41\xc7\x45\x00\xb7\x2d\x00\x00",
            b"\xc7\x45\x00\xb7\x2d\x00\x00",
            b"\x41\xc7\x04\x24\xb7\x2d\x00\x00",
            b"\x41\xc7\x06\xb7\x2d\x00\x00",
        ];
        for store in stores {
            let sample = Sample::new(X86_64).function("f", &[store, b"\xc3"].concat());
            let values = sample.values("{stored: {export: f}}", "thousands", Depth::Default);
            assert_eq!(values, ["11.7.3"], "{store:x?}");
        }
    }

    #[test]
    fn a_pair_gives_major_and_minor() {
        let code = b"\xc7\x07\x0c\x00\x00\x00\xc7\x06\x08\x00\x00\x00\x31\xc0\xc3";
        let sample = Sample::new(X86_64).function("f", code);
        let values = sample.values("{stored-pair: {export: f}}", "number", Depth::Default);
        assert_eq!(values, ["12.8"]);
    }
}
