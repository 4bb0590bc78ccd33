//! What runs imgcheck elsewhere: the GitHub action, the GitLab template, the hooks of pre-commit, the scripts of a release.
//! Their own scripts are run here, with this build of the program, on the sample images.

mod action;
mod gitlab;
mod plugin;
mod release;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use regex::Regex;
use serde_json::Value;

use crate::program::{imgcheck, repository};
use testkit::tools::tool;

const MISLABELLED: &str = "testdata/sample/pytorch-cuda-v2.9.tar";
const HONEST: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";

fn text(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(name: &str, text: &str) -> Value {
    imgcheck_base::yaml::parse(name, text).unwrap_or_else(|error| panic!("{error}"))
}

/// The two documents of the GitLab template: its inputs, and the job.
fn gitlab() -> (Value, Value) {
    let path = "ci/gitlab/imgcheck.gitlab-ci.yml";
    let text = text(path);
    let (head, body) = text.split_once("\n---\n").unwrap();
    // What GitLab puts in before it reads the second document.
    let body = Regex::new(r"\$\[\[ inputs\.([a-z-]+) \]\]")
        .unwrap()
        .replace_all(body, "input $1")
        .into_owned();
    let job = yaml(path, &body)["input job"].clone();
    (yaml(path, head), job)
}

/// The steps of a job or action that run a script.
fn scripts(steps: &Value) -> Vec<&str> {
    let steps = steps.as_array().unwrap();
    steps
        .iter()
        .filter_map(|step| step["run"].as_str())
        .collect()
}

/// A PATH that begins with the directory of this build.
fn path() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_imgcheck"));
    let paths = std::env::var("PATH").unwrap();
    format!("{}:{paths}", program.parent().unwrap().display())
}

/// Where a sample image is.
fn sample(path: &str) -> String {
    repository(path).display().to_string()
}

/// A shell without the environment variables of the tests.
fn shell(program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars() {
        if name.starts_with("IMGCHECK_") || name.starts_with("GITHUB_") || name.starts_with("CI_") {
            command.env_remove(name);
        }
    }
    command.current_dir(directory).env("PATH", path());
    command.env("IMGCHECK_NO_CACHE", "true");
    command
}

fn said(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_gitlab_job_leaves_its_reports() {
    let (head, job) = gitlab();
    let declared = head["spec"]["inputs"].as_object().unwrap();
    let used = Regex::new(r"\$\[\[ inputs\.([a-z-]+) \]\]").unwrap();
    let body = text("ci/gitlab/imgcheck.gitlab-ci.yml");
    let used: Vec<&str> = used
        .captures_iter(&body)
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    for input in &used {
        assert!(
            declared.contains_key(*input),
            "the input {input} is not declared"
        );
    }
    for input in declared.keys() {
        assert!(
            used.contains(&input.as_str()),
            "the input {input} is not used"
        );
    }

    let lines = |key: &str| -> String {
        let lines = job[key].as_array().unwrap().iter();
        lines
            .map(|line| line.as_str().unwrap())
            .collect::<Vec<_>>()
            .join("\n")
    };
    for (image, code) in [(HONEST, 0), (MISLABELLED, 1)] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = shell("sh", directory.path());
        command
            .arg("-ec")
            .arg(format!("{}\n{}", lines("before_script"), lines("script")));
        command.env("CI_PROJECT_DIR", directory.path());
        command
            .env("CHECK_IMAGES", sample(image))
            .env("CHECK_ARGS", "--no-progress --expect 'torch==2.8.*, <3'");
        command.env("CHECK_FAIL_ON", "error");
        command
            .env("CI_REGISTRY", "registry.example")
            .env("CI_REGISTRY_USER", "job");
        command.env("CI_REGISTRY_PASSWORD", "secret");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        let file = |name: &Value| {
            let path = directory.path().join(name.as_str().unwrap());
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let reports = &job["artifacts"]["reports"];
        let quality: Value = serde_json::from_str(&file(&reports["codequality"])).unwrap();
        assert_eq!(
            quality.as_array().unwrap().is_empty(),
            code == 0,
            "{quality}"
        );
        assert!(file(&reports["junit"]).contains("<testsuite"));
        for artifact in job["artifacts"]["paths"].as_array().unwrap() {
            assert!(!file(artifact).is_empty());
        }
    }
}

#[test]
fn the_hooks_take_the_files_that_lint_knows() {
    let hooks = yaml(".pre-commit-hooks.yaml", &text(".pre-commit-hooks.yaml"));
    for hook in hooks.as_array().unwrap() {
        let pattern = |key: &str| Regex::new(hook[key].as_str().unwrap()).unwrap();
        let (files, exclude) = (pattern("files"), pattern("exclude"));
        let takes = |name: &str| files.is_match(name) && !exclude.is_match(name);
        for name in [
            "Dockerfile",
            "docker/Dockerfile.gpu",
            "Dockerfile-gpu",
            "train.dockerfile",
            "Containerfile",
            "requirements.txt",
            "requirements-dev.txt",
            "requirements/gpu.in",
            "test_requirements.in",
            "constraints.txt",
            "environment.yml",
            "pyproject.toml",
            "sub/pyproject.toml",
            "docker-compose.gpu.yml",
            "docker-bake.hcl",
            "uv.lock",
            "pixi.toml",
            "conda-lock.yml",
            "setup.cfg",
        ] {
            assert!(takes(name), "{name}");
        }
        for name in [
            "README.md",
            "Dockerfile.dockerignore",
            "Dockerfile.j2",
            "dockerfiles/notes.txt",
            "environment-production.yaml",
            "src/main.rs",
            "pyproject.toml.orig",
        ] {
            assert!(!takes(name), "{name}");
        }
        let words: Vec<&str> = hook["entry"].as_str().unwrap().split(' ').collect();
        assert!(["imgcheck", "ci/pre-commit.sh"].contains(&words[0]));
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("Dockerfile");
        fs::write(&file, "FROM pytorch/pytorch:2.8.0-cuda11.8-cudnn8-devel\n").unwrap();
        imgcheck().args(&words[1..]).arg(&file).assert().code(1);
        fs::write(&file, "FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel\n").unwrap();
        imgcheck().args(&words[1..]).arg(&file).assert().code(0);
    }
}

#[test]
fn the_shell_of_all_scripts_is_sound() {
    if !tool("shellcheck") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut files: Vec<PathBuf> = [
        ".ci/run",
        "ci/install.sh",
        "ci/build.sh",
        "ci/image.sh",
        "ci/package.sh",
        "ci/smoke.sh",
        "ci/github/check.sh",
    ]
    .map(repository)
    .into();
    let mut add = |name: String, shell: &str, script: &str| {
        let path = directory.path().join(name);
        fs::write(&path, format!("#!{shell}\n{script}\n")).unwrap();
        files.push(path);
    };
    let action = yaml("action.yml", &text("action.yml"));
    for (at, script) in scripts(&action["runs"]["steps"]).iter().enumerate() {
        add(format!("action-{at}"), "/bin/bash", script);
    }
    for workflow in ["ci", "release"] {
        let path = format!(".github/workflows/{workflow}.yml");
        for (name, job) in yaml(&path, &text(&path))["jobs"].as_object().unwrap() {
            for (at, script) in scripts(&job["steps"]).iter().enumerate() {
                assert!(!script.contains("${{"), "{workflow}: {script}");
                add(format!("{workflow}-{name}-{at}"), "/bin/bash", script);
            }
        }
    }
    let (_, job) = gitlab();
    for key in ["before_script", "script"] {
        for (at, line) in job[key].as_array().unwrap().iter().enumerate() {
            add(
                format!("gitlab-{key}-{at}"),
                "/bin/sh",
                line.as_str().unwrap(),
            );
        }
    }
    let output = Command::new("shellcheck").args(&files).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}
