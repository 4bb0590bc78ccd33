//! Interpreter, build id and stack flags, from the program headers, and notes.
//!
//! [gABI, "Program Header"](https://www.sco.com/developers/gabi/latest/ch5.pheader.html), with its "Note Section".

use std::fmt::Write;

use goblin::elf::program_header::{PF_X, PT_GNU_STACK, PT_INTERP, PT_NOTE};

use serde_json::Value;

use super::error::ElfError;
use super::object::{Object, string_at};

/// How much of all notes is searched for a build id, in bytes: the notes of a core dump are long.
const MAX_NOTES: u64 = 1 << 20;
/// PATH_MAX: Linux does not run a program with a longer PT_INTERP (fs/binfmt_elf.c).
const MAX_INTERPRETER: u64 = 4096;
/// `NT_GNU_BUILD_ID` of binutils' include/elf/common.h.
const BUILD_ID: u32 = 3;

/// PT_INTERP.
pub(crate) fn interpreter(object: &Object) -> Result<Option<String>, ElfError> {
    let Some(segment) = object.segments.iter().find(|it| it.p_type == PT_INTERP) else {
        return Ok(None);
    };
    let length = segment.p_filesz.min(MAX_INTERPRETER);
    let bytes = object.optional(segment.p_offset, length)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(string_at(&bytes, 0)).into_owned()))
}

/// NT_GNU_BUILD_ID of any PT_NOTE, in lowercase hexadecimal.
pub(crate) fn build_id(object: &Object) -> Result<Option<String>, ElfError> {
    let mut left = MAX_NOTES;
    for segment in object.segments.iter().filter(|it| it.p_type == PT_NOTE) {
        let length = segment.p_filesz.min(left);
        left -= length;
        let Some(bytes) = object.optional(segment.p_offset, length)? else {
            continue;
        };
        // Notes are aligned to 4 bytes, or to 8 in segments with that alignment (`.note.gnu.property`).
        let alignment = if segment.p_align == 8 { 8 } else { 4 };
        if let Some(found) = find_build_id(&bytes, alignment) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn find_build_id(notes: &[u8], alignment: usize) -> Option<String> {
    let mut rest = notes;
    while let Some((header, body)) = rest.split_first_chunk::<12>() {
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (name, description, kind) = (word(0) as usize, word(4) as usize, word(8));
        let start = (12 + name).next_multiple_of(alignment) - 12;
        let described = body.get(start..start.checked_add(description)?)?;
        if kind == BUILD_ID && body.get(..name) == Some(b"GNU\0".as_slice()) {
            return Some(described.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            }));
        }
        let next = (12 + start + description).next_multiple_of(alignment) - 12;
        rest = body.get(next..)?;
    }
    None
}

/// The JSON object in the first note of a section, if that note has this owner.
///
/// Writers disagree about where a descriptor with an alignment of 8 bytes starts: `elf(5)` counts from the header, `nvidia-ctk` from
/// the name. So the object is searched for.
pub(crate) fn json(notes: &[u8], owner: &str) -> Option<serde_json::Map<String, Value>> {
    let (header, body) = notes.split_first_chunk::<12>()?;
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let (name, length) = (word(0) as usize, word(4) as usize);
    if body.len() < name || length > body.len() || string_at(&body[..name], 0) != owner.as_bytes() {
        return None;
    }
    let starts = [
        name.next_multiple_of(4),
        (12 + name).next_multiple_of(8) - 12,
        name.next_multiple_of(8),
        name,
    ];
    starts.into_iter().find_map(|start| {
        let described = body.get(start..start.checked_add(length)?)?;
        let is_padding = |byte: &&u8| **byte == 0;
        let before = described.iter().take_while(is_padding).count();
        let after = described.iter().rev().take_while(is_padding).count();
        let described = described.get(before..described.len().checked_sub(after)?)?;
        serde_json::from_slice(described).ok()
    })
}

/// Whether PT_GNU_STACK requests an executable stack; `None` without one.
pub(crate) fn executable_stack(object: &Object) -> Option<bool> {
    object
        .segments
        .iter()
        .find(|segment| segment.p_type == PT_GNU_STACK)
        .map(|segment| segment.p_flags & PF_X != 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_build_id_is_found_after_another_note() {
        let mut notes = Vec::new();
        notes.extend([4, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0]);
        notes.extend(b"GNU\0\x01\x02\x03\x04\x05\0\0\0");
        notes.extend([4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
        notes.extend(b"GNU\0\xab\x0c\0\0");
        assert_eq!(find_build_id(&notes, 4).unwrap(), "ab0c");
    }

    /// The note of the forward-compatibility driver of CUDA 13.1, with padding before its descriptor.
    fn compatibility_note(padding: usize) -> Vec<u8> {
        let text = br#"{"Format": 1, "CUDA Version": "13.1", "Driver": [535, 550]}"#;
        let owner = b"NVIDIA Corporation\0";
        let mut note = Vec::new();
        for word in [owner.len() as u32, text.len() as u32 + 1, 1] {
            note.extend(word.to_le_bytes());
        }
        note.extend(owner);
        note.resize(note.len() + padding, 0);
        note.extend(text);
        note.push(0);
        note.resize(note.len().next_multiple_of(8), 0);
        note
    }

    #[test]
    fn a_json_object_is_found_at_every_alignment() {
        // 12 bytes of header and 19 of the name: 31 without padding, 32 for 4 and 8 bytes, 36 for 8 bytes counted from the name.
        for padding in [0, 1, 5] {
            let object = json(&compatibility_note(padding), "NVIDIA Corporation").unwrap();
            assert_eq!(object["CUDA Version"], "13.1", "{padding}");
        }
        assert_eq!(json(&compatibility_note(1), "NVIDIA"), None);
        let note = compatibility_note(1);
        for length in 0..note.len() - 8 {
            assert_eq!(
                json(&note[..length], "NVIDIA Corporation"),
                None,
                "{length}"
            );
        }
    }

    #[test]
    fn a_note_longer_than_the_segment_ends_the_search() {
        let notes = [
            4, 0, 0, 0, 255, 255, 255, 255, 3, 0, 0, 0, b'G', b'N', b'U', 0,
        ];
        assert_eq!(find_build_id(&notes, 4), None);
    }
}
