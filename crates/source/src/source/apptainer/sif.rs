//! The Singularity Image Format: a header, descriptors of data objects, and the objects (sylabs/sif, `pkg/sif/sif.go`).

use std::io;

use imgcheck_archive::archive::FileRange;

/// Where the header says what it is.
const MAGIC_AT: usize = 32;
const MAGIC: &[u8] = b"SIF_MAGIC\0";
/// Bytes of the header that are needed to recognize it.
pub(super) const SNIFFED: usize = MAGIC_AT + MAGIC.len();
const HEADER: usize = 128;
const DESCRIPTOR: usize = 585;
/// Most descriptors; Apptainer writes 48.
const MOST_DESCRIPTORS: u64 = 4096;

/// A data object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub kind: ObjectKind,
    pub offset: u64,
    pub length: u64,
}

/// What a data object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ObjectKind {
    /// The definition file.
    Definition,
    /// A file system: its format, its role, and the number of its architecture.
    Partition(i32, i32, [u8; 2]),
    /// An OCI image, in place of a partition.
    Oci,
    /// Labels, signatures and others.
    Other,
}

/// Whether a file that starts with these bytes is one.
pub(super) fn is_sif(start: &[u8]) -> bool {
    start
        .get(MAGIC_AT..)
        .is_some_and(|rest| rest.starts_with(MAGIC))
}

/// The data objects of a file, all within it.
///
/// # Errors
/// The header or a descriptor is damaged, or the file is truncated.
pub(super) fn objects(file: &FileRange) -> io::Result<Vec<Object>> {
    let mut header = [0; HEADER];
    if file.read_at(0, &mut header)? < HEADER || !is_sif(&header) {
        return Err(damaged("truncated: the header is incomplete"));
    }
    let (count, start) = (number(&header, 88), number(&header, 96));
    if count > MOST_DESCRIPTORS {
        return Err(damaged("damaged: it has too many descriptors"));
    }
    let mut objects = Vec::new();
    for at in 0..count {
        let mut bytes = [0; DESCRIPTOR];
        let offset = start.saturating_add(at * DESCRIPTOR as u64);
        if file.read_at(offset, &mut bytes)? < DESCRIPTOR {
            return Err(damaged("truncated: its descriptors are incomplete"));
        }
        if bytes[4] != 0 {
            objects.push(object(&bytes, file.length())?);
        }
    }
    Ok(objects)
}

fn object(bytes: &[u8; DESCRIPTOR], end: u64) -> io::Result<Object> {
    let (offset, length) = (number(bytes, 17), number(bytes, 25));
    if offset.checked_add(length).is_none_or(|last| last > end) {
        return Err(damaged("truncated: a data object ends after the file"));
    }
    // The name is followed by what depends on the kind.
    let extra = 73 + 128;
    let kind = match small(bytes, 0) {
        0x4001 => ObjectKind::Definition,
        0x4004 => ObjectKind::Partition(
            small(bytes, extra),
            small(bytes, extra + 4),
            [bytes[extra + 8], bytes[extra + 9]],
        ),
        0x400a | 0x400b => ObjectKind::Oci,
        _ => ObjectKind::Other,
    };
    Ok(Object {
        kind,
        offset,
        length,
    })
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let low = small(bytes, at) as u32;
    let high = small(bytes, at + 4) as u32;
    u64::from(high) << 32 | u64::from(low)
}

fn small(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn damaged(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}
