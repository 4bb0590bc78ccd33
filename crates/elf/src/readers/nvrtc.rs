//! The version of NVRTC: `nvrtcVersion(int *major, int *minor)` stores one number through each argument (x86-64).

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::values::{Values, immediate};
use crate::candidate::Candidate;
use crate::error::ElfError;
use crate::object::X86_64;
use crate::pattern::bytes_pattern;

pub(super) const EXPORT: &str = "nvrtcVersion";
/// mov dword ptr [rdi],imm32
static MAJOR: LazyLock<Regex> = bytes_pattern!(r"\xc7\x07(....)");
/// mov dword ptr [rsi],imm32
static MINOR: LazyLock<Regex> = bytes_pattern!(r"\xc7\x06(....)");
/// Both stores are within this many bytes.
const REACH: u64 = 64;

/// Major and minor.
pub(super) fn version(candidate: &Candidate) -> Result<Values, ElfError> {
    let object = candidate.object;
    let Some(export) = candidate
        .export(EXPORT)
        .filter(|_| object.machine == X86_64)
    else {
        return Ok(Vec::new());
    };
    let body = object.at_address(export.address, REACH)?;
    let stored = |pattern: &Regex| {
        let number = immediate(pattern.captures(&body)?.get(1));
        number.filter(|number| *number < 1000)
    };
    Ok(match (stored(&MAJOR), stored(&MINOR)) {
        (Some(major), Some(minor)) if major > 0 => {
            vec![(format!("{major}.{minor}"), EXPORT.to_owned())]
        }
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use crate::Depth;
    use crate::object::X86_64;
    use crate::testing::Sample;

    #[test]
    fn version_is_stored_through_two_arguments() {
        let code = b"\xc7\x07\x0c\x00\x00\x00\xc7\x06\x08\x00\x00\x00\x31\xc0\xc3";
        let sample = Sample::new(X86_64).function("nvrtcVersion", code);
        let values = sample.values("nvrtc", "number", Depth::Default);
        assert_eq!(values, ["12.8"]);
    }
}
