//! Singularity Image Format files (sylabs/sif, `pkg/sif/sif.go`).

/// The format and the role of a partition: SquashFS, and the root filesystem.
pub const SQUASHFS: i32 = 1;
/// The root filesystem.
pub const PRIMARY: i32 = 2;
/// What `--overlay` of Apptainer adds.
pub const OVERLAY: i32 = 4;

const HEADER: usize = 128;
const DESCRIPTOR: usize = 585;
const ALIGNMENT: usize = 4096;

/// A data object.
pub struct Object {
    kind: i32,
    extra: Vec<u8>,
    content: Vec<u8>,
}

/// A definition file.
#[must_use]
pub fn definition(text: &str) -> Object {
    Object {
        kind: 0x4001,
        extra: Vec::new(),
        content: text.into(),
    }
}

/// A partition for amd64.
#[must_use]
pub fn partition(format: i32, role: i32, content: Vec<u8>) -> Object {
    let extra = [&format.to_le_bytes()[..], &role.to_le_bytes(), b"02\0"].concat();
    Object {
        kind: 0x4004,
        extra,
        content,
    }
}

/// A file with these objects.
#[must_use]
pub fn sif(objects: &[Object]) -> Vec<u8> {
    let data = (HEADER + objects.len() * DESCRIPTOR).next_multiple_of(ALIGNMENT);
    let mut file = header(objects.len(), data);
    let mut contents = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        file.extend(descriptor(at, object, data + contents.len()));
        contents.extend(&object.content);
        contents.resize(contents.len().next_multiple_of(ALIGNMENT), 0);
    }
    file.resize(data, 0);
    file.extend(contents);
    file
}

fn header(objects: usize, data: usize) -> Vec<u8> {
    let mut header = b"#!/usr/bin/env run-singularity\n".to_vec();
    header.resize(32, 0);
    header.extend(b"SIF_MAGIC\x0001\x0002\0");
    header.resize(80, 0);
    for number in [0, objects, HEADER, objects * DESCRIPTOR, data, 0] {
        header.extend((number as u64).to_le_bytes());
    }
    header
}

fn descriptor(at: usize, object: &Object, offset: usize) -> Vec<u8> {
    let mut bytes = object.kind.to_le_bytes().to_vec();
    bytes.push(1);
    bytes.extend((at as u32 + 1).to_le_bytes());
    bytes.extend([1, 0, 0, 0xf0, 0, 0, 0, 0]);
    for number in [offset, object.content.len(), object.content.len()] {
        bytes.extend((number as u64).to_le_bytes());
    }
    bytes.resize(73 + 128, 0);
    bytes.extend(&object.extra);
    bytes.resize(DESCRIPTOR, 0);
    bytes
}
