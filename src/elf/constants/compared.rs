//! The library's own version as the other side of a comparison: a load-time check that answers with a known status
//! if its caller comes from another release (x86-64).

use std::ops::{ControlFlow, Range};
use std::sync::LazyLock;

use regex::bytes::Regex;
use serde::Deserialize;

use super::{Found, bytes_pattern, immediate};
use crate::elf::Depth;
use crate::elf::decode::Decoder;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::object::X86_64;

/// Behind mov eax|ebx,status: cmp edi,imm32 or cmp dword ptr [rax],imm32
static BEHIND: LazyLock<Regex> = bytes_pattern!(r"\A.{0,16}?(?:\x81\xff(....)|\x81\x38(....))");
/// Before it: cmp edi,imm32
static BEFORE: LazyLock<Regex> = bytes_pattern!(r"\x81\xff(....)\z");
/// The longest match.
const OVERLAP: usize = 32;
/// How far from the named exports the check is searched.
const NEIGHBOURHOOD: u64 = 16 << 10;

/// In the default reading only the neighbourhood of the `near` exports is searched, in the deep one all code.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct Compared {
    /// The status that the check answers with.
    pub status: u32,
    #[serde(default)]
    pub near: Vec<String>,
}

impl Compared {
    pub fn read(&self, subject: &Subject, decoder: Decoder) -> Result<Found, ElfError> {
        if subject.object.machine != X86_64 {
            return Ok(Vec::new());
        }
        let mut values: Vec<String> = Vec::new();
        for range in self.ranges(subject) {
            subject.object.windows(range, OVERLAP, |_, code| {
                self.search(code, decoder, &mut values);
                ControlFlow::<()>::Continue(())
            })?;
        }
        values.sort_unstable();
        values.dedup();
        Ok(match <[String; 1]>::try_from(values) {
            Ok([value]) => vec![(value, format!("compared before status {}", self.status))],
            Err(_) => Vec::new(),
        })
    }

    fn ranges(&self, subject: &Subject) -> Vec<Range<u64>> {
        let code = subject.object.code();
        if subject.depth == Depth::Deep {
            return code;
        }
        let places = self.near.iter().filter_map(|name| subject.export(name));
        let places = places.filter_map(|export| subject.object.locate(export.address));
        places
            .filter_map(|(offset, _)| {
                let whole = code.iter().find(|range| range.contains(&offset))?;
                let start = offset.saturating_sub(NEIGHBOURHOOD).max(whole.start);
                Some(start..offset.saturating_add(NEIGHBOURHOOD).min(whole.end))
            })
            .collect()
    }

    fn search(&self, code: &[u8], decoder: Decoder, values: &mut Vec<String>) {
        let status = self.status.to_le_bytes();
        for at in memchr::memmem::find_iter(code, &status) {
            let Some(opcode) = at
                .checked_sub(1)
                .filter(|it| matches!(code[*it], 0xb8 | 0xbb))
            else {
                continue;
            };
            if let Some(before) = BEFORE.captures(&code[opcode.saturating_sub(6)..opcode]) {
                values.extend(immediate(before.get(1)).and_then(|it| decoder.decode(it)));
                continue;
            }
            let rest = &code[at + status.len()..];
            if let Some(behind) = BEHIND.captures(&rest[..rest.len().min(OVERLAP)]) {
                let number = immediate(behind.get(1)).and_then(|it| decoder.decode(it));
                let packed = immediate(behind.get(2)).and_then(|it| Decoder::Bytes.decode(it));
                values.extend(number.or(packed));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::X86_64;
    use crate::elf::testing::Sample;

    const NEAR: &str = "{compared: {status: 1002, near: [f]}}";

    #[test]
    fn the_comparison_may_stand_before_or_behind_the_status() {
        // mov eax,1002; …; cmp edi,91002 — cmp edi,91002; mov ebx,1002 — mov eax,1002; …; cmp dword ptr [rax],0x090a02
        let checks: [&[u8]; 3] = [
            b"\xb8\xea\x03\x00\x00\x90\x90\x81\xff\x7a\x63\x01\x00\xc3",
            b"\x81\xff\x7a\x63\x01\x00\xbb\xea\x03\x00\x00\xc3",
            b"\xbb\xea\x03\x00\x00\x90\x81\x38\x02\x0a\x09\x00\xc3",
        ];
        for check in checks {
            let sample = Sample::new(X86_64).function("f", b"\xc3").code(check);
            assert_eq!(
                sample.values(NEAR, "thousands-before-9", Depth::Default),
                ["9.10.2"],
                "{check:x?}"
            );
        }
    }

    #[test]
    fn far_from_the_export_only_deep_finds_it() {
        let mut code = vec![0x90; 40 << 10];
        code.extend(b"\xb8\xea\x03\x00\x00\x81\xff\x7a\x63\x01\x00\xc3");
        let sample = Sample::new(X86_64).function("f", b"\xc3").code(&code);
        assert!(
            sample
                .values(NEAR, "thousands-before-9", Depth::Default)
                .is_empty()
        );
        assert_eq!(
            sample.values(NEAR, "thousands-before-9", Depth::Deep),
            ["9.10.2"]
        );
    }
}
