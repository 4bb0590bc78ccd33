//! Parquet, as the crate and pyarrow read it.

use std::process::Command;

use super::*;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use testkit::tools::python_modules;

#[test]
fn the_file_has_the_rows_and_lists_of_the_records() {
    let (records, totals) = fleet();
    let bytes = written(FleetFormat::Parquet, &records, &totals);
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let rows: Vec<_> = reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(&records) {
        let cell = |name: &str| {
            row.get_column_iter()
                .find(|(it, _)| *it == name)
                .unwrap()
                .1
                .clone()
        };
        assert_eq!(cell("reference"), Field::Str(record.reference.clone()));
        let Field::ListInternal(findings) = cell("findings") else {
            panic!("{:?}", cell("findings"));
        };
        let findings: Vec<String> = findings
            .elements()
            .iter()
            .map(|it| match it {
                Field::Str(text) => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected: Vec<String> = record.findings.iter().map(|it| it.rule.clone()).collect();
        assert_eq!(findings, expected);
        let pods = record.pods.map_or(Field::Null, |pods| {
            Field::Long(i64::try_from(pods).unwrap())
        });
        assert_eq!(cell("pods"), pods);
        assert_eq!(cell("pulls"), Field::Null);
        let code = record.code.clone().map_or(Field::Null, Field::Str);
        assert_eq!(cell("code"), code);
    }
}

#[test]
fn row_groups_are_bounded() {
    let records: Vec<FleetRecord> = (0..25_000)
        .map(|number| judged(&format!("r/i:{number}"), Verdict::Pass))
        .collect();
    let bytes = written(FleetFormat::Parquet, &records, &FleetTotals::default());
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let groups: Vec<i64> = reader
        .metadata()
        .row_groups()
        .iter()
        .map(|it| it.num_rows())
        .collect();
    assert_eq!(groups.iter().sum::<i64>(), 25_000);
    assert!(
        groups.len() > 2 && groups.iter().all(|rows| *rows <= 10_000),
        "{groups:?}"
    );
}

#[test]
fn pyarrow_reads_the_file() {
    if !python_modules("pyarrow", "pyarrow.parquet") {
        return;
    }
    let (records, totals) = fleet();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fleet.parquet");
    std::fs::write(&path, written(FleetFormat::Parquet, &records, &totals)).unwrap();
    let script = "import sys, json, pyarrow.parquet as p; t = p.read_table(sys.argv[1]); print(json.dumps(t.to_pylist()))";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(&path)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), records.len());
    assert_eq!(
        rows[2]["findings"],
        serde_json::json!(["claim-torch-version", "gpu-ptx-only"])
    );
    assert_eq!(rows[4]["reference"], HOSTILE);
    assert_eq!(rows[5]["code"], "not-found");
    assert_eq!(rows[0]["pods"], serde_json::Value::Null);
}
