//! The Job that `imgcheck sweep manifests` prints, as the server accepts it.

use k8s_openapi::api::batch::v1::Job;
use serde_json::Value;
use testkit::kubernetes::Kubernetes;

use crate::program::imgcheck;

/// Fields that are newer than Kubernetes 1.20: 1.21, 1.26 and 1.28.
const NEWER: [&str; 4] = [
    "spec.backoffLimitPerIndex",
    "spec.completionMode",
    "spec.maxFailedIndexes",
    "spec.podFailurePolicy",
];

/// The manifest, as `imgcheck sweep manifests` prints it.
fn manifest() -> String {
    let words = [
        "--engine",
        "kubernetes",
        "--shards",
        "12",
        "--image",
        "registry.example/imgcheck:0.1.0",
    ];
    let output = imgcheck()
        .args(["sweep", "manifests", "--store", "s3://bucket/facts"])
        .args(words)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn job() -> Value {
    imgcheck_base::yaml::parse("job", &manifest()).unwrap()
}

/// Fields of a document that another one does not have, or has otherwise.
fn missing(document: &Value, from: &Value, path: &str, into: &mut Vec<String>) {
    match (document, from) {
        (Value::Object(fields), Value::Object(others)) => {
            for (name, value) in fields {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                missing(value, others.get(name).unwrap_or(&Value::Null), &path, into);
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (at, (item, other)) in items.iter().zip(others).enumerate() {
                missing(item, other, &format!("{path}.{at}"), into);
            }
        }
        _ if document == from => {}
        _ => into.push(path.to_owned()),
    }
}

#[test]
fn every_field_of_the_job_is_one_of_the_published_schema() {
    let job = job();
    // These types are generated from the schema that Kubernetes 1.33 publishes.
    let typed: Job = serde_json::from_value(job.clone()).unwrap();
    let known = serde_json::to_value(&typed).unwrap();
    let mut unknown = Vec::new();
    missing(&job, &known, "", &mut unknown);
    assert!(unknown.is_empty(), "{unknown:?}");
    let spec = typed.spec.unwrap();
    assert_eq!(spec.completion_mode.as_deref(), Some("Indexed"));
    assert_eq!((spec.completions, spec.parallelism), (Some(12), Some(12)));
    let rules = spec.pod_failure_policy.unwrap().rules;
    assert_eq!(rules[0].on_exit_codes.as_ref().unwrap().values, [2, 3]);
}

#[test]
fn kubectl_accepts_the_manifest() {
    let Some(server) = Kubernetes::start() else {
        return;
    };
    // This server has no schemas by which kubectl could validate.
    let words = [
        "--dry-run=client",
        "--validate=false",
        "-f",
        "-",
        "-o",
        "json",
    ];
    let words = [&["create"][..], &words].concat();
    let output = server.kubectl(&words, &manifest());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let accepted: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut lost = Vec::new();
    missing(&job(), &accepted, "", &mut lost);
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn the_server_accepts_the_job() {
    let Some(server) = Kubernetes::start() else {
        return;
    };
    let file = server.directory().join("job.json");
    std::fs::write(&file, job().to_string()).unwrap();
    let url = "/apis/batch/v1/namespaces/default/jobs?dryRun=All&fieldValidation=Strict";
    let output = server.kubectl(&["create", "--raw", url, "-f", file.to_str().unwrap()], "");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let accepted: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut unknown = Vec::new();
    missing(&job(), &accepted, "", &mut unknown);
    unknown.sort();
    assert_eq!(unknown, NEWER);
    // Nothing was made.
    assert_eq!(
        server.json(&["get", "jobs"])["items"],
        serde_json::json!([])
    );
}
