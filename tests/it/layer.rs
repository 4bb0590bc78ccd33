//! Layers in every form: the same facts from each, and one clear error for each kind of damage.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::layers::layer_blob;
use imgcheck::internals::elf::Depth;
use imgcheck::internals::error::{Error, Result};
use imgcheck::internals::layer::{Content, Entry, EntryKind, LayerFacts, ReadContext};
use imgcheck::internals::limits::Limit;
use imgcheck::internals::progress::Progress;
use imgcheck::internals::source::{LayerBlob, LayerData};
use proptest::prelude::*;
use testkit::tools::{run, tool};
use testkit::{Compression, Item, compress, directory, file, hard_link, symlink, tar};

fn context<'a>() -> ReadContext<'a> {
    ReadContext::builtin(Depth::Default).unwrap()
}

fn scan(blob: &LayerBlob) -> Result<LayerFacts> {
    let layer = context().read_layer(blob)?;
    Ok(std::sync::Arc::unwrap_or_clone(layer.facts))
}

fn scan_tar(bytes: &[u8]) -> Result<LayerFacts> {
    scan(&layer_blob(bytes, bytes))
}

fn scan_directory(root: &Path) -> LayerFacts {
    scan(&LayerBlob {
        diff_id: String::new(),
        digest: None,
        annotations: imgcheck::internals::source::Annotations::new(),
        size: 0,
        data: LayerData::Directory(root.to_owned()),
    })
    .unwrap()
}

/// The same entries; where they differ, the first that does is told, and no more.
fn same(found: &[Entry], expected: &[Entry], context: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.path, expected.path, "{context}");
        if found != expected {
            let short = |entry: &Entry| format!("{entry:?}").chars().take(400).collect::<String>();
            panic!("{context}: {}\nexpected {}", short(found), short(expected));
        }
    }
    assert_eq!(found.len(), expected.len(), "{context}");
}

/// What is wrong with a layer.
fn problem(result: Result<LayerFacts>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.exit_code(), 3);
    match error {
        Error::Layer(failure) => failure.problem,
        other => panic!("{other:?}"),
    }
}

fn sorted(facts: LayerFacts) -> Vec<Entry> {
    let mut entries = facts.entries;
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    entries
}

/// A program of this machine: an ELF file.
fn program() -> Vec<u8> {
    fs::read("/bin/sh").unwrap()
}

fn sample() -> Vec<Item> {
    let long = format!("{}/{}", "directory".repeat(12), "file".repeat(30));
    vec![
        directory("etc"),
        file("etc/os-release", "ID=debian\n"),
        file("etc/ld.so.cache", b"cache\0\xff"),
        file("bin/sh", program()),
        file("bin/broken", b"\x7fELF but no more"),
        file("bin/short", b"\x7fEL"),
        file("empty", b""),
        file(&long, "long"),
        symlink("lib", "usr/lib"),
        symlink(&format!("{long}-link"), &long),
        hard_link("bin/dash", "bin/sh"),
        file("data", vec![b'x'; 70_000]),
    ]
}

#[test]
fn the_entries_of_a_layer() {
    let facts = scan_tar(&tar(&sample())).unwrap();
    let find = |path: &str| {
        facts
            .entries
            .iter()
            .find(|entry| entry.path == path)
            .unwrap()
    };
    assert_eq!(find("etc").kind, EntryKind::Directory);
    assert_eq!(
        find("etc/os-release").kind,
        EntryKind::File(Content::Text("ID=debian\n".into()))
    );
    assert_eq!(
        find("etc/ld.so.cache").kind,
        EntryKind::File(Content::Bytes(b"cache\0\xff".into()))
    );
    assert!(
        matches!(&find("bin/sh").kind, EntryKind::File(Content::Elf(facts)) if facts.class == 64)
    );
    assert!(matches!(
        find("bin/broken").kind,
        EntryKind::File(Content::BrokenElf { .. })
    ));
    assert_eq!(find("bin/short").kind, EntryKind::File(Content::Unread));
    assert_eq!(find("lib").kind, EntryKind::Symlink("usr/lib".into()));
    assert_eq!(find("bin/dash").kind, EntryKind::HardLink("bin/sh".into()));
    assert_eq!((find("data").size, find("data").mode), (70_000, 0o755));
    assert_eq!(
        facts
            .entries
            .iter()
            .filter(|entry| entry.path.len() > 200)
            .count(),
        2
    );
}

#[test]
fn every_compression_gives_the_same_facts() {
    let plain = tar(&sample());
    let expected = scan_tar(&plain).unwrap().entries;
    for compression in [Compression::Gzip, Compression::Zstd] {
        let stored = compress(&plain, compression);
        same(
            &scan(&layer_blob(&stored, &plain)).unwrap().entries,
            &expected,
            &format!("{compression:?}"),
        );
        // Several members or frames, as parallel compressors write them.
        let parts: Vec<u8> = plain
            .chunks(40_000)
            .flat_map(|part| compress(part, compression))
            .collect();
        same(
            &scan(&layer_blob(&parts, &plain)).unwrap().entries,
            &expected,
            &format!("{compression:?} in parts"),
        );
    }
    let padded = [compress(&plain, Compression::Gzip), vec![0; 512]].concat();
    same(
        &scan(&layer_blob(&padded, &plain)).unwrap().entries,
        &expected,
        "padded",
    );
    // zstd:chunked puts a table of contents into skippable frames.
    let skippable = [
        &b"\x50\x2a\x4d\x18\x03\0\0\0abc"[..],
        &compress(&plain, Compression::Zstd),
    ]
    .concat();
    same(
        &scan(&layer_blob(&skippable, &plain)).unwrap().entries,
        &expected,
        "skippable",
    );
}

#[test]
fn a_directory_gives_the_same_facts_as_its_archive() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    testkit::write_directory(&root, &sample());
    testkit::write_directory(
        &root,
        &[
            Item::Fifo("run/fifo".into()),
            symlink("etc/shadow", "/etc/passwd"),
            symlink("loop", "loop"),
        ],
    );
    let from_directory = sorted(scan_directory(&root));
    assert!(
        from_directory
            .iter()
            .any(|entry| entry.path == "run/fifo" && entry.kind == EntryKind::Special)
    );
    let archive = place.path().join("root.tar");
    for format in ["gnu", "posix"] {
        run(
            "tar",
            &[
                "--sort=name",
                &format!("--format={format}"),
                "-C",
                root.to_str().unwrap(),
                "-cf",
                archive.to_str().unwrap(),
                ".",
            ],
        );
        same(
            &sorted(scan_tar(&fs::read(&archive).unwrap()).unwrap()),
            &from_directory,
            format,
        );
    }
}

#[test]
fn every_tar_format_and_every_sparse_format_gives_the_same_facts() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    testkit::write_directory(
        &root,
        &[
            file("etc/os-release", "ID=debian\n"),
            file("bin/sh", program()),
            hard_link("bin/dash", "bin/sh"),
            symlink("lib", "usr/lib"),
            file(
                &format!("{}/name", "d".repeat(98)),
                "in the prefix of ustar",
            ),
        ],
    );
    sparse_file(&root.join("bin/sparse"), &program(), 3 << 20);
    sparse_file(&root.join("holes"), b"a few bytes", 100 << 20);
    let expected = sorted(scan_directory(&root));
    assert!(expected.iter().any(|entry| entry.path == "bin/sparse"
        && matches!(entry.kind, EntryKind::File(Content::Elf(_)))));

    let archive = place.path().join("root.tar");
    let (root, archive_text) = (root.to_str().unwrap(), archive.to_str().unwrap());
    for options in [
        &["--format=ustar"][..],
        &["--format=gnu"],
        &["--format=posix"],
        &["--format=gnu", "--sparse"],
        &["--format=posix", "--sparse", "--sparse-version=0.0"],
        &["--format=posix", "--sparse", "--sparse-version=0.1"],
        &["--format=posix", "--sparse", "--sparse-version=1.0"],
    ] {
        run(
            "tar",
            &[
                options,
                &["--sort=name", "-C", root, "-cf", archive_text, "."],
            ]
            .concat(),
        );
        let plain = fs::read(&archive).unwrap();
        assert_eq!(
            plain.len() < 50 << 20,
            options.contains(&"--sparse"),
            "{options:?}"
        );
        same(
            &sorted(scan_tar(&plain).unwrap()),
            &expected,
            &format!("{options:?}"),
        );
        let stored = compress(&plain, Compression::Zstd);
        let streamed = scan(&layer_blob(&stored, &plain)).unwrap();
        same(
            &sorted(streamed),
            &expected,
            &format!("{options:?}, compressed"),
        );
    }
}

#[test]
fn one_block_of_zeros_is_no_end() {
    let whole = tar(&sample());
    let (cut, end) = whole.split_at(whole.len() - 512);
    assert!(end.iter().all(|byte| *byte == 0));
    assert!(
        problem(scan(&layer_blob(cut, &whole)))
            .contains("truncated: the archive has no end marker")
    );
    assert_eq!(scan_tar(cut).unwrap(), scan_tar(&whole).unwrap());
}

/// A stream goes through the holes of each, and an archive can have thousands of files of some bytes and gigabytes of holes.
#[test]
fn sparse_bytes_limits_the_sum_of_all_elf_files() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    fs::create_dir(&root).unwrap();
    let archive = place.path().join("root.tar");
    let mut context = context();
    context.limits.set(Limit::SparseBytes, 1 << 20);
    for (name, is_allowed) in [("one.so", true), ("two.so", false)] {
        sparse_file(&root.join(name), b"\x7fELF", 600 << 10);
        let (root, archive) = (root.to_str().unwrap(), archive.to_str().unwrap());
        run("tar", &["--sparse", "-C", root, "-cf", archive, "."]);
        let plain = fs::read(archive).unwrap();
        for stored in [plain.clone(), compress(&plain, Compression::Gzip)] {
            let scanned = context.read_layer(&layer_blob(&stored, &plain));
            let problem = scanned.map_err(|error| error.to_string()).err();
            let named = problem
                .as_deref()
                .map(|it| it.contains("the limit sparse-bytes"));
            assert_eq!(named, (!is_allowed).then_some(true), "{name}: {problem:?}");
        }
    }
}

/// A file with `content` at its beginning, then a hole, then more, and a hole at the end.
fn sparse_file(path: &Path, content: &[u8], hole: u64) {
    use std::os::unix::fs::FileExt;
    let file = fs::File::create(path).unwrap();
    file.write_all_at(content, 0).unwrap();
    for at in 1..12 {
        file.write_all_at(b"data between holes", content.len() as u64 + at * hole / 12)
            .unwrap();
    }
    file.set_len(content.len() as u64 + hole).unwrap();
}

/// Python's `tarfile` as another reader and writer.
#[test]
fn pythons_archives_are_read_as_python_reads_them() {
    if !tool("python3") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.tar");
    for format in ["USTAR_FORMAT", "GNU_FORMAT", "PAX_FORMAT"] {
        let script = r#"
import io, sys, tarfile
path, form = sys.argv[1], getattr(tarfile, sys.argv[2])
with tarfile.open(path, "w", format=form) as archive:
    def add(name, kind=tarfile.REGTYPE, link="", content=b"", mode=0o640):
        info = tarfile.TarInfo(name)
        info.type, info.linkname, info.size, info.mode = kind, link, len(content), mode
        archive.addfile(info, io.BytesIO(content))
    add("./plain", content=b"x" * 1000)
    add("/absolute", content=b"y")
    add("a/../b//c/./d", content=b"z")
    add("dir/", tarfile.DIRTYPE, mode=0o1777)
    add("p" * 90 + "/" + "q" * 90, content=b"long")
    add("symlink", tarfile.SYMTYPE, "../" * 20 + "x")
    add("hard", tarfile.LNKTYPE, "./plain")
    add("fifo", tarfile.FIFOTYPE)
    add("device", tarfile.CHRTYPE)
    add("caf\u00e9", content=b"u")
    add("plain", content=b"the second of the name")
    if form != tarfile.USTAR_FORMAT:
        add("r" * 300 + "/" + "s" * 200, content=b"very long")
        add("link to long", tarfile.SYMTYPE, "t" * 400)
kinds = {tarfile.REGTYPE: "file", tarfile.DIRTYPE: "directory", tarfile.SYMTYPE: "symlink",
         tarfile.LNKTYPE: "hard", tarfile.FIFOTYPE: "special", tarfile.CHRTYPE: "special"}
import posixpath
for info in tarfile.open(path):
    name = posixpath.normpath("/" + info.name).lstrip("/")
    print(name, kinds[info.type], info.size, oct(info.mode), info.linkname.removeprefix("./"))
"#;
        let output = std::process::Command::new("python3")
            .args(["-c", script, path.to_str().unwrap(), format])
            .env("PYTHONUTF8", "1")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let expected = String::from_utf8(output.stdout).unwrap();
        let facts = scan_tar(&fs::read(&path).unwrap()).unwrap();
        let found: String = facts.entries.iter().map(listed).collect();
        assert_eq!(found, expected, "{format}");
    }
}

fn listed(entry: &Entry) -> String {
    let (kind, link) = match &entry.kind {
        EntryKind::File(_) => ("file", ""),
        EntryKind::Directory => ("directory", ""),
        EntryKind::Symlink(target) => ("symlink", target.as_str()),
        EntryKind::HardLink(target) => ("hard", target.as_str()),
        EntryKind::Special | EntryKind::WhiteoutDevice => ("special", ""),
        other => panic!("{other:?}"),
    };
    format!(
        "{} {kind} {} 0o{:o} {link}\n",
        entry.path, entry.size, entry.mode
    )
}

#[test]
fn whiteouts_are_entries_of_the_path_that_they_remove() {
    let facts = scan_tar(&tar(&[
        file("usr/.wh.lib", ""),
        file("etc/.wh..wh..opq", ""),
        file(".wh..wh.plnk", ""),
    ]))
    .unwrap();
    let kinds: Vec<_> = facts
        .entries
        .into_iter()
        .map(|entry| (entry.path, entry.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            ("usr/lib".into(), EntryKind::Whiteout),
            ("etc".into(), EntryKind::Opaque)
        ]
    );
}

#[test]
fn an_archive_may_end_without_zeros_and_may_be_empty() {
    let plain = tar(&sample());
    let expected = scan_tar(&plain).unwrap();
    assert_eq!(scan_tar(&plain[..plain.len() - 1024]).unwrap(), expected);
    assert_eq!(scan_tar(&plain[..plain.len() - 512]).unwrap(), expected);
    assert_eq!(
        scan_tar(&[plain, vec![0; 9000]].concat()).unwrap(),
        expected
    );
    assert_eq!(scan_tar(&[0; 1024]).unwrap(), LayerFacts::default());
    assert_eq!(scan_tar(&[]).unwrap(), LayerFacts::default());
}

#[test]
fn damaged_archives() {
    let plain = tar(&[file("one", "1"), file("two", vec![b'2'; 4000])]);
    let cut = problem(scan_tar(&plain[..1024 + 512 + 1000]));
    assert_eq!(
        cut,
        "the archive is truncated: it ends at byte 2536, inside the content of a member (after two)"
    );
    let header = problem(scan_tar(&plain[..1024 + 100]));
    assert_eq!(
        header,
        "the archive is truncated: it ends at byte 1124, inside a header (after one)"
    );
    let mut wrong = plain.clone();
    wrong[1024] ^= 1;
    assert_eq!(
        problem(scan_tar(&wrong)),
        "not a valid tar header at byte 1024: its checksum is wrong (after one)"
    );
    let lone = [&plain[..1024], &[0; 512], &plain[1024..]].concat();
    assert_eq!(
        problem(scan_tar(&lone)),
        "not a valid tar header at byte 1024: a single block of zeros inside the archive (after one)"
    );
}

#[test]
fn unknown_compression() {
    let of = |bytes: &[u8]| problem(scan_tar(bytes));
    assert_eq!(
        of(b"\xfd7zXZ\0 and more"),
        "unsupported compression: xz (layers can be plain, gzip or zstd)"
    );
    assert_eq!(
        of(b"BZh9 and more"),
        "unsupported compression: bzip2 (layers can be plain, gzip or zstd)"
    );
    assert!(of(&[b'?'; 2000]).starts_with(
        "unknown compression: not a tar archive, gzip or zstd, but starts with [3f, "
    ));
}

#[test]
fn damaged_blobs() {
    let plain = tar(&sample());
    for compression in [Compression::Gzip, Compression::Zstd] {
        let stored = compress(&plain, compression);
        let cut = &stored[..stored.len() - 20];
        assert_eq!(
            problem(scan(&layer_blob(cut, &plain))),
            "truncated: the compressed data ends too early"
        );

        let mut blob = layer_blob(&stored, &plain);
        blob.digest = Some("sha256:0".into());
        let found = problem(scan(&blob));
        assert!(
            found.starts_with("damaged: its digest is sha256:")
                && found.ends_with("expected sha256:0"),
            "{found}"
        );
        let blob = layer_blob(&stored, b"other content");
        assert!(problem(scan(&blob)).starts_with("damaged: its diff id is sha256:"));

        // The digest distinguishes a flipped bit from a blob that was never right.
        let mut flipped = stored.clone();
        flipped[stored.len() / 2] ^= 0x10;
        let honest = layer_blob(&flipped, &plain);
        let problem_of_honest = problem(scan(&honest));
        assert!(
            !problem_of_honest.contains("its digest"),
            "{problem_of_honest}"
        );
        let blob = LayerBlob {
            digest: Some(imgcheck::internals::digest::sha256(&stored)),
            ..honest
        };
        assert!(problem(scan(&blob)).starts_with("damaged: its digest is"));
    }
    let tail = [compress(&plain, Compression::Gzip), b"junk".to_vec()].concat();
    assert!(
        problem(scan(&layer_blob(&tail, &plain)))
            .contains("bytes that are not gzip follow its end")
    );
}

#[test]
fn limits_name_themselves() {
    let plain = tar(&sample());
    let with = |limit, value| {
        let mut context = context();
        context.limits.set(limit, value);
        let stored = compress(&plain, Compression::Gzip);
        let scanned = context.read_layer(&layer_blob(&stored, &plain));
        let error = scanned.unwrap_err();
        assert_eq!(error.exit_code(), 3);
        match error {
            Error::Limit { exceeded, .. } => (exceeded.limit, exceeded.allowed),
            error => panic!("{error}"),
        }
    };
    for (limit, value) in [
        (Limit::Entries, 3),
        (Limit::PathBytes, 50),
        (Limit::TextBytes, 5),
        (Limit::TextsBytes, 12),
        (Limit::FactsBytes, 100),
        (Limit::LayerBytes, 4096),
    ] {
        assert_eq!(with(limit, value), (limit, value));
    }
}

#[derive(Default)]
struct CountedBytes(AtomicU64);

impl Progress for CountedBytes {
    fn image(&self, _: &str, _: usize, _: u64) {}
    fn advance(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
    fn layer(&self) {}
    fn note(&self, _: &str) {}
    fn finish(&self) {}
}

#[test]
fn progress_counts_every_stored_byte() {
    let plain = tar(&sample());
    for stored in [plain.clone(), compress(&plain, Compression::Gzip)] {
        let counted = CountedBytes::default();
        let mut context = context();
        context.progress = &counted;
        context.read_layer(&layer_blob(&stored, &plain)).unwrap();
        drop(context);
        assert_eq!(counted.0.into_inner(), stored.len() as u64);
    }
}

/// Parts of archives that a mutation can recombine.
fn pieces() -> Vec<u8> {
    let mut items = sample();
    items[3] = file("bin/sh", &program()[..5000]);
    tar(&items)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn no_bytes_make_the_walk_panic_or_run_for_ever(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40), cut in any::<prop::sample::Index>(), fix in any::<bool>()) {
        let mut bytes = pieces();
        for (at, value) in changes {
            // Mostly in headers: the contents are long and tell little.
            let block = at.index(bytes.len() / 512) * 512;
            let position = block + usize::from(value) * 2 % 512;
            bytes[position] = value;
        }
        if fix {
            for block in bytes.chunks_exact_mut(512) {
                let mut header = tar::Header::new_old();
                header.as_mut_bytes().copy_from_slice(block);
                if header.as_ustar().is_some() || header.as_gnu().is_some() {
                    header.set_cksum();
                    block.copy_from_slice(header.as_bytes());
                }
            }
        }
        bytes.truncate(512.max(cut.index(bytes.len()) + 1));
        let direct = scan_tar(&bytes);
        let streamed = scan(&layer_blob(&compress(&bytes, Compression::Zstd), &bytes));
        match (direct, streamed) {
            (Ok(direct), Ok(streamed)) => same(&streamed.entries, &direct.entries, "streamed"),
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) | (Err(error), Ok(_)) => prop_assert!(false, "only one of the two fails: {}", error),
        }
    }

    #[test]
    fn any_layer_is_the_same_compressed(files in prop::collection::vec(("[a-z]{1,9}(/[a-z]{1,120}){0,3}", prop::collection::vec(any::<u8>(), 0..2000)), 0..12)) {
        let items: Vec<Item> = files.iter().map(|(path, content)| file(path, content)).collect();
        let plain = tar(&items);
        let direct = scan_tar(&plain).unwrap();
        prop_assert_eq!(direct.entries.len(), files.len());
        for compression in [Compression::Gzip, Compression::Zstd] {
            let streamed = scan(&layer_blob(&compress(&plain, compression), &plain)).unwrap();
            same(&streamed.entries, &direct.entries, "streamed");
        }
    }
}
