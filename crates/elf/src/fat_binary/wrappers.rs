//! Where the containers of a file are: nvcc writes a wrapper for each to `.nvFatBinSegment`, which points to it.
//! `struct __fatBinC_Wrapper_t` in fatbinary_section.h of the toolkit:
//!
//! ```text
//! +0 u32 466243B1  +4 u32 version  +8 address of the container  +16 address of its name, or of further ones
//! ```

use std::ops::Range;

use super::format::SECTIONS;
use crate::error::ElfError;
use crate::object::Object;

/// The section, which has nothing else.
const SECTION: &str = ".nvFatBinSegment";
/// `FATBINC_MAGIC`.
const MAGIC: [u8; 4] = [0xb1, 0x43, 0x62, 0x46];
/// Length of a wrapper in a 64-bit file, in bytes.
const WRAPPER: usize = 24;

/// The containers that wrappers point to, in the order of the file, each up to the end of its section. Empty if the pointers are set
/// only when the file is loaded.
pub(super) fn containers(object: &Object) -> Result<Vec<Range<u64>>, ElfError> {
    let mut found = Vec::new();
    for section in object.sections.iter().filter(|it| it.name == SECTION) {
        let length = section.file.end - section.file.start;
        let table = object.table("wrappers of fat binaries", section.file.start, length)?;
        let wrappers = table.chunks_exact(WRAPPER);
        let wrappers = wrappers.filter(|wrapper| wrapper.starts_with(&MAGIC));
        found.extend(wrappers.filter_map(|wrapper| container(object, wrapper)));
    }
    found.sort_unstable_by_key(|range| range.start);
    found.dedup();
    Ok(found)
}

fn container(object: &Object, wrapper: &[u8]) -> Option<Range<u64>> {
    let address = u64::from_le_bytes(*wrapper.get(8..)?.first_chunk()?);
    let (offset, _) = object.locate(address)?;
    let mut sections = object.sections.iter();
    let section = sections.find(|section| {
        SECTIONS.contains(&section.name.as_str()) && section.file.contains(&offset)
    })?;
    Some(offset..section.file.end)
}
