//! Layers that other programs wrote.

use super::*;

/// Scans a layer by its table and as a stream, and says how many of its bytes were fetched.
fn compared(blob: &LayerBlob) -> u64 {
    let (remote, served) = served(blob, true);
    let facts = scan(&remote).unwrap();
    assert!(!served.was_streamed());
    same(&facts, &scan(blob).unwrap());
    served.fetched()
}

#[test]
fn lazily_read_facts_equal_streamed_facts() {
    for format in [Format::ZstdChunked, Format::Estargz, Format::EstargzJoined] {
        let blob = chunked_blob(&lazy(&sample(), format, 50_000).stored);
        let fetched = compared(&blob);
        assert!(
            fetched < blob.size / 2,
            "{format:?}: {fetched} of {}",
            blob.size
        );
    }
}

fn skopeo_version() -> String {
    let output = std::process::Command::new("skopeo")
        .arg("--version")
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    text.trim_start_matches("skopeo version ").trim().to_owned()
}

/// The layers of a real image as skopeo stores them.
#[test]
fn layers_that_skopeo_wrote() {
    let image = real_images().join("cuda-12.8-oci");
    // Layers of 1.9.3 do not have the diff id of the archive that they were made from; those of 1.18 do.
    let old = ["1.8.", "1.9."];
    if !tool("skopeo") || !image.exists() || old.iter().any(|it| skopeo_version().starts_with(it)) {
        testkit::tools::say(format_args!(
            "skipped: {} and skopeo from 1.10 on are needed",
            image.display()
        ));
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let target = temporary.path().join("image");
    run(
        "skopeo",
        &[
            "--insecure-policy",
            "copy",
            "--quiet",
            "--dest-compress-format",
            "zstd:chunked",
            "--dest-compress-level",
            "3",
            &format!("oci:{}", image.display()),
            &format!("oci:{}", target.display()),
        ],
    );
    for blob in layers(&target) {
        let fetched = compared(&blob);
        assert!(fetched < blob.size / 3, "{fetched} of {}", blob.size);
    }
}

/// Images at hand that were stored with tables of contents: `CHUNKED` lists layouts, with `=` the same image in another form.
#[test]
#[ignore = "needs layouts at hand: CHUNKED=LAYOUT[=OTHER],… cargo test --test it chunked:: -- --ignored"]
fn layers_at_hand() {
    let list = std::env::var("CHUNKED").unwrap();
    for pair in list.split(',') {
        let (layout, other) = pair.split_once('=').unwrap_or((pair, pair));
        let others = layers(Path::new(other));
        for blob in layers(Path::new(layout)) {
            let (remote, served) = served(&blob, true);
            let start = std::time::Instant::now();
            let facts = scan(&remote).unwrap();
            testkit::tools::say(format_args!(
                "{} bytes, fetched {} ({:.2} %), {} requests, {:?}, streamed: {}",
                blob.size,
                served.fetched(),
                100.0 * served.fetched() as f64 / blob.size as f64,
                served.requests.load(Ordering::Relaxed),
                start.elapsed(),
                served.was_streamed(),
            ));
            let other = others.iter().find(|it| it.diff_id == blob.diff_id);
            same(&facts, &scan(other.unwrap_or(&blob)).unwrap());
        }
    }
}

/// How well the bytes in front compress says nothing of those behind.
#[test]
fn a_library_behind_noise_in_one_member_is_seen() {
    let mut library = fs::read("/bin/sh").unwrap();
    library.resize(8 << 20, 0);
    let items = [
        file("opt/noise", noise(1, 1 << 20)),
        file("opt/library", library),
        // Too long for a script, so that nothing of it is wanted.
        file("opt/text", "text".repeat(80 << 10)),
        file("opt/rest", noise(2, 8 << 20)),
    ];
    let layer = lazy(&items, Format::EstargzJoined, 16 << 20);
    let (remote, served) = served(&chunked_blob(&layer.stored), true);
    let facts = scan(&remote).unwrap();
    assert!(matches!(
        facts.entries[1].kind,
        EntryKind::File(Content::Elf(_))
    ));
    assert!(!served.was_streamed());
    same(&facts, &scan(&chunked_blob(&layer.stored)).unwrap());
}
