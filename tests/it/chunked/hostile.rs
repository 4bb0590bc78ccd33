//! Tables that cannot be used, damaged layers, registries that fail.

use super::*;

#[test]
fn a_layer_without_a_usable_table_is_streamed() {
    let lazy = lazy(&sample(), Format::ZstdChunked, 50_000);
    let expected = scan(&chunked_blob(&lazy.stored)).unwrap();
    let streamed = |blob: &LayerBlob, ranges: bool, depth: Depth| {
        let (remote, served) = served(blob, ranges);
        let facts = scan_at(depth, &remote).unwrap();
        assert!(served.was_streamed());
        facts
    };
    same(
        &streamed(&chunked_blob(&lazy.stored), false, Depth::Default),
        &expected,
    );
    same(
        &streamed(&chunked_blob(&lazy.stored), true, Depth::Deep),
        &scan_at(Depth::Deep, &chunked_blob(&lazy.stored)).unwrap(),
    );
    for position in [
        "",
        "1:2:3",
        "1:2:3:4:5",
        "0:18446744073709551615:1:1",
        "5:10:99999999999:1",
        "8:9:10:2",
    ] {
        let mut blob = chunked_blob(&lazy.stored);
        let key = blob
            .annotations
            .keys()
            .find(|it| it.ends_with("position"))
            .unwrap()
            .clone();
        blob.annotations.insert(key, position.to_owned());
        same(&streamed(&blob, true, Depth::Default), &expected);
    }
    for table in [
        json!({}),
        json!([]),
        json!({"version": 2, "entries": []}),
        json!({"version": 1}),
        json!({"version": 1, "entries": [{"type": "sock", "name": "a"}]}),
        json!({"version": 1, "entries": [{"type": "chunk", "name": "a"}]}),
        json!({"version": 1, "entries": [{"type": "reg", "name": "a\u{fffd}"}]}),
        json!({"version": 1, "entries": [{"type": "reg", "name": "a", "size": u64::MAX, "offset": 1, "digest": sha256(b"")}]}),
        json!({"version": 1, "entries": [{"type": "reg", "name": "a", "size": 9, "offset": u64::MAX, "digest": sha256(b"")}]}),
    ] {
        let blob = chunked_blob(&lazy.with_table(&table));
        same(
            &streamed(&blob, true, Depth::Default),
            &scan(&blob).unwrap(),
        );
    }
}

#[test]
fn a_table_is_not_used_without_trust() {
    let lazy = lazy(&sample(), Format::ZstdChunked, 50_000);
    let remote = served(&chunked_blob(&lazy.stored), true).0;
    for (strict, no_lazy, method) in [
        (false, false, ReadMethod::Chunks),
        (false, true, ReadMethod::Stream),
        (true, false, ReadMethod::Stream),
    ] {
        let context = imgcheck_model::knowledge::read_context(Depth::Default).unwrap();
        let context = context.with_trust(Trust { strict, no_lazy });
        assert_eq!(context.read_layer(&remote).unwrap().method, method);
    }
}

#[test]
fn a_tampered_layer_is_an_error() {
    for format in [Format::ZstdChunked, Format::Estargz] {
        let lazy = lazy(&sample(), format, 50_000);
        let problem = |blob: &LayerBlob| scan(&served(blob, true).0).unwrap_err().to_string();
        let mut other = chunked_blob(&lazy.stored);
        let value = other
            .annotations
            .values_mut()
            .find(|it| it.starts_with("sha256:"))
            .unwrap();
        *value = sha256(b"another");
        assert!(
            problem(&other).contains("the digest of its table of contents is"),
            "{}",
            problem(&other)
        );
        let mut table = lazy.table.clone();
        for row in table["entries"].as_array_mut().unwrap() {
            if row["name"] == "var/lib/dpkg/status" {
                row["digest"] = sha256(b"another").into();
                row["chunkDigest"] = sha256(b"another").into();
            }
        }
        let found = problem(&chunked_blob(&lazy.with_table(&table)));
        assert!(found.contains("the digest of the chunk at byte"), "{found}");
    }
}

#[test]
fn a_registry_that_fails_is_an_error() {
    #[derive(Debug)]
    struct Failing;
    impl RemoteBlob for Failing {
        fn address(&self) -> String {
            "failing".into()
        }
        fn open(&self) -> io::Result<Box<dyn Read + Send>> {
            panic!("a stream would fail, too");
        }
        fn read_range(&self, _: Range<u64>) -> io::Result<Vec<u8>> {
            Err(io::Error::other("503 after 5 attempts"))
        }
    }
    let blob = LayerBlob {
        data: LayerData::Remote(Arc::new(Failing)),
        ..chunked_blob(&lazy(&sample(), Format::ZstdChunked, 50_000).stored)
    };
    let error = scan(&blob).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(
        error.to_string().contains("503 after 5 attempts"),
        "{error}"
    );
}

/// A value that may be in a table, or not.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(Value::from),
        (0_u64..5_000_000).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(u64::MAX)),
        Just(json!(1_u64 << 63)),
        Just(json!(null)),
        Just(json!("zeros")),
        Just(json!("chunk")),
        Just(json!("reg")),
        Just(json!("../../../etc/passwd")),
        Just(json!([[[[]]]])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_hostile_table_does_not_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..10, value()), 1..6),
        repeated in any::<prop::sample::Index>(),
        estargz in any::<bool>(),
    ) {
        let format = if estargz { Format::Estargz } else { Format::ZstdChunked };
        let lazy = lazy(&small(), format, 5_000);
        let mut table = lazy.table.clone();
        let rows = table["entries"].as_array_mut().unwrap();
        let again = rows[repeated.index(rows.len())].clone();
        rows.push(again);
        let fields = ["type", "name", "size", "offset", "endOffset", "innerOffset", "chunkSize", "chunkOffset", "chunkType", "mode"];
        for (row, field, value) in changes {
            let at = row.index(rows.len());
            rows[at][fields[field]] = value;
        }
        let (remote, _) = served(&chunked_blob(&lazy.with_table(&table)), true);
        let _ = scan(&remote);
    }
}
