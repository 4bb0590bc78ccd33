//! `ld.so.cache` in both of its formats (glibc, elf/cache.c).

/// An entry of the new format.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Soname.
    pub name: String,
    /// Path of the library.
    pub path: String,
    /// ABI; 0x303 is x86-64.
    pub flags: u32,
    /// Minimum kernel version; unused since glibc 2.36.
    pub kernel: u32,
    /// Hardware capabilities: bits, or with bit 62 set the index of a `glibc-hwcaps` subdirectory.
    pub hwcap: u64,
}

impl Entry {
    /// A library for x86-64.
    #[must_use]
    pub fn new(name: &str, path: &str) -> Self {
        Entry {
            name: name.to_owned(),
            path: path.to_owned(),
            flags: 0x303,
            kernel: 0,
            hwcap: 0,
        }
    }

    /// A library for x86-64 in a subdirectory of `glibc-hwcaps`.
    #[must_use]
    pub fn subdirectory_hwcap(index: u32, isa_level: u16) -> u64 {
        (u64::from(isa_level) | 1 << 30) << 32 | u64::from(index)
    }
}

/// The old format, of x86-64 libraries: names, in descending order, and paths.
#[must_use]
pub fn old_format(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut table = b"ld.so-1.7.0\0".to_vec();
    table.extend((entries.len() as u32).to_le_bytes());
    let mut strings = Vec::new();
    for (name, path) in entries {
        let at = strings.len() as u32;
        let fields = [0x303, at, at + name.len() as u32 + 1];
        table.extend(fields.map(u32::to_le_bytes).concat());
        strings.extend(format!("{name}\0{path}\0").into_bytes());
    }
    table.extend(strings);
    table
}

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// The byte order flag: little-endian.
const LITTLE: u8 = 2;
const EXTENSION_MAGIC: u32 = 0xeaa4_2174;
const SUBDIRECTORIES: u32 = 1;

/// The new format, as `ldconfig` of glibc 2.32 and later writes it, without the name of its generator.
#[must_use]
pub fn new_format(entries: &[Entry], subdirectories: &[String]) -> Vec<u8> {
    let mut strings = Vec::new();
    let table = HEADER + ENTRY * entries.len();
    let mut string = |text: &str| {
        let at = (table + strings.len()) as u32;
        strings.extend(text.bytes().chain([0]));
        at
    };
    let mut rows = Vec::new();
    for entry in entries {
        for word in [
            entry.flags,
            string(&entry.name),
            string(&entry.path),
            entry.kernel,
        ] {
            rows.extend(word.to_le_bytes());
        }
        rows.extend(entry.hwcap.to_le_bytes());
    }
    let names: Vec<u32> = subdirectories.iter().map(|name| string(name)).collect();
    let extension = (table + strings.len()).next_multiple_of(4);

    let mut file = MAGIC.to_vec();
    for word in [entries.len(), strings.len()] {
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
    file.extend(rows);
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
