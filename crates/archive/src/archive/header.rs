//! The fields of a tar header. The layout comes from the `tar` crate; numbers are parsed like Go's `archive/tar` does: octal with any
//! padding, empty for zero, or base-256.

use std::ops::Range;

use tar::Header;

use super::overlay;

/// Offset of the type in the header.
const TYPE: usize = 156;
/// Offsets in the header: the magic number with its version, the prefix of POSIX, and the trailer of star.
const MAGIC: Range<usize> = 257..265;
const PREFIX: Range<usize> = 345..500;
const TRAILER: Range<usize> = 508..512;
/// A star header has a shorter prefix, followed by a time; a GNU header has two times instead of a prefix.
const STAR_PREFIX: usize = 131;
const GNU_TIME: usize = 12;

/// The path in the header, with the prefix if `readHeader` of Go's `archive/tar` uses it.
pub fn path(header: &Header) -> Vec<u8> {
    let name = until_nul(&header.as_old().name);
    match prefix(header.as_bytes()) {
        [] => name.to_vec(),
        prefix => [prefix, b"/", name].concat(),
    }
}

fn prefix(block: &[u8; 512]) -> &[u8] {
    let field = &block[PREFIX];
    match &block[MAGIC] {
        [b'u', b's', b't', b'a', b'r', 0, ..] if block[TRAILER] == *b"tar\0" => {
            until_nul(&field[..STAR_PREFIX])
        }
        [b'u', b's', b't', b'a', b'r', 0, ..] => until_nul(field),
        // Go before 1.8 wrote a prefix where the times belong.
        b"ustar  \0" if !field[..2 * GNU_TIME].chunks(GNU_TIME).all(is_time) => {
            Some(until_nul(field))
                .filter(|it| it.is_ascii())
                .unwrap_or_default()
        }
        _ => &[],
    }
}

/// Whether Go treats a field as a time: octal digits or base-256.
fn is_time(field: &[u8]) -> bool {
    let digits = field.trim_ascii_start();
    let is_padding = |byte: &u8| matches!(byte, b' ' | 0);
    let end = digits.iter().rposition(|byte| !is_padding(byte));
    let digits = until_nul(&digits[..end.map_or(0, |end| end + 1)]);
    matches!(field, [0 | 0x80.., ..]) || digits.iter().all(|byte| matches!(byte, b'0'..=b'7'))
}

/// Whether the checksum is right, either the unsigned one of POSIX or the signed one of old writers.
pub fn checksum_is_right(header: &Header) -> bool {
    let field = &header.as_old().cksum;
    let Some(stored) = number(field) else {
        return false;
    };
    // The checksum field counts as spaces.
    let spaces = field.len() as u64 * u64::from(b' ');
    let unsigned = sum(header.as_bytes()) - sum(field) + spaces;
    if stored == unsigned {
        return true;
    }
    let negative = |bytes: &[u8]| bytes.iter().filter(|byte| !byte.is_ascii()).count() as u64;
    let too_much = 256 * (negative(header.as_bytes()) - negative(field));
    stored.wrapping_add(too_much) == unsigned
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

/// Parses a number: octal digits between spaces or NULs, or base-256 if the first bit is set (the extension of GNU tar for large
/// values). `None` for anything else, and for negative numbers.
pub fn number(field: &[u8]) -> Option<u64> {
    match field.first() {
        Some(&first) if first & 0x80 != 0 => base_256(first, &field[1..]),
        _ => octal(field),
    }
}

fn base_256(first: u8, rest: &[u8]) -> Option<u64> {
    if first & 0x40 != 0 {
        return None;
    }
    rest.iter()
        .try_fold(u64::from(first & 0x3f), |value, byte| {
            value.checked_mul(256)?.checked_add(u64::from(*byte))
        })
}

fn octal(field: &[u8]) -> Option<u64> {
    let padding = |byte: &u8| matches!(byte, b' ' | 0);
    let start = field
        .iter()
        .position(|byte| !padding(byte))
        .unwrap_or(field.len());
    let digits = &field[start..];
    let end = digits.iter().position(padding).unwrap_or(digits.len());
    digits[..end]
        .iter()
        .try_fold(0_u64, |value, byte| match byte {
            b'0'..=b'7' => value.checked_mul(8)?.checked_add(u64::from(byte - b'0')),
            _ => None,
        })
}

/// Whether the member is a character device that the kernel's overlay file system treats as a whiteout. Like in Go, missing numbers are 0.
pub fn is_whiteout_device(header: &Header) -> bool {
    let numbers = match (header.as_ustar(), header.as_gnu()) {
        (Some(ustar), _) => [number(&ustar.dev_major), number(&ustar.dev_minor)],
        (_, Some(gnu)) => [number(&gnu.dev_major), number(&gnu.dev_minor)],
        _ => [Some(0); 2],
    };
    let [major, minor] = numbers.map(Option::unwrap_or_default);
    header.as_bytes()[TYPE] == b'3' && overlay::is_whiteout_device(major, minor)
}

/// The bytes before the first NUL.
pub fn until_nul(field: &[u8]) -> &[u8] {
    let end = memchr::memchr(0, field).unwrap_or(field.len());
    &field[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_writer() {
        for (field, value) in [
            (&b"0000644\0"[..], Some(0o644)),
            (b"   644 \0", Some(0o644)),
            (b"\0\0\0\0", Some(0)),
            (b"", Some(0)),
            (b"77777777777\0", Some(0o77_777_777_777)),
            (b"\x80\0\0\0\0\0\0\x02\0\0\0\0", Some(8 << 30)),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", None),
            (b"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", None),
            (b"0000648\0", None),
        ] {
            assert_eq!(number(field), value, "{field:?}");
        }
    }

    /// A header of the name `b`, with this magic, prefix and end.
    fn named(magic: &[u8], prefix: &[u8], trailer: &[u8]) -> Header {
        let mut header = Header::new_old();
        let block = header.as_mut_bytes();
        block[0] = b'b';
        block[MAGIC][..magic.len()].copy_from_slice(magic);
        block[PREFIX][..prefix.len()].copy_from_slice(prefix);
        block[TRAILER][..trailer.len()].copy_from_slice(trailer);
        header
    }

    #[test]
    fn prefixes_are_read_like_go_does() {
        let long = [b'a'; 155];
        for (magic, prefix, trailer, path) in [
            (&b"ustar\x0000"[..], &b"a"[..], &b""[..], &b"a/b"[..]),
            (b"ustar\0", b"a", b"", b"a/b"),
            (b"ustar\0 7", b"", b"", b"b"),
            (b"", b"a", b"", b"b"),
            (b"ustar  \0", b"12345670123\x0012345670123\0", b"", b"b"),
            (b"ustar  \0", b"usr/lib", b"", b"usr/lib/b"),
            (b"ustar  \0", b"\0\0\0\0\0\0\0\0\0\0\0\0usr", b"", b"b"),
            (b"ustar  \0", b"\xc3\xa9", b"", b"b"),
            (b"ustar   ", b"usr/lib", b"", b"b"),
            (
                b"ustar\x0000",
                &long,
                b"tar\0",
                &[&long[..131], b"/b"].concat(),
            ),
            (b"ustar\x0000", &long, b"", &[&long[..], b"/b"].concat()),
        ] {
            let found = super::path(&named(magic, prefix, trailer));
            assert_eq!(found, path, "{magic:?} {prefix:?}");
        }
    }

    #[test]
    fn both_checksums_are_accepted() {
        let mut header = Header::new_ustar();
        header.as_old_mut().name[0] = 0xe9;
        header.set_cksum();
        assert!(checksum_is_right(&header));
        let signed = header.cksum().map(|sum| sum - 256).unwrap_or(0);
        let field = format!("{signed:06o}\0 ");
        header.as_old_mut().cksum.copy_from_slice(field.as_bytes());
        assert!(checksum_is_right(&header));
        header.as_old_mut().name[0] = b'x';
        assert!(!checksum_is_right(&header));
    }
}
