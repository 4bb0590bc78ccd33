//! Archives whose checksums are right: a fuzzer would hardly ever find one, and so see nothing behind the first header.

/// The block size of tar.
const BLOCK: usize = 512;
/// Where a header has its checksum, and how many bytes that takes.
const CHECKSUM: std::ops::Range<usize> = 148..156;
/// Where a header has the length of the content.
const SIZE: std::ops::Range<usize> = 124..136;

/// The bytes as an archive: from header to header, as far as their sizes lead, the checksum is put right.
pub fn repaired(bytes: &[u8]) -> Vec<u8> {
    let mut archive = bytes.to_vec();
    let mut position = 0_usize;
    while let Some(header) = archive.get_mut(position..position.saturating_add(BLOCK)) {
        if header.iter().any(|byte| *byte != 0) {
            repair(header);
        }
        let size = octal(&header[SIZE]).unwrap_or_default();
        position = position.saturating_add(BLOCK + size.next_multiple_of(BLOCK));
    }
    archive
}

fn repair(header: &mut [u8]) {
    header[CHECKSUM].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// A size that is too large to be worth following is none.
fn octal(field: &[u8]) -> Option<usize> {
    let text = str::from_utf8(field).ok()?;
    let digits = text.trim_matches(['\0', ' ']);
    usize::from_str_radix(digits, 8)
        .ok()
        .filter(|size| *size < 1 << 32)
}
