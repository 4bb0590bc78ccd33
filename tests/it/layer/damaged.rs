//! Damaged layers and limits.

use super::*;

/// A stream goes through the holes of each, and an archive can have thousands of files of some bytes and gigabytes of holes.
#[test]
fn sparse_bytes_limits_the_sum_of_all_elf_files() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    fs::create_dir(&root).unwrap();
    let archive = place.path().join("root.tar");
    let mut context = context();
    context.bounds.limits.set(Limit::SparseBytes, 1 << 20);
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
            digest: Some(imgcheck_base::digest::sha256(&stored)),
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
        context.bounds.limits.set(limit, value);
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
