//! File capabilities, which a program gets when it is executed: the extended attribute `security.capability`.
//!
//! Source: capabilities(7), "File capabilities"; Linux, `include/uapi/linux/capability.h` (`struct vfs_cap_data`).

/// The extended attribute.
pub const ATTRIBUTE: &str = "security.capability";

/// The bit of a mode for a file whose capabilities a program gets. Linux uses the sixteen bits below it.
pub const FILE_CAPABILITIES: u32 = 1 << 16;

/// Longest value, of revision 3, in bytes.
pub const MAX_VALUE: usize = 24;

/// [`FILE_CAPABILITIES`] if the value of the attribute gives a capability to a program of a user other than root, else 0: the effective
/// flag is set, or a capability is permitted. The kernel ignores a value of another length or revision.
pub fn mode_bit(value: &[u8]) -> u32 {
    const EFFECTIVE: u32 = 1;
    let words: Vec<u32> = value
        .chunks_exact(4)
        .filter_map(|word| Some(u32::from_le_bytes(word.try_into().ok()?)))
        .collect();
    let pairs = match (words.first().map(|magic| magic >> 24), value.len()) {
        (Some(1), 12) => 1,
        (Some(2), 20) | (Some(3), MAX_VALUE) => 2,
        _ => return 0,
    };
    let is_permitted = |pair: usize| words.get(1 + 2 * pair).is_some_and(|word| *word != 0);
    let is_effective = words[0] & EFFECTIVE != 0;
    match is_effective || (0..pairs).any(is_permitted) {
        true => FILE_CAPABILITIES,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn permitted_or_effective_capabilities_count() {
        // As setcap writes `cap_net_raw=ep`, `cap_sys_nice+p`, `cap_net_raw+i` and an empty set.
        for (words, counts) in [
            (&[0x0200_0001, 0x2000, 0, 0, 0][..], true),
            (&[0x0200_0000, 0x80_0000, 0, 0, 0], true),
            (&[0x0200_0000, 0, 0, 1, 0], true),
            (&[0x0200_0000, 0, 0, 0, 0], false),
            (&[0x0200_0000, 0, 0x2000, 0, 0], false),
            (&[0x0300_0001, 0x2000, 0, 0, 0, 1000], true),
            (&[0x0100_0001, 0x2000, 0], true),
            (&[0x0200_0001, 0x2000, 0], false),
            (&[0x0900_0001, 0x2000, 0, 0, 0], false),
            (&[], false),
        ] {
            let bit = mode_bit(&value(words));
            assert_eq!(bit == FILE_CAPABILITIES, counts, "{words:x?}");
        }
    }
}
