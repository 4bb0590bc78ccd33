//! The AArch64 instructions that move constants: MOVZ, MOVK, ORR (shifted register, as MOV), STR (immediate), BL, B, CBZ, RET.
//!
//! [Arm Architecture Reference Manual](https://developer.arm.com/documentation/ddi0487/latest) (DDI 0487), C6.2.

/// `ret`
pub(crate) const RET: u32 = 0xd65f_03c0;

/// The instructions of a piece of code.
pub(crate) fn words(code: &[u8]) -> impl Iterator<Item = u32> {
    code.chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

/// The constants that are known to be in registers.
#[derive(Default)]
pub(crate) struct Registers([Option<u32>; 32]);

impl Registers {
    /// The constant in a register.
    pub fn get(&self, register: u32) -> Option<u32> {
        self.0[(register & 31) as usize]
    }

    /// Follows one instruction if it moves a constant.
    pub fn step(&mut self, word: u32) {
        let target = (word & 31) as usize;
        let immediate = word >> 5 & 0xffff;
        match word & 0x7fe0_0000 {
            // movz, lsl 0 and lsl 16
            0x5280_0000 => self.0[target] = Some(immediate),
            0x52a0_0000 => self.0[target] = Some(immediate << 16),
            // movk, lsl 0 and lsl 16
            0x7280_0000 => self.0[target] = self.0[target].map(|it| it & 0xffff_0000 | immediate),
            0x72a0_0000 => self.0[target] = self.0[target].map(|it| it & 0xffff | immediate << 16),
            _ if word & 0x7fe0_ffe0 == 0x2a00_03e0 => self.0[target] = self.get(word >> 16),
            _ => {}
        }
    }
}

/// The constants that code stores at offset 0 of a pointer (`str wN, [xM]`) up to its first `ret`.
pub(crate) fn stores(code: &[u8]) -> Vec<u32> {
    let mut registers = Registers::default();
    let mut stored = Vec::new();
    for word in words(code) {
        if word == RET {
            break;
        }
        if word & 0xffff_fc00 == 0xb900_0000 {
            stored.extend(registers.get(word));
        }
        registers.step(word);
    }
    stored
}

/// Every constant of 32 bits that code loads: MOVZ, completed by a MOVK of the same register within three instructions.
pub(crate) fn loads(code: &[u8]) -> Vec<u32> {
    let words: Vec<u32> = words(code).collect();
    let mut loaded = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if word & 0x7fe0_0000 != 0x5280_0000 {
            continue;
        }
        let high = words[index + 1..]
            .iter()
            .take(3)
            .find(|next| *next & 0x7fe0_0000 == 0x72a0_0000 && *next & 31 == word & 31);
        loaded.push(word >> 5 & 0xffff | high.map_or(0, |high| (high >> 5 & 0xffff) << 16));
    }
    loaded
}

/// The constant that a function returns, if it does nothing else.
pub(crate) fn only_returns(code: &[u8]) -> Option<u32> {
    let mut registers = Registers::default();
    for word in words(code).take(4) {
        if word == RET {
            return registers.get(0);
        }
        let moves = matches!(
            word & 0x7fe0_0000,
            0x5280_0000 | 0x52a0_0000 | 0x7280_0000 | 0x72a0_0000
        );
        // bti c may come first
        if !moves && word != 0xd503_245f {
            return None;
        }
        registers.step(word);
    }
    None
}

/// The target of a BL or B at `address`; `None` for other instructions.
pub(crate) fn branch_target(word: u32, address: u64) -> Option<u64> {
    if !matches!(word >> 26, 0x25 | 0x05) {
        return None;
    }
    let distance = i64::from((word << 6) as i32 >> 6) * 4;
    Some(address.wrapping_add_signed(distance))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::AARCH64_GETTER;

    fn code(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn stores_are_found_in_either_order() {
        assert_eq!(stores(&code(&AARCH64_GETTER)), [13050]);
    }

    #[test]
    fn stores_at_other_offsets_or_after_the_end_do_not_count() {
        assert!(stores(&code(&[0x5286_5f42, 0xb900_0422, RET])).is_empty());
        assert!(stores(&code(&[0x5286_5f42, RET, 0xb900_0022])).is_empty());
    }

    #[test]
    fn movk_completes_a_constant() {
        // movz w0,#0x637a; movk w0,#1,lsl 16 = 91002
        let load = code(&[0x528c_6f40, 0x72a0_0020, RET]);
        assert_eq!(loads(&load), [91002]);
        assert_eq!(only_returns(&load), Some(91002));
    }

    #[test]
    fn branches_go_forward_and_backward() {
        assert_eq!(branch_target(0x97ff_ffff, 0x1000), Some(0xffc));
        assert_eq!(branch_target(0x9400_0002, 0x1000), Some(0x1008));
        assert_eq!(branch_target(RET, 0x1000), None);
    }
}
