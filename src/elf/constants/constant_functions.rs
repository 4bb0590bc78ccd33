//! Functions that only return a constant, side by side: a class of hooks whose virtual methods answer which versions the
//! library was compiled against. They are not exported, so the code is searched for them.

use std::ops::ControlFlow;

use memchr::memmem;
use serde::Deserialize;

use super::{Found, only_returns, unanimous};
use crate::elf::decode::Decoder;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::object::{AARCH64, X86_64};

/// Functions start at multiples of this.
const STRIDE: usize = 16;

/// Which function of a run counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::elf) enum Take {
    First,
    Last,
    /// Any that decodes, if all that decode agree; runs do not matter.
    Any,
}

/// Runs that start with a number of the format `first` followed by at least one of the format `then`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct ConstantFunctions {
    pub first: Decoder,
    pub then: Decoder,
    pub take: Take,
}

impl ConstantFunctions {
    pub fn read(&self, subject: &Subject, decoder: Decoder) -> Result<Found, ElfError> {
        let mut functions = Vec::new();
        for range in subject.object.code() {
            let machine = subject.object.machine;
            subject.object.windows(range, STRIDE, |offset, code| {
                find(machine, offset, code, &mut functions);
                ControlFlow::<()>::Continue(())
            })?;
        }
        functions.dedup();
        let numbers: Vec<u32> = match self.take {
            Take::Any => functions.iter().map(|(_, value)| *value).collect(),
            Take::First => self.runs(&functions).iter().map(|run| run.0).collect(),
            Take::Last => self.runs(&functions).iter().map(|run| run.1).collect(),
        };
        Ok(unanimous(
            numbers,
            decoder,
            "functions that return a constant",
        ))
    }

    /// The first and the last number of each run. Another function may stand between two of them.
    ///
    /// A run may hold all functions that follow, and each of them may begin another, so the last is handed on from the end.
    fn runs(&self, functions: &[(u64, u32)]) -> Vec<(u32, u32)> {
        let mut runs = Vec::new();
        // The nearest function behind that goes on with a run: its place, and the last number of the run.
        let mut following: Option<(u64, u32)> = None;
        for &(place, value) in functions.iter().rev() {
            let reached = following.filter(|(next, _)| *next <= place + 2 * STRIDE as u64);
            if let Some((_, last)) = reached.filter(|_| self.first.decode(value).is_some()) {
                runs.push((value, last));
            }
            if self.then.decode(value).is_some() {
                following = Some((place, reached.map_or(value, |(_, last)| last)));
            }
        }
        runs
    }
}

/// The functions of a window, by the `ret` that ends them.
fn find(machine: u16, offset: u64, code: &[u8], functions: &mut Vec<(u64, u32)>) {
    let (needle, before): (&[u8], &[usize]) = match machine {
        // ret and the no-operation that pads to 16 bytes, behind mov eax,imm32
        X86_64 => (b"\xc3\x66\x2e\x0f\x1f\x84\x00", &[5]),
        // ret, behind movz or movz and movk
        AARCH64 => (b"\xc0\x03\x5f\xd6", &[4, 8]),
        _ => return,
    };
    for at in memmem::find_iter(code, needle) {
        for length in before {
            let Some(start) = at.checked_sub(*length) else {
                continue;
            };
            if !(offset + start as u64).is_multiple_of(STRIDE as u64) {
                continue;
            }
            if let Some(value) = only_returns(machine, &code[start..]) {
                functions.push((offset + start as u64, value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::{AARCH64, X86_64};
    use crate::elf::testing::{Sample, words};

    const FIRST: &str =
        "{constant-functions: {first: thousands-before-9, then: thousands-and-tens, take: first}}";
    const LAST: &str =
        "{constant-functions: {first: thousands-before-9, then: thousands-and-tens, take: last}}";
    const ANY: &str =
        "{constant-functions: {first: thousands-before-9, then: thousands-and-tens, take: any}}";

    fn function(value: u32) -> Vec<u8> {
        [
            &[0xb8][..],
            &value.to_le_bytes(),
            b"\xc3\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00",
        ]
        .concat()
    }

    fn sample(values: &[u32]) -> Sample {
        let code: Vec<u8> = values.iter().flat_map(|value| function(*value)).collect();
        Sample::new(X86_64).function("f", b"\xc3").code(&code)
    }

    #[test]
    fn a_run_gives_both_versions() {
        let sample = sample(&[7, 92600, 1, 13000, 13020, 5, 5, 92600, 13000, 13020]);
        assert_eq!(
            sample.values(FIRST, "thousands-before-9", Depth::Default),
            ["9.26.0"]
        );
        assert_eq!(
            sample.values(LAST, "thousands-and-tens", Depth::Default),
            ["13.2"]
        );
    }

    #[test]
    fn numbers_apart_are_no_run() {
        let sample = sample(&[92600, 7, 7, 13000]);
        assert!(
            sample
                .values(FIRST, "thousands-before-9", Depth::Default)
                .is_empty()
        );
        assert_eq!(
            sample.values(ANY, "thousands-and-tens", Depth::Default),
            ["13.0"]
        );
    }

    #[test]
    fn aarch64_functions_are_found() {
        let code = words(&[
            0x528c_6f40,
            0x72a0_0020,
            0xd65f_03c0,
            0xd503_201f,
            0x5285_e600,
            0xd65f_03c0,
        ]);
        let sample = Sample::new(AARCH64)
            .function("f", &words(&[0xd65f_03c0]))
            .code(&code);
        assert_eq!(
            sample.values(FIRST, "thousands-before-9", Depth::Default),
            ["9.10.2"]
        );
        assert_eq!(
            sample.values(LAST, "thousands-and-tens", Depth::Default),
            ["12.8"]
        );
    }
}
