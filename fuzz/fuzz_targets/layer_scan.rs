//! An archive as a layer. From a file, as a stream, compressed with gzip and with zstd, it has the same facts or the same kind of
//! error. A truncated archive is never accepted.

use std::sync::Arc;

use imgcheck_base::digest::sha256;
use imgcheck_fuzz::layers::{assert_same, scan, scan_stream, stored};
use imgcheck_image::RootFilesystem;
use imgcheck_layer::{Compression, SNIFFED, sniff};
use testkit::{gzip, repair_checksums, zstd};

pub fn fuzz(input: &[u8]) {
    let Some((archive, cut)) = input.split_last_chunk::<2>() else {
        return;
    };
    let archive = repair_checksums(archive);
    if archive.is_empty() || sniff(&archive[..archive.len().min(SNIFFED)]) != Ok(Compression::None)
    {
        return;
    }
    let diff_id = sha256(&archive);
    let facts =
        |blob: &[u8]| scan(&stored(blob, diff_id.clone())).map(|it| Arc::unwrap_or_clone(it.facts));
    let at_rest = facts(&archive);
    assert_same(
        &at_rest,
        &scan_stream(&archive).map(|it| Arc::unwrap_or_clone(it.layer.facts)),
        "at rest, streamed",
    );
    let cut = archive.len() * usize::from(u16::from_le_bytes(*cut)) / (1 << 16);
    if let Ok(rest) = facts(&archive[..cut]) {
        let whole = at_rest.as_ref().expect("all of what can be read in part");
        assert_eq!(*whole, rest, "a part passes for the whole");
    }
    for compressed in [gzip(&archive), zstd(&archive)] {
        assert_same(&at_rest, &facts(&compressed), "at rest, compressed");
        let cut = compressed.len() * cut / archive.len().max(1);
        assert!(facts(&compressed[..cut]).is_err(), "cut off at {cut}");
    }
    if let Ok(facts) = &at_rest {
        let _ = RootFilesystem::merge([facts]).files().count();
    }
}
