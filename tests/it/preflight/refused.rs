//! Files that cannot be read, and images that may not be.

use std::fs;

use super::{Input, containers};
use crate::program::repository;

/// The error of a file, which ends with this code.
fn error(text: &[u8], code: i32) -> String {
    let input = Input::new("");
    fs::write(input.path().join("deploy.yaml"), text).unwrap();
    let (found, _, error) = input.run(&["deploy.yaml"]);
    assert_eq!(found, code, "{error}");
    assert!(error.contains("deploy.yaml"), "{error}");
    error
}

#[test]
fn what_is_no_manifest_is_an_error_with_its_place() {
    let template = "apiVersion: v1\nkind: Pod\nspec: {{ toYaml .Values.pod }}\n";
    let quoted = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - {name: c, image: \"{{ .Values.image }}\"}\n";
    for (text, place) in [(template, "3:7"), (quoted, "5:25")] {
        let error = error(text.as_bytes(), 2);
        assert!(error.contains(&format!("deploy.yaml:{place}")), "{error}");
        assert!(
            error.contains("template") && error.contains("helm template"),
            "{error}"
        );
    }
    let values = error(b"replicas: 2\nimage: x\n", 2);
    assert!(values.contains("neither a Kubernetes object"), "{values}");
    assert!(error(b"kind: Pod\n  x: [\n", 2).contains("deploy.yaml:2"));
    assert!(error(b"\xff\xfe\x00", 2).contains("byte 1"));
    assert!(error(b"\x7fELF\x02\x01\x01\x00\x00", 2).contains("deploy.yaml"));
}

/// What is next to it in the file is judged.
#[test]
fn a_document_that_is_no_manifest_is_an_error_of_its_own() {
    let pod = super::kubernetes::pod("", "");
    let template = pod.replace("IMAGE", "\"{{ .Values.image }}\"");
    let values = "replicas: 2\nimage: x\n";
    let text = format!("{pod}---\n{template}---\n{values}---\n{values}---\n{pod}");
    let (code, report) = Input::new(&text).json(&[]);
    assert_eq!(code, 2, "{report}");
    assert_eq!(containers(&report).len(), 2, "{report}");
    let errors = report["errors"].as_array().unwrap().iter();
    let places = errors.map(|it| {
        let (_, place) = it["message"].as_str()?.split_once("deploy.yaml:")?;
        place.split(':').next()
    });
    let places: Vec<_> = places.flatten().collect();
    assert_eq!(places, ["17", "20", "15"], "{report}");
}

#[test]
fn an_image_is_no_manifest() {
    let (code, _, error) = Input::new("").run(&[&repository(super::SAMPLE).display().to_string()]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("to check an image: imgcheck "), "{error}");
}

#[test]
fn nesting_aliases_and_size_are_bounded() {
    let deep = format!("a: {}{}", "[".repeat(20_000), "]".repeat(20_000));
    error(deep.as_bytes(), 2);
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
    }
    error(bomb.as_bytes(), 2);
    error(&vec![b' '; (16 << 20) + 1], 2);
    error("x".repeat(2 << 20).as_bytes(), 2);
}

#[test]
fn an_image_of_a_manifest_is_never_a_file_of_this_machine() {
    let sample = repository(super::SAMPLE);
    let sample = sample.to_str().unwrap();
    for image in [
        sample,
        "-",
        "./image.tar",
        "dir:/",
        &format!("docker-archive:{sample}"),
    ] {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{{name: c, image: '{image}'}}]}}\n"
        );
        let (code, report) = Input::new(&text).json(&[]);
        let container = containers(&report)[0];
        assert!(code >= 2, "{image}: {report}");
        assert_eq!(container["platform"], serde_json::Value::Null, "{image}");
    }
}

#[test]
fn an_image_that_cannot_be_read_is_not_a_pass_and_the_others_are_judged() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n    - {name: a, image: 'registry.invalid/none:1'}\n    - {name: b, image: IMAGE}\n";
    let (code, report) = Input::new(text).json(&[]);
    let verdicts: Vec<_> = containers(&report)
        .iter()
        .map(|it| it["verdict"].clone())
        .collect();
    assert_eq!(
        (code, verdicts),
        (3, vec!["incomplete".into(), "pass".into()])
    );
    assert_eq!(report["errors"][0]["reference"], "registry.invalid/none:1");
}

#[test]
fn nodes_and_clusters_that_do_not_exist_are_errors() {
    let input = Input::new("apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n");
    input.write("nodes.json", "{\"kind\": \"Pod\"}");
    input.write(
        "two.yaml",
        "clusters: {a: {nodes: [{name: n}]}, b: {nodes: [{name: n}]}}\n",
    );
    for (arguments, words) in [
        (vec!["--nodes", "nodes.json"], "no nodes in it"),
        (
            vec!["--nodes", "deploy.yaml"],
            "not the output of `kubectl get nodes",
        ),
        (vec!["--cluster", "x"], "no cluster `x`"),
        (
            vec!["--config", "two.yaml"],
            "choose one with --cluster: a, b",
        ),
        (vec!["--as", "a:1"], "--images"),
    ] {
        let (code, _, error) = input.run(&[&["deploy.yaml"][..], &arguments].concat());
        assert_eq!(code, 2, "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
    for (text, place) in [
        ("clusters: {a: {nodes: [{name: n, gpu: h1000}]}}\n", "1:"),
        (
            "clusters:\n  a:\n    nodes: [{name: n, taints: [x]}]\n",
            "3:32",
        ),
        (
            "clusters:\n  a:\n    nodes: [{name: n, driver: '535'}]\n",
            "3:",
        ),
    ] {
        input.write("wrong.yaml", text);
        let (code, _, error) = input.run(&["deploy.yaml", "--config", "wrong.yaml"]);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(&format!("wrong.yaml:{place}")), "{error}");
    }
}

#[test]
#[cfg(not(feature = "kube"))]
fn a_build_without_kubernetes_says_so() {
    for option in ["--kubeconfig", "--context"] {
        let (code, _, error) = Input::new("").run(&[option, "x", "deploy.yaml"]);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains("built without support"), "{error}");
        assert!(error.contains("--nodes nodes.json"), "{error}");
    }
}

#[test]
fn a_pipe_whose_left_side_failed_is_no_pass() {
    for (name, text, expected) in [
        ("-", "", "standard input is empty"),
        ("m.yaml", "\n", "the file is empty"),
        (
            "m.yaml",
            "---\n# Source: chart/templates/deployment.yaml\n---\n",
            "there is no object in it",
        ),
    ] {
        let input = Input::new("");
        input.write("m.yaml", text);
        let (code, output, error) = input.run(&[name]);
        assert_eq!(code, 3, "{output}{error}");
        assert!(error.contains(expected), "{error}");
    }
    let input = Input::new("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
    let (code, output, _) = input.run(&["deploy.yaml"]);
    assert_eq!(code, 0);
    assert!(output.starts_with("nothing was judged"), "{output}");
    let (code, _, error) = input.run(&["--strict", "--no-config", "deploy.yaml"]);
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("nothing was judged"), "{error}");
}
