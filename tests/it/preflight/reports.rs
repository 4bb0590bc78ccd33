//! Every format has the findings, at their place in the manifest.

use serde_json::Value;

use super::{Input, containers};
use crate::format_support::offered;
use crate::program::imgcheck;

const MANIFEST: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: prod}\nspec:\n  containers:\n    - name: c\n      image: IMAGE\n      env:\n        - {name: NVIDIA_VISIBLE_DEVICES, value: all}\n";

#[test]
fn every_format_has_the_finding_and_the_file() {
    let input = Input::new(MANIFEST);
    input.write("prod.yaml", "digests: [prod*]\n");
    for format in offered() {
        let (code, text, _) = input.run(&["deploy.yaml", "--config", "prod.yaml", "-f", &format]);
        assert_eq!(code, 1, "{format}");
        if format == "cyclonedx" {
            continue;
        }
        for words in [
            "deploy-mutable-tag",
            "deploy-visible-devices",
            "deploy.yaml",
        ] {
            assert!(text.contains(words), "{format}: no {words} in {text}");
        }
    }
    let (_, text, _) = input.run(&["deploy.yaml", "--config", "prod.yaml", "-f", "github"]);
    assert!(
        text.contains("::error file=deploy.yaml,line=7,col=14,"),
        "{text}"
    );
    let (_, text, _) = input.run(&["deploy.yaml", "--config", "prod.yaml", "-f", "sarif"]);
    let sarif: Value = serde_json::from_str(&text).unwrap();
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "deploy.yaml");
    assert_eq!(place["region"]["startLine"], 7);
}

#[test]
fn what_containers_share_is_printed_once() {
    let container =
        "    - {name: NAME, image: IMAGE, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}\n";
    let unread = "    - {name: NAME, image: 'nosuch.example/team/train:1'}\n";
    let pod = |name: &str| {
        let head = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n"
        );
        let containers = [
            (container, "a"),
            (container, "b"),
            (unread, "c"),
            (unread, "d"),
        ];
        let containers = containers.map(|(text, name)| text.replace("NAME", name));
        format!("{head}{}", containers.concat())
    };
    let input = Input::new(&format!("{}---\n{}", pod("first"), pod("second")));
    let (_, text, error) = input.run(&["deploy.yaml"]);
    for (words, count) in [
        ("\nwarning[deploy-visible-devices]: ", 4),
        ("help: remove the variable", 1),
        ("help: the same as for a above", 1),
        ("help: the same as for a of Pod first above", 2),
        ("could not be read: nosuch.example/team/train:1: ", 1),
        ("could not be read: the same as for c above", 1),
        ("could not be read: the same as for c of Pod first above", 2),
    ] {
        assert_eq!(text.matches(words).count(), count, "{words}: {text}{error}");
    }
}

#[test]
fn severities_ignores_and_baselines_apply() {
    let input = Input::new(MANIFEST);
    for (text, expected) in [
        ("severities: {deploy-visible-devices: error}\n", 1),
        (
            "ignore: [{rule: deploy-*, reason: known, image: registry.example/*}]\nfail-on: warning\n",
            0,
        ),
        ("fail-on: warning\n", 1),
    ] {
        input.write("own.yaml", text);
        let (code, _, error) = input.run(&["deploy.yaml", "--config", "own.yaml"]);
        assert_eq!(code, expected, "{text}{error}");
    }
    let written = [
        "deploy.yaml",
        "--no-config",
        "--fail-on",
        "warning",
        "--write-baseline",
        "known.json",
    ];
    assert_eq!(input.run(&written).0, 0);
    let known = [
        "deploy.yaml",
        "--no-config",
        "--fail-on",
        "warning",
        "--baseline",
        "known.json",
    ];
    assert_eq!(input.run(&known).0, 0);
}

#[test]
fn standard_input_is_a_manifest() {
    let input = Input::new("");
    let mut command = imgcheck();
    command
        .current_dir(input.path())
        .args(["preflight", "-f", "json"]);
    command.args(["--images", "images.yaml", "-"]);
    let manifest = MANIFEST.replace("IMAGE", super::IMAGE);
    let output = command.write_stdin(manifest).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        containers(&report)[0]["findings"][0]["location"]["file"],
        "-"
    );
}

#[test]
fn a_directory_means_the_manifests_in_it() {
    let input = Input::new(MANIFEST);
    input.write("notes.txt", "nothing");
    for directory in ["deploy/.git", "deploy/chart", "none"] {
        std::fs::create_dir_all(input.path().join(directory)).unwrap();
    }
    input.write("deploy/.git/d.yaml", MANIFEST);
    input.write("deploy/chart/values.yaml", "image: a\n");
    for (name, other) in [
        ("deploy/values.yaml", "image: a\n"),
        ("deploy/package.json", "{\"name\": \"a\"}"),
        ("deploy/tsconfig.json", "{ // a comment\n}"),
        ("deploy/Chart.yaml", "apiVersion: v2\nname: a\n"),
        ("deploy/more.yaml", "services: {a: {port: 1}}\nkind: a\n"),
        ("deploy/empty.yaml", ""),
        (
            "deploy/index.json",
            "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {}}",
        ),
        ("deploy/words.json", "{\"text\": \"our services\""),
    ] {
        input.write(name, other);
    }
    std::fs::write(input.path().join("deploy/bytes.json"), b"\xff\xfe").unwrap();
    let large = "{\"vocabulary\": \"".to_owned() + &"a".repeat(17 << 20);
    input.write("deploy/tokenizer.json", &large);
    input.write("deploy/a.yaml", MANIFEST);
    input.write("deploy/.imgcheck.yaml", "fail-on: error\n");
    input.write("deploy/b.json", "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"b\"}, \"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"IMAGE\"}]}}");
    let (code, text, _) = input.run(&["deploy"]);
    assert_eq!(code, 0);
    assert!(text.contains("Pod prod/p (deploy/a.yaml)"), "{text}");
    assert!(text.contains("Pod b (deploy/b.json)"), "{text}");
    assert!(!text.contains("NOT JUDGED"), "{text}");
    let (code, _, error) = input.run(&["none"]);
    assert_eq!(code, 2);
    assert!(
        error.contains("none: no manifest in this directory"),
        "{error}"
    );
    // What is almost a manifest, and a template of a chart, are no other files.
    input.write("deploy/e.yaml", "kind: Pod\nmetadata: {name: e}\n");
    input.write(
        "deploy/f.yml",
        "apiVersion: v1\nkind: Pod\n{{ .Values.a }}\n",
    );
    let (code, _, error) = input.run(&["deploy"]);
    assert_eq!(code, 2);
    assert!(
        error.contains("neither a Kubernetes object nor a Compose file"),
        "{error}"
    );
    assert!(error.contains("this is a template"), "{error}");
}

#[test]
fn subdirectories_are_not_read_and_no_pass() {
    let input = Input::new(MANIFEST);
    std::fs::create_dir_all(input.path().join("deploy/base/deep")).unwrap();
    input.write("deploy/base/deep/c.yml", MANIFEST);
    let (code, _, error) = input.run(&["deploy"]);
    assert_eq!(code, 2);
    assert!(
        error.contains("such as that of deploy/base/deep/c.yml"),
        "{error}"
    );
    input.write("deploy/a.yaml", MANIFEST);
    let gap = "subdirectories are not read, such as that of `deploy/base/deep/c.yml`: name each directory that you deploy";
    let (code, text, _) = input.run(&["deploy/"]);
    assert_eq!(code, 0);
    assert!(text.contains(gap), "{text}");
    assert_eq!(input.run(&["--strict", "deploy"]).0, 3);
    let (code, text, _) = input.run(&["--strict", "deploy/a.yaml", "deploy/base/deep"]);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn a_kustomization_is_rendered_first() {
    let input = Input::new("");
    for text in [
        "resources: [a.yaml]\n",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
    ] {
        input.write("kustomization.yaml", text);
        let (code, _, error) = input.run(&["kustomization.yaml"]);
        assert_eq!(code, 2);
        assert!(error.contains("kubectl kustomize DIRECTORY"), "{error}");
    }
}

#[test]
fn the_verdict_on_a_given_target_is_shown_without_nodes() {
    let input = Input::new(MANIFEST);
    let (code, text, _) = input.run(&["deploy.yaml", "--gpu", "h100", "--driver", "535.183.06"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("RUNS ON") && text.contains("H100 (sm_90)"),
        "{text}"
    );
    let (_, text, _) = input.run(&["deploy.yaml"]);
    assert!(!text.contains("RUNS ON"), "{text}");
}
