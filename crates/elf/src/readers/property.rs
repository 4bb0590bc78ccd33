//! Property getters, `status get(libraryPropertyType type, int *value)`, which store the major version for type 0, the minor for 1
//! and the patch level for 2. x86-64 only.
//!
//! Compilers turn the `switch` into comparisons and jumps. The few instructions that these consist of are followed for each type,
//! from where the type is first compared; what else the function does, such as logging, comes before or after that.

use super::values::Values;
use crate::candidate::Candidate;
use crate::error::ElfError;
use crate::object::X86_64;

/// How many instructions are followed; real ones have up to nine.
const MAX_STEPS: usize = 32;

/// Major, minor and patch level that an export stores.
pub(super) fn version(candidate: &Candidate, export: &str) -> Result<Values, ElfError> {
    let body = candidate.body(export)?;
    if candidate.object.machine != X86_64 {
        return Ok(Vec::new());
    }
    let version = (0..body.len()).find_map(|start| {
        let register = first_comparison(body.get(start..)?)?;
        let stored = |value| stored(&body, start, register, value).filter(|it| *it < 1000);
        Some(format!("{}.{}.{}", stored(0)?, stored(1)?, stored(2)?))
    });
    Ok(version
        .map(|it| (it, export.to_owned()))
        .into_iter()
        .collect())
}

/// The register that an instruction compares with the type 0 or 1.
fn first_comparison(code: &[u8]) -> Option<u8> {
    match *code {
        // test reg,reg
        [0x85, it, ..] if is_same(it) => Some(it & 7),
        // cmp reg,1
        [0x83, it @ 0xf8..=0xff, 1, ..] => Some(it & 7),
        _ => None,
    }
}

fn is_same(operands: u8) -> bool {
    operands & 0xc0 == 0xc0 && operands & 7 == operands >> 3 & 7
}

/// What the code stores through a pointer if a register has a value.
fn stored(body: &[u8], start: usize, register: u8, value: u8) -> Option<u32> {
    let mut position = start;
    let mut compared = 0;
    for _ in 0..MAX_STEPS {
        let code = body.get(position..)?;
        let (length, target) = match *code {
            // test reg,reg
            [0x85, it, ..] if is_same(it) && it & 7 == register => {
                compared = 0;
                (2, None)
            }
            // cmp reg,imm8
            [0x83, it @ 0xf8..=0xff, number @ 0..=0x7f, ..] if it & 7 == register => {
                compared = number;
                (3, None)
            }
            // mov reg,imm32, the error to return
            [it @ 0xb8..=0xbf, ..] if it & 7 != register => (5, None),
            // jcc rel8
            [it @ 0x72..=0x77, distance, ..] => {
                let distance = isize::from(distance as i8);
                (2, is_taken(it, value, compared).then_some(distance))
            }
            // jcc rel32
            [0x0f, it @ 0x82..=0x87, a, b, c, d, ..] => {
                let distance = i32::from_le_bytes([a, b, c, d]) as isize;
                (6, is_taken(it, value, compared).then_some(distance))
            }
            // mov dword ptr [reg],imm32; r12 as the base needs another byte
            [0x41, 0xc7, 0x04, 0x24, a, b, c, d, ..]
            | [0x41, 0xc7, 0..=3 | 6 | 7, a, b, c, d, ..]
            | [0xc7, 0..=3 | 6 | 7, a, b, c, d, ..] => {
                return Some(u32::from_le_bytes([a, b, c, d]));
            }
            _ => return None,
        };
        position = position
            .checked_add(length)?
            .checked_add_signed(target.unwrap_or(0))?;
    }
    None
}

/// Whether a conditional jump is taken, by the low bits of its opcode: below, not below, equal, not equal, not above, above.
fn is_taken(jump: u8, value: u8, compared: u8) -> bool {
    match jump & 0xf {
        2 => value < compared,
        3 => value >= compared,
        4 => value == compared,
        5 => value != compared,
        6 => value <= compared,
        _ => value > compared,
    }
}

#[cfg(test)]
mod tests {
    use crate::Depth;
    use crate::object::X86_64;
    use crate::testing::Sample;

    fn version(code: &[u8]) -> Vec<String> {
        let sample = Sample::new(X86_64).function("f", code);
        sample.values("{property: f}", "number", Depth::Default)
    }

    #[test]
    fn each_property_is_followed_to_its_store() {
        // nvjpegGetProperty of 12.3.1: test rsi,rsi; cmp edi,1; je minor; jb major; cmp edi,2; jne error; …
        let nvjpeg = b"\x48\x85\xf6\x74\x44\x83\xff\x01\x74\x36\x72\x14\x83\xff\x02\x75\x1f\
            \xc7\x06\x01\0\0\0\x31\xc0\xc3\x66\x0f\x1f\x44\0\0\
            \xc7\x06\x0c\0\0\0\x31\xc0\xc3\x0f\x1f\x80\0\0\0\0\
            \xb8\x02\0\0\0\xc3\x66\x2e\x0f\x1f\x84\0\0\0\0\0\
            \xc7\x06\x03\0\0\0\x31\xc0\xc3";
        assert_eq!(version(nvjpeg), ["12.3.1"]);
        // nvjpegGetProperty of 13.0.0, whose minor version and patch level are equal
        let equal = b"\x48\x85\xf6\x74\x2c\x85\xff\x74\x1f\xb8\x02\0\0\0\x83\xff\x02\x77\x0d\
            \xc7\x06\0\0\0\0\x31\xc0\xc3\x0f\x1f\x40\0\xc3\x0f\x1f\x80\0\0\0\0\
            \xc7\x06\x0d\0\0\0\x31\xc0\xc3";
        assert_eq!(version(equal), ["13.0.0"]);
    }

    #[test]
    fn what_comes_before_the_comparison_does_not_count() {
        // As cudssGetProperty of 0.7.0: a call whose result is tested, then the switch, with the pointer in r12
        let cudss = b"\xe8\0\0\0\0\x85\xc0\x75\x01\x90\
            \x83\xf8\x01\x0f\x84\x13\0\0\0\x85\xc0\x74\x05\x83\xf8\x02\x75\x0f\
            \x41\xc7\x04\x24\0\0\0\0\x31\xc0\x41\xc7\x04\x24\x07\0\0\0\x31\xc0\xc3";
        assert_eq!(version(cudss), ["0.7.0"]);
        // Of 0.8.0, with the pointer in r14: cmp eax,65536; cmp eax,1; je minor; test eax,eax; je; cmp eax,2; je; call; …
        let r14 =
            b"\x3d\0\0\x01\0\x83\xf8\x01\x0f\x84\x17\0\0\0\x85\xc0\x74\x0a\x83\xf8\x02\x74\x05\
            \xe8\0\0\0\0\x41\xc7\x06\0\0\0\0\x31\xc0\x41\xc7\x06\x08\0\0\0\x31\xc0\xc3";
        assert_eq!(version(r14), ["0.8.0"]);
    }

    #[test]
    fn a_function_that_does_something_else_has_no_version() {
        for code in [
            &b"\x85\xff\x74\xfe\xc3"[..],
            b"\x83\xff\x01\x75\xfb",
            b"\x83\xff\x01\x0f\x84\xff\xff\xff\x7f",
            b"\x83\xff\x01\x74\x80",
            b"\xc7\x06\x0c\0\0\0\xc3",
            b"\x83\xff",
        ] {
            assert_eq!(version(code), [""; 0], "{code:x?}");
        }
    }
}
