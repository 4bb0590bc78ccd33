//! Documents of published formats, by their schemas.

use std::collections::HashSet;
use std::fs;
use std::sync::LazyLock;

use jsonschema::{Registry, Validator};
use serde_json::Value;

use crate::program::repository;

fn schema(name: &str) -> Value {
    let path = repository("testdata/schemas").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Fails with every fault of a document.
fn assert_valid(validator: &Validator, document: &Value) {
    let faults: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

static SARIF: LazyLock<Validator> = LazyLock::new(|| {
    let mut schema = schema("sarif-2.1.0.schema.json");
    // As published they are no regular expressions of JSON Schema: a bracket is closed that was never opened.
    for object in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][object]["properties"]["language"];
        language.as_object_mut().unwrap().remove("pattern").unwrap();
    }
    let options = jsonschema::options().should_validate_formats(true);
    options.build(&schema).unwrap()
});

static CYCLONEDX: LazyLock<Validator> = LazyLock::new(|| {
    let (spdx, jsf) = (schema("spdx.schema.json"), schema("jsf-0.82.schema.json"));
    let registry = Registry::new()
        .add("http://cyclonedx.org/schema/spdx.schema.json", &spdx)
        .unwrap()
        .add("http://cyclonedx.org/schema/jsf-0.82.schema.json", &jsf)
        .unwrap()
        .prepare()
        .unwrap();
    let options = jsonschema::options().should_validate_formats(true);
    let options = options.with_registry(&registry);
    options.build(&schema("bom-1.6.schema.json")).unwrap()
});

/// Parses a SARIF log, which must be one.
pub fn sarif(text: &str) -> Value {
    let log = serde_json::from_str(text).unwrap();
    assert_valid(&SARIF, &log);
    log
}

/// Parses a CycloneDX document, which must be one and must not name a part twice.
pub fn cyclonedx(text: &str) -> Value {
    let bom = serde_json::from_str(text).unwrap();
    assert_valid(&CYCLONEDX, &bom);
    let mut references = HashSet::new();
    for reference in values(&bom, "bom-ref") {
        assert!(references.insert(reference.clone()), "{reference} twice");
    }
    for reference in values(&bom, "ref") {
        assert!(references.contains(&reference), "{reference} is nowhere");
    }
    bom
}

/// Every text below a key, at any depth.
pub fn values(document: &Value, key: &str) -> Vec<String> {
    let mut found = Vec::new();
    match document {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == key {
                    found.extend(value.as_str().map(str::to_owned));
                }
                found.extend(values(value, key));
            }
        }
        Value::Array(elements) => found.extend(elements.iter().flat_map(|it| values(it, key))),
        _ => {}
    }
    found
}
