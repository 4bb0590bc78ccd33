//! GPU code: containers and entries of any shape, in the sections where nvcc puts them, with the wrappers that point to them, and
//! in a file without section headers.

use imgcheck_fuzz::streamed::{Way, compare};
use testkit::elf::SharedObject;

pub fn fuzz(bytes: &[u8]) {
    let Some((way, content)) = Way::read(bytes) else {
        return;
    };
    let half = content.len() / 2;
    let section = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    let plain = SharedObject {
        machine: 62,
        data: content.to_vec(),
        hole: way.hole(),
        ..SharedObject::default()
    };
    let named = SharedObject {
        machine: 62,
        sections: vec![
            section(".nv_fatbin", content),
            section("__nv_relfatbin", &content[half..]),
            section(".nvFatBinSegment", &wrappers(content)),
            section(".data", &content[..half]),
        ],
        hole: way.hole(),
        ..SharedObject::default()
    };
    for file in [plain, named] {
        compare(file.bytes(), way);
    }
}

/// A wrapper for each place of the bytes that could be a container's.
fn wrappers(content: &[u8]) -> Vec<u8> {
    let magic = [0x50, 0xed, 0x55, 0xba];
    let places = content
        .chunks_exact(8)
        .enumerate()
        .filter(|(_, bytes)| bytes.starts_with(&magic));
    let mut wrappers = Vec::new();
    for (number, _) in places {
        // The first section starts behind the header and two program headers, all in a segment at 0x10000.
        let address = 0x1_0000 + 176_u64 + 8 * number as u64;
        wrappers.extend([0xb1, 0x43, 0x62, 0x46, 1, 0, 0, 0]);
        wrappers.extend(address.to_le_bytes());
        wrappers.extend([0; 8]);
    }
    wrappers
}
