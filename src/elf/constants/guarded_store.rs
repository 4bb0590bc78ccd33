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

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::X86_64;
    use crate::elf::testing::Sample;

    #[test]
    fn the_only_plausible_store_counts() {
        let store =
            b"\x74\x08\xc7\x07\xf4\x2e\x00\x00\x31\xc0\xc3\x74\x08\xc7\x07\x01\x00\x00\x00\x31\xc0";
        let sample = Sample::new(X86_64).function("f", b"\xc3").code(store);
        assert_eq!(
            sample.values("{guarded-store: {}}", "thousands-and-tens", Depth::Default),
            ["12.2"]
        );
        let two = [&store[..11], b"\x74\x08\xc7\x07\xea\x2e\x00\x00\x31\xc0"].concat();
        let sample = Sample::new(X86_64).function("f", b"\xc3").code(&two);
        assert!(
            sample
                .values("{guarded-store: {}}", "thousands-and-tens", Depth::Default)
                .is_empty()
        );
    }
}
