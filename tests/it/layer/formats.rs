//! Every format gives the same facts.

use super::*;

fn scan_directory(root: &Path) -> LayerFacts {
    scan(&LayerBlob {
        diff_id: String::new(),
        digest: None,
        annotations: imgcheck_source::source::Annotations::new(),
        size: 0,
        data: LayerData::Directory(root.to_owned()),
    })
    .unwrap()
}

fn sorted(facts: LayerFacts) -> Vec<Entry> {
    let mut entries = facts.entries;
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    entries
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
fn one_block_of_zeros_is_not_the_end() {
    let whole = tar(&sample());
    let (cut, end) = whole.split_at(whole.len() - 512);
    assert!(end.iter().all(|byte| *byte == 0));
    assert!(
        problem(scan(&layer_blob(cut, &whole)))
            .contains("truncated: the archive has no end marker")
    );
    assert_eq!(scan_tar(cut).unwrap(), scan_tar(&whole).unwrap());
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
