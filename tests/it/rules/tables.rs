//! The knowledge tables.

use super::*;

const TABLES: &[&str] = &[
    "cuda",
    "cudnn",
    "drivers",
    "frameworks",
    "gpus",
    "nccl",
    "ngc",
    "partners",
    "providers",
    "pytorch",
    "pytorch_docker_tags",
];

/// Lists whose elements are parts of a row that has the source.
const PARTS_OF_ROWS: &[&str] = &[
    "arch_list",
    "shows",
    "archs",
    "builds",
    "cuda",
    "example",
    "examples",
    "gpus",
    "min_driver",
    "minimums",
    "nvidia_smi_seen",
    "pins",
    "pypi_default_by_line",
    "python",
    "sonames",
];

#[test]
fn every_row_of_the_tables_has_a_source() {
    let set = RuleSet::default();
    for name in TABLES {
        let data = set
            .tables()
            .data(name)
            .unwrap_or_else(|| panic!("{name} is missing"));
        let rows = check_sources(name, &data);
        assert!(rows > 5, "{name} has {rows} rows");
    }
}

/// Checks all rows below a place, and gives their number.
fn check_sources(place: &str, data: &Value) -> usize {
    let below = |fields: &serde_json::Map<String, Value>| {
        let counts = fields
            .iter()
            .map(|(name, value)| check_sources(&format!("{place}.{name}"), value));
        counts.sum::<usize>()
    };
    let (depth, list) = (
        place.matches('.').count(),
        place.rsplit('.').next().unwrap_or_default(),
    );
    let part = depth > 1 && PARTS_OF_ROWS.contains(&list);
    match data {
        Value::Object(fields) => below(fields),
        Value::Array(items) => {
            let rows = items.iter().filter_map(Value::as_object);
            let counts = rows.map(|row| {
                let has_source = row
                    .keys()
                    .any(|key| key == "source" || key.ends_with("_source"));
                assert!(has_source || part, "{place}: a row has no source: {row:?}");
                1 + below(row)
            });
            counts.sum()
        }
        _ => 0,
    }
}

#[test]
fn confidence_is_one_of_four_words() {
    let set = RuleSet::default();
    for name in TABLES {
        check_confidence(name, &set.tables().data(name).unwrap());
    }
}

fn check_confidence(place: &str, data: &Value) {
    match data {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "confidence" || name.ends_with("_confidence") {
                    let word = value.as_str().unwrap_or_default();
                    assert!(
                        ["verified", "stated", "inferred", "unknown"].contains(&word),
                        "{place}: {value}"
                    );
                }
                check_confidence(&format!("{place}.{name}"), value);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| check_confidence(place, item)),
        _ => {}
    }
}
