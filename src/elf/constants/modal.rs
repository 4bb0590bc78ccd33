//! A version that a library writes into many records of its own, `id << 32 | version` in one instruction: the number
//! that occurs far more often than any other (x86-64).

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use memchr::memmem;
use serde::Deserialize;

use super::Found;
use crate::elf::decode::Decoder;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::object::X86_64;

/// The upper half, a record's id, stays below this.
const ID_LIMIT: u32 = 4096;
/// movabs r64,imm64: a REX prefix, the opcode with the register, eight bytes.
const LENGTH: usize = 10;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct Modal {
    /// Smallest and largest number that counts.
    pub range: (u32, u32),
    /// The largest patch number (the two lowest digits) that counts.
    pub patch: u32,
}

impl Modal {
    pub fn read(&self, subject: &Subject, decoder: Decoder) -> Result<Found, ElfError> {
        if subject.object.machine != X86_64 {
            return Ok(Vec::new());
        }
        let mut counts = BTreeMap::new();
        for range in subject.object.code() {
            // Windows overlap by less than an instruction, so that none is counted twice.
            subject.object.windows(range, LENGTH - 1, |_, code| {
                self.count(code, &mut counts);
                ControlFlow::<()>::Continue(())
            })?;
        }
        let mut ordered: Vec<(u32, u32)> = counts
            .iter()
            .map(|(value, count)| (*count, *value))
            .collect();
        ordered.sort_unstable_by(|left, right| right.cmp(left));
        let second = ordered.get(1).map_or(0, |(count, _)| *count);
        Ok(match ordered.first() {
            Some(&(count, value)) if count >= 2 && count >= 2 * second => decoder
                .decode(value)
                .map(|value| (value, format!("in {count} records of the code")))
                .into_iter()
                .collect(),
            _ => Vec::new(),
        })
    }

    fn count(&self, code: &[u8], counts: &mut BTreeMap<u32, u32>) {
        // Both ends of the range share their upper half: it is the rarest byte sequence to look for.
        let upper = [(self.range.0 >> 16) as u8, 0];
        for at in memmem::find_iter(code, &upper) {
            let Some(start) = at.checked_sub(4) else {
                continue;
            };
            let Some(&[rex, opcode, a, b, c, d, i, j, k, l]) = code
                .get(start..start + LENGTH)
                .and_then(|it| it.first_chunk())
            else {
                continue;
            };
            let value = u32::from_le_bytes([a, b, c, d]);
            let id = u32::from_le_bytes([i, j, k, l]);
            if matches!(rex, 0x48 | 0x49)
                && matches!(opcode, 0xb8..=0xbf)
                && id < ID_LIMIT
                && (self.range.0..=self.range.1).contains(&value)
                && value % 100 <= self.patch
            {
                *counts.entry(value).or_insert(0) += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::X86_64;
    use crate::elf::testing::Sample;

    fn record(id: u32, version: u32) -> Vec<u8> {
        [&[0x48, 0xb8][..], &version.to_le_bytes(), &id.to_le_bytes()].concat()
    }

    fn values(records: &[(u32, u32)]) -> Vec<String> {
        let code: Vec<u8> = records
            .iter()
            .flat_map(|(id, version)| record(*id, *version))
            .collect();
        let sample = Sample::new(X86_64).function("f", b"\xc3").code(&code);
        sample.values(
            "{modal: {range: [90000, 99999], patch: 9}}",
            "thousands-before-9",
            Depth::Default,
        )
    }

    #[test]
    fn the_one_that_prevails_counts() {
        assert_eq!(values(&[(1, 91002), (2, 91002), (3, 90100)]), ["9.10.2"]);
        assert!(values(&[(1, 91002), (2, 91002), (3, 90100), (4, 90100)]).is_empty());
        assert!(values(&[(1, 91002)]).is_empty());
        assert!(values(&[(5000, 91002), (5000, 91002)]).is_empty());
    }
}
