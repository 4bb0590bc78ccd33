//! The table of contents of a lazily read layer (zstd:chunked and eStargz): a fuzzed table after a fixed layer, with the correct
//! digest in the manifest. Whatever the table contains, no request leaves the blob.

use imgcheck_fuzz::chunked::Lazy;
use imgcheck_fuzz::layers::scan;
use imgcheck_layer::ReadMethod;
use testkit::chunked::Format;

/// What the layer has in front of the table: a file of each kind of content that is kept.
const FILES: [&[u8]; 3] = [
    b"ID=debian\nVERSION_ID=\"12\"\n",
    b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0",
    b"Name: torch\nVersion: 2.8.0\n",
];

pub fn fuzz(table: &[u8]) {
    for format in [Format::ZstdChunked, Format::Estargz] {
        let mut layer = Lazy::new(format);
        for content in FILES {
            layer.store(content);
        }
        if let Ok(scanned) = scan(&layer.with_table(table)) {
            assert!(scanned.method != ReadMethod::Seek);
        }
    }
}
