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

/// The jobs of the GitLab template.
struct Jobs {
    check: Value,
    lint: Value,
}

/// The two documents of the GitLab template: its inputs, and the jobs.
fn gitlab() -> (Value, Jobs) {
    let path = "ci/gitlab/imgcheck.gitlab-ci.yml";
    let text = text(path);
    let (head, body) = text.split_once("\n---\n").unwrap();
    // What GitLab puts in before it reads the second document.
    let body = Regex::new(r"\$\[\[ inputs\.([a-z-]+) \]\]")
        .unwrap()
        .replace_all(body, "input $1")
        .into_owned();
    let mut jobs = yaml(path, &body);
    let base = jobs[".input job"].take();
    let [check, lint] = ["input job", "input job-lint"].map(|name| {
        let mut job = jobs[name].take();
        assert_eq!(job["extends"], ".input job");
        extend(&mut job, &base);
        job
    });
    (yaml(path, head), Jobs { check, lint })
}

/// `extends` of GitLab: keys that are missing come from the other job, at any depth; arrays are not merged.
fn extend(job: &mut Value, other: &Value) {
    let (Some(job), Some(other)) = (job.as_object_mut(), other.as_object()) else {
        return;
    };
    for (key, value) in other {
        match job.get_mut(key) {
            Some(own) => extend(own, value),
            None => drop(job.insert(key.clone(), value.clone())),
        }
    }
}

/// The commands of a script of a job.
fn lines<'a>(job: &'a Value, script: &str) -> Vec<&'a str> {
    let lines = job[script].as_array().unwrap().iter();
    lines.map(|line| line.as_str().unwrap()).collect()
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
    let (head, jobs) = gitlab();
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

    for (image, code) in [(HONEST, 0), (MISLABELLED, 1)] {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("of the job")).unwrap();
        fs::copy(sample(image), directory.path().join("of the job/image.tar")).unwrap();
        run_job(&jobs.check, code, directory.path(), |command| {
            command
                .env("CHECK_IMAGES", "'of the job/image.tar'")
                .env("CHECK_ARGS", "--no-progress --expect 'torch==2.8.*, <3'");
        });
    }
}

#[test]
fn the_gitlab_job_does_not_pass_without_a_check() {
    let (_, jobs) = gitlab();
    let image = sample(HONEST);
    for (images, arguments) in [
        (image.as_str(), "--help"),
        (&image, "--expect 'torch"),
        ("'unbalanced", ""),
        (" ", ""),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let output = job_output(&jobs.check, directory.path(), |command| {
            command
                .env("CHECK_IMAGES", images)
                .env("CHECK_ARGS", arguments);
        });
        let code = output.status.code();
        assert_eq!(code, Some(2), "{images} {arguments}: {}", said(&output));
    }
}

/// A job with `rules` cannot know in which pipelines one without them runs: that depends on `workflow: rules`.
#[test]
fn both_gitlab_jobs_run_in_the_same_pipelines() {
    let (_, jobs) = gitlab();
    for job in [&jobs.check, &jobs.lint] {
        assert!(job["rules"].is_null() && job["only"].is_null(), "{job}");
    }
    let without_files = serde_json::json!({"variables": ["$LINT_FILES == \"\""]});
    assert_eq!(jobs.lint["except"], without_files);
}

#[test]
fn the_gitlab_job_before_the_build_lints() {
    let (_, jobs) = gitlab();
    assert_eq!(jobs.lint["stage"], ".pre");
    let bases = [
        ("2.8.0-cuda12.8-cudnn9-devel", 0),
        ("2.8.0-cuda11.8-cudnn8-devel", 1),
    ];
    for (base, code) in bases {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("my app")).unwrap();
        for name in ["Dockerfile", "my app/Dockerfile"] {
            let text = format!("FROM pytorch/pytorch:{base}\n");
            fs::write(directory.path().join(name), text).unwrap();
        }
        run_job(&jobs.lint, code, directory.path(), |command| {
            command.env("LINT_FILES", "Dockerfile \"my app/Dockerfile\"");
        });
    }
}

/// Runs the scripts of a job as a runner of GitLab does.
fn job_output(job: &Value, directory: &Path, prepare: impl FnOnce(&mut Command)) -> Output {
    let scripts = [lines(job, "before_script"), lines(job, "script")].concat();
    let mut command = shell("sh", directory);
    command.arg("-ec").arg(scripts.join("\n"));
    command
        .env("CI_PROJECT_DIR", directory)
        .env("CHECK_FAIL_ON", "error")
        .env("CI_REGISTRY", "registry.example")
        .env("CI_REGISTRY_USER", "job")
        .env("CI_REGISTRY_PASSWORD", "secret");
    prepare(&mut command);
    command.output().unwrap()
}

/// Runs a job, and reads what it leaves.
fn run_job(job: &Value, code: i32, directory: &Path, prepare: impl FnOnce(&mut Command)) {
    let output = job_output(job, directory, prepare);
    assert_eq!(output.status.code(), Some(code), "{}", said(&output));
    let file = |name: &Value| {
        let path = directory.join(name.as_str().unwrap());
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
    let (_, jobs) = gitlab();
    for (name, job) in [("check", &jobs.check), ("lint", &jobs.lint)] {
        for key in ["before_script", "script"] {
            for (at, script) in lines(job, key).iter().enumerate() {
                add(format!("gitlab-{name}-{key}-{at}"), "/bin/sh", script);
            }
        }
    }
    let output = Command::new("shellcheck").args(&files).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}
