//! The CUDA and cuDNN versions that a library was compiled against.
//!
//! A class of hooks answers with them from virtual methods that only return a constant. The methods are not exported, but they
//! are adjacent: that of cuDNN comes first, those of CUDA follow.

use memchr::memmem;

use super::getter::constant_function;
use super::values::{Values, unanimous};
use crate::candidate::Candidate;
use crate::error::ElfError;
use crate::number_format::NumberFormat;
use crate::object::{AARCH64, X86_64};

const CUDNN: NumberFormat = NumberFormat::ThousandsBefore9;
const CUDA: NumberFormat = NumberFormat::ThousandsAndTens;
/// Functions start at multiples of this, in bytes.
const STRIDE: usize = 16;
const DETAIL: &str = "functions that return a constant";

/// The version of cuDNN: the first number of a run.
pub(super) fn cudnn(candidate: &Candidate) -> Result<Values, ElfError> {
    let runs = runs(&functions(candidate)?);
    Ok(unanimous(runs.into_iter().map(|run| run.0), CUDNN, DETAIL))
}

/// The version of CUDA: the last number of a run. In a library without a run, which has no cuDNN, the only plausible one.
pub(super) fn cuda(candidate: &Candidate) -> Result<Values, ElfError> {
    let functions = functions(candidate)?;
    let last = runs(&functions).into_iter().map(|run| run.1);
    let last = unanimous(last, CUDA, DETAIL);
    if !last.is_empty() {
        return Ok(last);
    }
    let all = functions.into_iter().map(|(_, number)| number);
    Ok(unanimous(all, CUDA, DETAIL))
}

/// The functions that only return a constant, each with its offset in the file.
fn functions(candidate: &Candidate) -> Result<Vec<(u64, u32)>, ElfError> {
    let machine = candidate.object.machine;
    let mut functions = Vec::new();
    candidate.object.search_code(STRIDE, |offset, code| {
        find(machine, offset, code, &mut functions);
    })?;
    functions.dedup();
    Ok(functions)
}

/// The functions in some code, found by the `ret` at their end.
fn find(machine: u16, offset: u64, code: &[u8], functions: &mut Vec<(u64, u32)>) {
    let (needle, before): (&[u8], &[usize]) = match machine {
        // ret and the no-operation that pads to 16 bytes, after mov eax,imm32
        X86_64 => (b"\xc3\x66\x2e\x0f\x1f\x84\x00", &[5]),
        // ret, after movz or movz and movk
        AARCH64 => (b"\xc0\x03\x5f\xd6", &[4, 8]),
        _ => return,
    };
    for at in memmem::find_iter(code, needle) {
        for length in before {
            let Some(start) = at.checked_sub(*length) else {
                continue;
            };
            let offset = offset + start as u64;
            if offset.is_multiple_of(STRIDE as u64)
                && let Some(number) = constant_function(machine, &code[start..])
            {
                functions.push((offset, number));
            }
        }
    }
}

/// The first and last number of each run: one of cuDNN, and at least one of CUDA. One other function may be between two.
///
/// Any function of a run may begin another one. Going backwards keeps the work linear.
fn runs(functions: &[(u64, u32)]) -> Vec<(u32, u32)> {
    let mut runs = Vec::new();
    // The nearest following function that continues a run: its offset, and the last number of the run.
    let mut following: Option<(u64, u32)> = None;
    for &(offset, number) in functions.iter().rev() {
        let reached = following.filter(|(next, _)| *next <= offset + 2 * STRIDE as u64);
        if let Some((_, last)) = reached.filter(|_| CUDNN.decode(number).is_some()) {
            runs.push((number, last));
        }
        if CUDA.decode(number).is_some() {
            following = Some((offset, reached.map_or(number, |(_, last)| last)));
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use crate::Depth;
    use crate::object::{AARCH64, X86_64};
    use crate::testing::{Sample, words};

    fn sample(values: &[u32]) -> Sample {
        let function = |value: &u32| {
            let padding = b"\xc3\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00";
            [&[0xb8][..], &value.to_le_bytes(), padding].concat()
        };
        let code: Vec<u8> = values.iter().flat_map(function).collect();
        Sample::new(X86_64).function("f", b"\xc3").code(&code)
    }

    fn versions(sample: &Sample) -> [Vec<String>; 2] {
        ["compiled-cudnn", "compiled-cuda"]
            .map(|reader| sample.values(reader, "number", Depth::Default))
    }

    #[test]
    fn a_run_gives_both_versions() {
        let sample = sample(&[7, 92600, 1, 13000, 13020, 5, 5, 92600, 13000, 13020]);
        assert_eq!(versions(&sample), [["9.26.0"], ["13.2"]]);
    }

    #[test]
    fn distant_numbers_are_not_a_run() {
        let sample = sample(&[92600, 7, 7, 13000]);
        assert_eq!(versions(&sample), [vec![], vec!["13.0"]]);
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
        assert_eq!(versions(&sample), [["9.10.2"], ["12.8"]]);
    }
}
