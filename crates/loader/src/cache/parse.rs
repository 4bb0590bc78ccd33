//! Parses `ld.so.cache`. Layout: glibc's `sysdeps/generic/dl-cache.h`.

use super::content::{Cache, CacheError, Entry, Format, Hwcap};
use imgcheck_archive::archive::path::display;

const OLD_MAGIC: &[u8] = b"ld.so-1.7.0";
const OLD_HEADER: usize = 16;
const OLD_ENTRY: usize = 12;

const NEW_MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const NEW_HEADER: usize = 48;
const NEW_ENTRY: usize = 24;
/// Alignment of the new part in a compatible file.
const NEW_ALIGNMENT: usize = 8;

const EXTENSION_MAGIC: u32 = 0xeaa4_2174;
const GENERATOR: u32 = 0;
const SUBDIRECTORIES: u32 = 1;

/// Longest string, including the final NUL (`PATH_MAX`).
const MAX_STRING: usize = 4096;

type Result<T> = std::result::Result<T, CacheError>;

impl Cache {
    /// Parses `ld.so.cache`. The size of the file and [`Cache::MAX_STRINGS`] limit time and memory.
    ///
    /// # Errors
    /// The file is invalid.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        parse(bytes)
    }
}

fn parse(bytes: &[u8]) -> Result<Cache> {
    if bytes.starts_with(NEW_MAGIC) {
        return new(bytes, 0, Format::New);
    }
    if !bytes.starts_with(OLD_MAGIC) {
        return Err(CacheError::Magic);
    }
    let entries = table(bytes, OLD_MAGIC.len() + 1, 0, OLD_HEADER, OLD_ENTRY)?;
    let strings = entries.start + entries.count * OLD_ENTRY;
    let start = strings.next_multiple_of(NEW_ALIGNMENT);
    match bytes.get(start..) {
        Some(rest) if rest.len() >= NEW_HEADER && rest.starts_with(NEW_MAGIC) => {
            new(bytes, start, Format::Compatible)
        }
        _ => Ok(Cache {
            format: Format::Old,
            generator: None,
            subdirectories: Vec::new(),
            entries: libraries(bytes, &entries, strings)?,
        }),
    }
}

/// Parses the new part, which starts at `base`.
fn new(bytes: &[u8], base: usize, format: Format) -> Result<Cache> {
    let entries = table(bytes, base + NEW_MAGIC.len(), base, NEW_HEADER, NEW_ENTRY)?;
    // The lowest two bits: 2 is little-endian, 3 is big-endian, 1 is invalid. glibc before 2.33 writes no flags.
    let flags = bytes.get(base + 28).copied().unwrap_or_default();
    if flags != 0 && flags & 3 != 2 {
        return Err(CacheError::ByteOrder(flags));
    }
    let mut cache = Cache {
        format,
        generator: None,
        subdirectories: Vec::new(),
        entries: libraries(bytes, &entries, base)?,
    };
    let extension = u32_at(bytes, base + 32).unwrap_or_default() as usize;
    if extension != 0 {
        extensions(bytes, extension, &mut cache)?;
    }
    Ok(cache)
}

/// Where the entries are.
struct Table {
    start: usize,
    count: usize,
    /// Size of an entry, in bytes.
    entry: usize,
}

/// Locates the entries after a header; `count` is the offset of their number.
fn table(bytes: &[u8], count: usize, base: usize, header: usize, entry: usize) -> Result<Table> {
    let size = bytes.len();
    let entries = u32_at(bytes, count).unwrap_or_default();
    let start = base + header;
    let room = size
        .checked_sub(start)
        .ok_or(CacheError::CutOff { entries, size })?;
    match entries as usize {
        count if count <= room / entry => Ok(Table {
            start,
            count,
            entry,
        }),
        _ => Err(CacheError::CutOff { entries, size }),
    }
}

/// Parses the entries; string offsets count from `strings`.
fn libraries(bytes: &[u8], table: &Table, strings: usize) -> Result<Vec<Entry>> {
    let mut left = Cache::MAX_STRINGS;
    let mut text = |entry, offset| {
        let text = string(bytes, strings, entry, offset)?;
        left = left
            .checked_sub(text.len())
            .ok_or(CacheError::Strings(Cache::MAX_STRINGS))?;
        Ok(display(text))
    };
    let end = table.start + table.count * table.entry;
    bytes
        .get(table.start..end)
        .unwrap_or_default()
        .chunks_exact(table.entry)
        .enumerate()
        .map(|(number, entry)| {
            let field = |at| u32_at(entry, at).unwrap_or_default();
            Ok(Entry {
                name: text(number, field(4))?,
                path: text(number, field(8))?,
                flags: field(0),
                kernel: field(12),
                hwcap: hwcap(field(16), field(20)),
            })
        })
        .collect()
}

/// If bit 62 is the only one above the ten bits of the level, the entry belongs to a subdirectory (`dl_cache_hwcap_extension`).
fn hwcap(low: u32, high: u32) -> Hwcap {
    const LEVEL: u32 = 0x3ff;
    if high & !LEVEL == 1 << 30 {
        Hwcap::Subdirectory {
            index: low,
            isa_level: (high & LEVEL) as u16,
        }
    } else {
        Hwcap::Bits(u64::from(high) << 32 | u64::from(low))
    }
}

fn string(bytes: &[u8], table: usize, entry: usize, offset: u32) -> Result<&[u8]> {
    let outside = CacheError::String { entry, offset };
    let start = table.checked_add(offset as usize);
    let rest = start.and_then(|start| bytes.get(start..));
    let rest = rest.ok_or(outside.clone())?;
    let rest = &rest[..rest.len().min(MAX_STRING)];
    match memchr::memchr(0, rest) {
        Some(length) => Ok(&rest[..length]),
        None if rest.len() == MAX_STRING => Err(CacheError::LongString(entry)),
        None => Err(outside),
    }
}

/// Parses the extension section. Its offsets count from the start of the file, even in a compatible file.
fn extensions(bytes: &[u8], start: usize, cache: &mut Cache) -> Result<()> {
    let wrong = |problem| Err(CacheError::Extension(problem));
    if !start.is_multiple_of(4) {
        return wrong("it is not aligned");
    }
    let Some(header) = bytes.get(start..).filter(|rest| rest.len() >= 8) else {
        return wrong("it leaves the file");
    };
    if u32_at(header, 0) != Some(EXTENSION_MAGIC) {
        return wrong("wrong magic");
    }
    let count = u32_at(header, 4).unwrap_or_default() as usize;
    if count > (header.len() - 8) / 16 {
        return wrong("its directory leaves the file");
    }
    // The last part with a given tag wins, as in `_dl_cache_extension_load`.
    let mut names = None;
    for section in header[8..8 + count * 16].chunks_exact(16) {
        let field = |at| u32_at(section, at).unwrap_or_default();
        let (offset, size) = (field(8) as usize, field(12) as usize);
        let content = bytes.get(offset..).and_then(|rest| rest.get(..size));
        let Some(content) = content else {
            return wrong("a part leaves the file");
        };
        match field(0) {
            GENERATOR => cache.generator = Some(display(&content[..size.min(MAX_STRING)])),
            // glibc skips a misaligned part.
            SUBDIRECTORIES if offset.is_multiple_of(4) && size.is_multiple_of(4) => {
                names = Some(content);
            }
            _ => {}
        }
    }
    if let Some(offsets) = names {
        cache.subdirectories = subdirectories(bytes, offsets)?;
    }
    Ok(())
}

fn subdirectories(bytes: &[u8], offsets: &[u8]) -> Result<Vec<String>> {
    let mut left = Cache::MAX_STRINGS;
    offsets
        .chunks_exact(4)
        .map(|offset| {
            let offset = u32_at(offset, 0).unwrap_or_default();
            let name = string(bytes, 0, 0, offset).unwrap_or_default();
            left = left
                .checked_sub(size_of::<String>() + name.len())
                .ok_or(CacheError::Strings(Cache::MAX_STRINGS))?;
            Ok(display(name))
        })
        .collect()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .copied()
        .map(u32::from_le_bytes)
}
