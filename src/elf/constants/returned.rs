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
