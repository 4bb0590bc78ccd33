//! Writes `ld.so.cache`, as `ldconfig` of glibc 2.32 and later does (elf/cache.c).

use imgcheck::internals::loader::cache::{Cache, Hwcap};

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// The byte order flag: little-endian.
const LITTLE: u8 = 2;
const EXTENSION_MAGIC: u32 = 0xeaa4_2174;
const SUBDIRECTORIES: u32 = 1;

/// The bytes of a cache in the new format. Its generator is not written.
#[must_use]
pub fn bytes(cache: &Cache) -> Vec<u8> {
    let mut strings = Vec::new();
    let table = HEADER + ENTRY * cache.entries.len();
    let mut string = |text: &str| {
        let at = (table + strings.len()) as u32;
        strings.extend(text.bytes().chain([0]));
        at
    };
    let mut entries = Vec::new();
    for entry in &cache.entries {
        let hwcap = match entry.hwcap {
            Hwcap::Bits(bits) => bits,
            Hwcap::Subdirectory { index, isa_level } => {
                (u64::from(isa_level) | 1 << 30) << 32 | u64::from(index)
            }
        };
        for word in [
            entry.flags,
            string(&entry.name),
            string(&entry.path),
            entry.kernel,
        ] {
            entries.extend(word.to_le_bytes());
        }
        entries.extend(hwcap.to_le_bytes());
    }
    let names: Vec<u32> = cache
        .subdirectories
        .iter()
        .map(|name| string(name))
        .collect();
    let extension = (table + strings.len()).next_multiple_of(4);

    let mut file = MAGIC.to_vec();
    for word in [cache.entries.len(), strings.len()] {
        file.extend((word as u32).to_le_bytes());
    }
    file.extend([LITTLE, 0, 0, 0]);
    let offset = if names.is_empty() {
        0
    } else {
        extension as u32
    };
    file.extend(offset.to_le_bytes());
    file.resize(HEADER, 0);
    file.extend(entries);
    file.extend(strings);
    if !names.is_empty() {
        file.resize(extension, 0);
        let list = [
            SUBDIRECTORIES,
            0,
            extension as u32 + 24,
            4 * names.len() as u32,
        ];
        for word in [EXTENSION_MAGIC, 1].into_iter().chain(list).chain(names) {
            file.extend(word.to_le_bytes());
        }
    }
    file
}
