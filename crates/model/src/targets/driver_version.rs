//! Versions of the driver.

use std::cmp::Ordering;
use std::fmt;
use std::ops::RangeInclusive;

use imgcheck_base::spelling::InvalidInput;

/// CUDA major versions, which `nvidia-smi` prints beside the driver version. No driver branch has such a number.
const CUDA_MAJORS: RangeInclusive<u32> = 9..=20;
/// The largest number that a branch can have. On Jetson, branches have two digits.
const LAST_BRANCH: u32 = 999;

/// A driver version: `535.183.06`.
///
/// Compared by its numbers: `570.26.0` equals `570.26`, and `535.183.6` equals `535.183.06`.
#[derive(Debug, Clone)]
pub struct DriverVersion {
    numbers: Vec<u32>,
    /// As written, to keep leading zeros.
    text: String,
}

impl Ord for DriverVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        significant(&self.numbers).cmp(significant(&other.numbers))
    }
}

impl PartialOrd for DriverVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for DriverVersion {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for DriverVersion {}

impl DriverVersion {
    /// Reads a version as `nvidia-smi` prints it.
    ///
    /// # Errors
    /// The text is not a driver version, or only a branch.
    pub fn parse(text: &str) -> Result<Self, InvalidInput> {
        let text = text.trim();
        let help = "use the full version that `nvidia-smi` prints, such as 535.183.06";
        match numbers(text) {
            Some(numbers) if numbers.len() == 2 && CUDA_MAJORS.contains(&numbers[0]) => {
                Err(InvalidInput {
                    problem: format!(
                        "`{text}` is not a driver version (is it the CUDA version next to it?)"
                    ),
                    help: help.to_owned(),
                })
            }
            Some(numbers) if numbers[0] > LAST_BRANCH => Err(InvalidInput {
                problem: format!(
                    "`{text}` is not a driver version: its first number has more than three digits"
                ),
                help: help.to_owned(),
            }),
            Some(numbers) if (2..=4).contains(&numbers.len()) => Ok(DriverVersion {
                numbers,
                text: text.to_owned(),
            }),
            Some(_) => Err(InvalidInput {
                problem: format!("`{text}` is only a driver branch"),
                help: help.to_owned(),
            }),
            None => Err(InvalidInput {
                problem: format!("`{text}` is not a driver version"),
                help: help.to_owned(),
            }),
        }
    }

    /// Whether it is this version or later. A table may contain only a branch: `580` is the first driver of its branch.
    pub(super) fn at_least(&self, other: &str) -> bool {
        numbers(other).is_some_and(|other| significant(&self.numbers) >= significant(&other))
    }

    pub(super) fn branch(&self) -> Option<u32> {
        self.numbers.first().copied()
    }
}

/// The numbers without trailing zeros.
fn significant(numbers: &[u32]) -> &[u32] {
    let end = numbers.iter().rposition(|number| *number > 0);
    &numbers[..end.map_or(0, |last| last + 1)]
}

/// The numbers of `535.183.06`.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let number = |part: &str| {
        let all_digits = part.bytes().all(|byte| byte.is_ascii_digit());
        all_digits.then(|| part.parse().ok())?
    };
    text.split('.').map(number).collect()
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
