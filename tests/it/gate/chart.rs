//! What the Helm chart contains besides Kubernetes objects: versions, alerts, the dashboard.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Value, json};

use super::images::ENFORCE;
use super::server::Server;
use crate::program::repository;

fn file(name: &str) -> String {
    std::fs::read_to_string(repository("deploy/helm/imgcheck").join(name)).unwrap()
}

#[test]
fn the_chart_has_the_version_of_imgcheck() {
    let chart: Value = serde_saphyr::from_str(&file("Chart.yaml")).unwrap();
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

/// The values of labels that an expression compares a metric with: `http_requests_total{path="/x"}`.
fn series(expression: &str) -> Vec<String> {
    let selector = Regex::new(r#"(imgcheck_\w+)(?:\{([^}]*)\})?"#).unwrap();
    let found = selector.captures_iter(expression);
    let written = |it: regex::Captures| match it.get(2) {
        Some(labels) => format!("{}|{}", &it[1], labels.as_str()),
        None => it[1].to_owned(),
    };
    found.map(written).collect()
}

#[test]
fn alerts_and_dashboard_ask_for_metrics_that_there_are() {
    let mut asked = BTreeSet::new();
    let alerts: Value = serde_saphyr::from_str(&file("files/alerts.yaml")).unwrap();
    for rule in alerts["groups"][0]["rules"].as_array().unwrap() {
        asked.extend(series(rule["expr"].as_str().unwrap()));
    }
    let dashboard: Value = serde_json::from_str(&file("files/dashboard.json")).unwrap();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            asked.extend(series(target["expr"].as_str().unwrap()));
        }
    }
    assert!(asked.len() > 10, "{asked:?}");
    // They are there before the first event, which `increase()` would miss otherwise.
    let server = Server::new(ENFORCE);
    let text = server.get("/metrics").text;
    for series in asked {
        let (name, labels) = series.split_once('|').unwrap_or((&series, ""));
        let mut lines = text.lines().filter(|line| line.starts_with(name));
        let has = |line: &str| labels.split(',').all(|label| line.contains(label));
        assert!(lines.any(has), "{series}: {text}");
    }
}

#[test]
fn every_metric_has_a_value_before_its_first_event() {
    let text = Server::new(ENFORCE).get("/metrics").text;
    let types = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE imgcheck_"));
    let names: Vec<&str> = types.filter_map(|it| it.split(' ').next()).collect();
    assert!(names.len() > 10, "{text}");
    for name in names {
        let start = format!("imgcheck_{name}");
        assert!(
            text.lines().any(|line| line.starts_with(&start)),
            "{name}: {text}"
        );
    }
}

/// A mode that the gate would refuse is refused by Helm, before anything is installed.
#[test]
fn the_values_have_only_modes_that_there_are() {
    let schema: Value = serde_json::from_str(&file("values.schema.json")).unwrap();
    let values = jsonschema::draft7::new(&schema).unwrap();
    let with = |gate: Value| json!({"image": {"repository": "x"}, "config": {"gate": gate}});
    assert!(values.is_valid(&with(
        json!({"mode": "warn", "namespaces": {"a": "enforce"}})
    )));
    for gate in [
        json!({"mode": "bogus"}),
        json!({"namespaces": {"a": "bogus"}}),
        json!({"on-miss": "bogus"}),
        json!({"brek-glass": true}),
    ] {
        assert!(!values.is_valid(&with(gate.clone())), "{gate}");
    }
}

/// A misspelled key would keep the gate from starting. The keys are those of the configuration.
#[test]
fn the_values_have_only_keys_that_there_are() {
    let schema: Value = serde_json::from_str(&file("values.schema.json")).unwrap();
    let page = std::fs::read_to_string(repository("docs/src/schema/config.json")).unwrap();
    let page: Value = serde_json::from_str(&page).unwrap();
    let keys = |of: &Value| -> BTreeSet<String> {
        let keys = of["properties"].as_object().unwrap().keys();
        keys.cloned().collect()
    };
    let config = &schema["properties"]["config"];
    assert_eq!(keys(config), keys(&page));
    let gate = &config["properties"]["gate"];
    assert_eq!(keys(gate), keys(&page["$defs"]["GateEntry"]));
    for it in [config, gate] {
        assert_eq!(it["additionalProperties"], false);
    }
}
