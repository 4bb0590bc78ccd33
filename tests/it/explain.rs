//! `imgcheck explain` and `imgcheck init`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::tempdir;

use crate::program::{failure, imgcheck, repository};

fn explained(name: &str) -> String {
    let output = imgcheck().args(["explain", name]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{name}");
    assert!(
        text.lines().all(|line| line.starts_with("    ")
            || line.contains("://")
            || line.chars().count() <= 80),
        "{text}"
    );
    text
}

#[test]
fn a_rule_is_explained_by_an_example_without_its_expressions() {
    let text = explained("claim-torch-version");
    assert!(
        text.starts_with("claim-torch-version\n\nTag claims a different PyTorch version"),
        "{text}"
    );
    assert!(text.contains("    error[claim-torch-version]: the tag claims PyTorch 2.9"));
    assert!(text.contains("Why it matters"));
    assert!(!text.contains("size(found)"), "{text}");
    assert_eq!(explained("error[claim-torch-version]"), text);
}

#[test]
fn codes_of_gaps_and_errors_are_explained() {
    assert!(explained("launch-not-understood").contains("- gap: launch-not-understood"));
    assert!(explained("NOT JUDGED[python-startup]").contains("Python runs code"));
    assert!(explained("unauthorized").contains("A login is required"));
    let error = failure(2, &["explain", "claim-torch-versoin"]);
    assert!(
        error.contains("did you mean claim-torch-version?"),
        "{error}"
    );
    let error = failure(2, &["explain", "claim-"]);
    assert_eq!(error.matches("claim-os").count(), 1, "{error}");
    let error = failure(2, &["explain", "lazy-leyer"]);
    assert!(error.contains("did you mean lazy-layer?"), "{error}");
}

fn init(directory: &Path, arguments: &[&str]) -> String {
    let output = imgcheck()
        .current_dir(directory)
        .arg("init")
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn init_writes_what_is_missing_and_overwrites_nothing() {
    let directory = tempdir().unwrap();
    let root = directory.path().join("My Train_job");
    fs::create_dir_all(root.join(".github/workflows")).unwrap();
    fs::write(root.join("Containerfile"), "FROM scratch\n").unwrap();
    let preview = init(&root, &["--stdout"]);
    assert!(!root.join(".imgcheck.yaml").exists());
    let text = init(&root, &[]);
    assert!(text.contains("wrote ./.imgcheck.yaml"), "{text}");
    assert!(
        text.contains("next: in the workflow, name the image"),
        "{text}"
    );
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let workflow = read(".github/workflows/imgcheck.yml");
    assert!(preview.contains(&workflow) && preview.contains(&read(".imgcheck.yaml")));
    assert!(workflow.contains("IMAGE: registry.example/my-train-job:ci\n"));
    assert!(workflow.contains("run: docker build --file Containerfile --tag \"$IMAGE\" .\n"));
    let workflow: serde_json::Value = serde_saphyr::from_str(&workflow).unwrap();
    let steps = workflow["jobs"]["imgcheck"]["steps"].as_array().unwrap();
    assert_eq!(steps[1]["with"]["lint"], "Containerfile");
    assert!(steps[2]["run"].is_string());
    assert_eq!(steps[3]["with"]["image"], "${{ env.IMAGE }}");
    fs::write(root.join(".imgcheck.yaml"), "fail-on: note\n").unwrap();
    let text = init(&root, &[]);
    assert!(
        text.contains("kept ./.imgcheck.yaml, which exists"),
        "{text}"
    );
    assert_eq!(read(".imgcheck.yaml"), "fail-on: note\n");
}

/// Nobody knows how the image is built, so the job fails in that step, with what to do.
#[test]
fn a_workflow_without_a_dockerfile_has_a_step_to_fill_in() {
    let directory = tempdir().unwrap();
    fs::create_dir(directory.path().join(".github")).unwrap();
    let text = init(directory.path(), &[]);
    assert!(text.contains("next: there is no Dockerfile"), "{text}");
    let workflow = directory.path().join(".github/workflows/imgcheck.yml");
    let workflow: serde_json::Value =
        serde_saphyr::from_str(&fs::read_to_string(workflow).unwrap()).unwrap();
    let job = &workflow["jobs"]["imgcheck"];
    assert!(!job.to_string().contains("lint"), "{job}");
    let build = job["steps"][1]["run"].as_str().unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", build])
        .env("IMAGE", job["env"]["IMAGE"].as_str().unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.starts_with("TODO build the image registry.example/"),
        "{said}"
    );
}

#[test]
fn init_serves_gitlab() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join(".gitlab-ci.yml"), "stages: [test]\n").unwrap();
    let text = init(directory.path(), &[]);
    assert!(
        text.contains("- local: .gitlab/imgcheck.gitlab-ci.yml"),
        "{text}"
    );
    let other = tempdir().unwrap();
    fs::create_dir(other.path().join(".gitlab")).unwrap();
    fs::create_dir(other.path().join("docker")).unwrap();
    fs::write(other.path().join("docker/Dockerfile"), "FROM scratch\n").unwrap();
    init(other.path(), &[]);
    let inputs = |path: PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let file: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        file["include"][0]["inputs"].clone()
    };
    let inputs_of_both = [
        inputs(directory.path().join(".gitlab/imgcheck.gitlab-ci.yml")),
        inputs(other.path().join(".gitlab-ci.yml")),
    ];
    let image = "$CI_REGISTRY_IMAGE:$CI_COMMIT_SHORT_SHA";
    assert_eq!(inputs_of_both[0], json!({"image": image}));
    assert_eq!(
        inputs_of_both[1],
        json!({"image": image, "lint": "docker/Dockerfile"})
    );
}

#[test]
fn init_finds_a_dockerfile_below() {
    let directory = tempdir().unwrap();
    let root = directory.path();
    for name in [".github", "train/gpu", "train/.cache", "with space"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    for name in [
        "train/gpu/Dockerfile",
        "train/.cache/Dockerfile",
        "with space/Dockerfile",
    ] {
        fs::write(root.join(name), "FROM scratch\n").unwrap();
    }
    let text = init(root, &[]);
    assert!(
        text.contains("the job lints train/gpu/Dockerfile"),
        "{text}"
    );
    let workflow = fs::read_to_string(root.join(".github/workflows/imgcheck.yml")).unwrap();
    assert!(
        workflow.contains("lint: train/gpu/Dockerfile\n"),
        "{workflow}"
    );
    assert!(
        workflow.contains("docker build --file train/gpu/Dockerfile"),
        "{workflow}"
    );
}

#[test]
fn init_names_the_root_of_the_repository() {
    let directory = tempdir().unwrap();
    let root = fs::canonicalize(directory.path()).unwrap();
    for name in [".git", ".github", "train/.github"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    let text = init(&root.join("train"), &[]);
    let command = format!("imgcheck init {}\n", root.display());
    assert!(text.contains(&command), "{text}");
    assert!(!root.join("train/.github/workflows").exists());
    assert!(init(&root, &[]).contains("wrote ./.github/workflows/imgcheck.yml"));
    assert_eq!(init(&root, &["-q"]), "");
    let file = root.join("train/.imgcheck.yaml").display().to_string();
    let error = failure(2, &["init", &file]);
    assert!(error.contains("a file, not a directory"), "{error}");
}

/// The file is accepted as it is, and with all keys that it has as comments.
#[test]
fn the_configuration_of_init_is_valid() {
    let directory = tempdir().unwrap();
    let text = init(directory.path(), &[]);
    assert!(text.contains("no CI job was written"), "{text}");
    let file = directory.path().join(".imgcheck.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let lines = text.lines().map(|line| {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let is_key =
            bare.starts_with("  ") || regex::Regex::new(r"^[a-z-]+:( |$)").unwrap().is_match(bare);
        if is_key && !bare.starts_with("yaml-language-server") {
            bare
        } else {
            line
        }
    });
    let whole = lines.collect::<Vec<_>>().join("\n");
    assert!(whole.contains("\ntargets:\n  - {name"), "{whole}");
    for text in [text, whole] {
        fs::write(&file, text).unwrap();
        let output = imgcheck()
            .env_remove("IMGCHECK_NO_CONFIG")
            .arg("--config")
            .arg(&file)
            .arg(repository(
                "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar",
            ))
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() < Some(2), "{error}");
    }
}
