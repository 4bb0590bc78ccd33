//! The only plausible constant that any code stores through a checked pointer argument and then returns 0: the answer of a
//! driver, whose exported function only jumps to it (x86-64).

use std::ops::ControlFlow;
use std::sync::LazyLock;

use regex::bytes::Regex;
use serde::Deserialize;

use super::{Found, bytes_pattern, immediate, unanimous};
use crate::elf::decode::Decoder;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::object::X86_64;

/// je +8; mov dword ptr [rdi],imm32; xor eax,eax
static STORE: LazyLock<Regex> = bytes_pattern!(r"\x74\x08\xc7\x07(....)\x31\xc0");
/// The longest match.
const OVERLAP: usize = 16;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct GuardedStore {}

impl GuardedStore {
    pub fn read(&self, subject: &Subject, decoder: Decoder) -> Result<Found, ElfError> {
        if subject.object.machine != X86_64 {
            return Ok(Vec::new());
        }
        let mut numbers = Vec::new();
        for range in subject.object.code() {
            subject.object.windows(range, OVERLAP, |_, code| {
                let stores = STORE.captures_iter(code);
                numbers.extend(stores.filter_map(|it| immediate(it.get(1))));
                ControlFlow::<()>::Continue(())
            })?;
        }
        Ok(unanimous(
            numbers,
            decoder,
            "stored by a function of the code",
        ))
    }
}
