//! A number that the compiler placed directly behind a known string: both belong to one function.

use std::collections::HashSet;
use std::ops::ControlFlow;

use serde::Deserialize;

use super::Found;
use crate::elf::decode::Decoder;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::recipes::Pattern;

/// The number starts at the next multiple of four behind the string's NUL bytes, up to this much later.
const REACH: usize = 8;
const OVERLAP: usize = 256;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct AfterString {
    /// Pattern of the string without its NUL.
    pub string: Pattern,
}

impl AfterString {
    pub fn read(&self, subject: &Subject, decoder: Decoder) -> Result<Found, ElfError> {
        let mut known = HashSet::new();
        let mut found: Found = Vec::new();
        for range in subject.object.constants() {
            subject.object.windows(range, OVERLAP, |offset, bytes| {
                for string in self.string.0.find_iter(bytes) {
                    let text = String::from_utf8_lossy(string.as_bytes());
                    if let Some(value) = number_behind(bytes, string.end(), offset, decoder)
                        && known.insert(value.clone())
                    {
                        found.push((value, format!("behind the string {text}")));
                    }
                }
                ControlFlow::<()>::Continue(())
            })?;
        }
        Ok(found)
    }
}

fn number_behind(bytes: &[u8], end: usize, offset: u64, decoder: Decoder) -> Option<String> {
    let rest = bytes.get(end..)?;
    let padding = rest.iter().take_while(|byte| **byte == 0).count();
    if padding == 0 {
        return None;
    }
    // The number's own zero bytes may be among the padding: start one word early.
    let misalignment = ((offset + (end + padding) as u64) % 4) as usize;
    let aligned = end + padding + (4 - misalignment) % 4;
    let first = if aligned > end + 4 {
        aligned - 4
    } else {
        aligned
    };
    (first..=first + REACH).step_by(4).find_map(|at| {
        let word: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        decoder.decode(u32::from_le_bytes(word))
    })
}

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::X86_64;
    use crate::elf::testing::Sample;

    const FROM: &str = "{after-string: {string: 'x\\w+VersionCheck'}}";

    #[test]
    fn the_number_stands_at_the_next_word() {
        for name in [
            "xOpsVersionCheck",
            "xxCnnVersionCheck",
            "xxxAdvVersionCheck",
            "xxGraphVersionCheck",
        ] {
            let mut data = [name.as_bytes(), b"\0"].concat();
            data.resize(data.len().next_multiple_of(4), 0);
            data.extend(b"\x00\x0a\x09\x00"); // 9.10.0: starts with a zero byte
            let sample = Sample::new(X86_64).function("f", b"\xc3").data(&data);
            assert_eq!(
                sample.values(FROM, "bytes", Depth::Default),
                ["9.10.0"],
                "{name}"
            );
        }
    }

    #[test]
    fn something_else_behind_the_string_is_none() {
        let sample = Sample::new(X86_64)
            .function("f", b"\xc3")
            .data(b"xOpsVersionCheck\0\0\0\0/usr/local/include/x.h");
        assert!(sample.values(FROM, "bytes", Depth::Default).is_empty());
    }
}
