//! `imgcheck init`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::program::{failure, imgcheck, repository};

/// Runs it, and returns what it prints.
pub fn init(directory: &Path, arguments: &[&str]) -> String {
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

/// Writes empty files, and the directories that they are in.
fn files(root: &Path, names: &[&str]) {
    for name in names {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "FROM scratch\n").unwrap();
    }
}

fn yaml(path: PathBuf) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn init_writes_the_job_of_the_service_that_is_named() {
    let directory = tempdir().unwrap();
    let root = directory.path().join("my repository");
    files(&root, &["Dockerfile"]);
    let text = init(directory.path(), &["my repository"]);
    for service in ["github", "gitlab"] {
        let command = format!("\n  imgcheck init --ci {service} 'my repository'\n");
        assert!(text.contains(&command), "{text}");
    }
    let text = init(&root, &["--ci", "github"]);
    assert!(
        text.contains("wrote ./.github/workflows/imgcheck.yml"),
        "{text}"
    );
    // The option says more than the files.
    let text = init(&root, &["--ci", "gitlab"]);
    assert!(
        text.contains("wrote ./.gitlab-ci.yml") && !text.contains(".github"),
        "{text}"
    );
}

#[test]
fn init_reads_the_service_from_the_remote() {
    for (url, file) in [
        (
            "git@github.com:gitlab/train.git",
            ".github/workflows/imgcheck.yml",
        ),
        (
            "https://token@github.com/team/train",
            ".github/workflows/imgcheck.yml",
        ),
        (
            "ssh://git@gitlab.example.org:22/github/train",
            ".gitlab-ci.yml",
        ),
        ("https://example.org/github.com/gitlab", ""),
    ] {
        let directory = tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join(".git")).unwrap();
        let remote = format!("[remote \"origin\"]\n\turl = {url}\n");
        fs::write(root.join(".git/config"), remote).unwrap();
        let text = init(root, &[]);
        assert_eq!(text.contains("no CI job"), file.is_empty(), "{url}: {text}");
        assert!(root.join(file).exists(), "{url}: {text}");
    }
}

#[test]
fn init_serves_gitlab() {
    let directory = tempdir().unwrap();
    let root = directory.path();
    files(root, &[".gitlab/CODEOWNERS", "docker/Dockerfile"]);
    let text = init(root, &[]);
    assert!(text.contains("wrote ./.gitlab-ci.yml"), "{text}");
    let pipeline = yaml(root.join(".gitlab-ci.yml"));
    assert_eq!(
        pipeline["include"][0]["inputs"],
        json!({"image": "$CI_REGISTRY_IMAGE:$CI_COMMIT_SHORT_SHA", "lint": "docker/Dockerfile"})
    );
    let build = &pipeline["imgcheck-build"];
    assert_eq!(build["stage"], "build");
    assert_eq!(
        build["script"][1],
        "docker build --file docker/Dockerfile --tag \"$CI_REGISTRY_IMAGE:$CI_COMMIT_SHORT_SHA\" ."
    );
    // What the first call wrote is known to the second one.
    let text = init(root, &[]);
    assert!(text.contains("kept ./.gitlab-ci.yml"), "{text}");
    assert!(!root.join(".gitlab/imgcheck.gitlab-ci.yml").exists());
}

#[test]
fn a_pipeline_without_a_dockerfile_has_a_job_to_fill_in() {
    let directory = tempdir().unwrap();
    let text = init(directory.path(), &["--ci", "gitlab"]);
    assert!(text.contains("there is no Dockerfile"), "{text}");
    let pipeline = yaml(directory.path().join(".gitlab-ci.yml"));
    assert!(pipeline["include"][0]["inputs"]["lint"].is_null());
    let build = pipeline["imgcheck-build"]["script"][1].as_str().unwrap();
    assert!(build.starts_with("echo \"TODO build the image") && build.ends_with("exit 1"));
}

/// What an existing pipeline gets: the stages of the check and of the build, and those to add.
#[test]
fn init_fits_the_job_into_a_pipeline() {
    for (pipeline, check, build, added) in [
        ("stages: [test]\n", None, Some(".pre"), ""),
        ("variables: {A: b}\n", None, Some("build"), ""),
        (
            "stages: [build, deploy]\n",
            None,
            Some("build"),
            "[build, test, deploy]",
        ),
        (
            "stages:\n  - lint\n  - 'docker' # images\n  - Publish\n",
            None,
            Some("docker"),
            "[lint, docker, test, Publish]",
        ),
        (
            "stages: [prepare, build, verify, staging, deploy]\n",
            Some("verify"),
            Some("build"),
            "",
        ),
        (
            "stages: [images, checks]\nimages: {script: docker build .}\n",
            Some("checks"),
            None,
            "",
        ),
        ("stages: [deploy]\n", None, Some(".pre"), "[test, deploy]"),
    ] {
        let directory = tempdir().unwrap();
        let root = directory.path();
        fs::write(root.join(".gitlab-ci.yml"), pipeline).unwrap();
        files(root, &["Dockerfile"]);
        let text = init(root, &[]);
        let next = "next: add it to .gitlab-ci.yml, then commit:\n";
        let stages = match added {
            "" => String::new(),
            added => format!("  stages: {added}\n"),
        };
        let include = "  include:\n    - local: .gitlab/imgcheck.gitlab-ci.yml\n";
        let shown = text.ends_with(&format!("{next}{stages}{include}"));
        assert!(shown, "{pipeline}: {text}");
        let path = root.join(".gitlab/imgcheck.gitlab-ci.yml");
        let written = fs::read_to_string(&path).unwrap();
        assert_eq!(written.contains("TODO add the stage"), !added.is_empty());
        assert_eq!(written.contains("TODO name the image"), build.is_none());
        let jobs = yaml(path);
        let inputs = &jobs["include"][0]["inputs"];
        assert_eq!(inputs["stage"].as_str(), check, "{pipeline}");
        let stage = &jobs["imgcheck-build"]["stage"];
        assert_eq!(stage.as_str(), build, "{pipeline}");
    }
}

#[test]
fn init_names_the_dockerfiles_that_no_job_builds() {
    let directory = tempdir().unwrap();
    let root = directory.path();
    let names = [
        "my app/Dockerfile",
        "docker/gpu.dockerfile",
        "serve/Dockerfile.cpu",
    ];
    files(root, &names);
    files(
        root,
        &[
            "docker/Dockerfile.j2",
            ".github/Dockerfile",
            "node_modules/a/Dockerfile",
        ],
    );
    let others = "docker/gpu.dockerfile, serve/Dockerfile.cpu\n";
    for (service, file) in [
        ("github", ".github/workflows/imgcheck.yml"),
        ("gitlab", ".gitlab-ci.yml"),
    ] {
        let text = init(root, &["--ci", service]);
        let left =
            format!("build and check the images of the others, too (TODO in the file): {others}");
        assert!(text.contains("builds only my app/Dockerfile"), "{text}");
        assert!(text.contains(&left), "{text}");
        let written = fs::read_to_string(root.join(file)).unwrap();
        let todo = written.lines().find(|it| it.contains("# TODO")).unwrap();
        assert!(todo.ends_with(others.trim_end()), "{written}");
        assert!(
            written.contains("docker build --file 'my app/Dockerfile' "),
            "{written}"
        );
    }
    let steps = yaml(root.join(".github/workflows/imgcheck.yml"));
    let lint = &steps["jobs"]["imgcheck"]["steps"][1]["with"]["lint"];
    assert_eq!(lint.as_str().unwrap().lines().collect::<Vec<_>>(), names);
    let pipeline = yaml(root.join(".gitlab-ci.yml"));
    assert_eq!(
        pipeline["include"][0]["inputs"]["lint"],
        "'my app/Dockerfile' docker/gpu.dockerfile serve/Dockerfile.cpu"
    );
}

#[test]
fn init_finds_a_dockerfile_below() {
    let directory = tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join(".github")).unwrap();
    files(root, &["train/gpu/Dockerfile", "train/.cache/Dockerfile"]);
    let text = init(root, &[]);
    assert!(text.contains("CI lints train/gpu/Dockerfile"), "{text}");
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
    let text = init(&root.join("train"), &["--ci", "github"]);
    let command = format!("imgcheck init --ci github {}\n", root.display());
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
