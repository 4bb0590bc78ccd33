//! Bytes as the blob of a layer, compressed or not. A blob that is accepted was decompressed completely: its diff id is that of other
//! decoders, and without its last byte it is an error.

use std::io::Read;

use imgcheck_base::digest::sha256;
use imgcheck_fuzz::layers::{scan, scan_stream, stored};
use imgcheck_layer::{Compression, SNIFFED, sniff};

pub fn fuzz(blob: &[u8]) {
    let Ok(streamed) = scan_stream(blob) else {
        return;
    };
    assert_eq!(streamed.digest, sha256(blob));
    let compression = sniff(&blob[..blob.len().min(SNIFFED)]).expect("what was read is known");
    assert_eq!(streamed.diff_id, sha256(&plain(compression, blob)));
    let found = scan(&stored(blob, streamed.diff_id.clone()))
        .expect("what has passed by can be read at rest");
    assert_eq!(found.facts, streamed.layer.facts);
    // Zeros behind the last member of gzip are nothing, and frames of zstd may be empty.
    if let Some((_, rest)) = blob.split_last()
        && compression != Compression::None
        && let Ok(rest) = scan_stream(rest)
    {
        assert_eq!(
            rest.diff_id, streamed.diff_id,
            "a part passes for the whole"
        );
    }
}

/// The whole blob, by decoders that nothing of the program uses in this way.
fn plain(compression: Compression, blob: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match compression {
        Compression::None => plain.extend_from_slice(blob),
        Compression::Gzip => {
            let padding = blob.iter().rev().take_while(|byte| **byte == 0).count();
            let mut rest = blob;
            // The last member may end with zeros, too.
            while rest.len() > padding {
                let mut decoder = flate2::bufread::GzDecoder::new(rest);
                decoder.read_to_end(&mut plain).expect("a whole member");
                rest = decoder.into_inner();
            }
        }
        Compression::Zstd => {
            plain = zstd::decode_all(blob).expect("whole frames");
        }
    }
    plain
}
