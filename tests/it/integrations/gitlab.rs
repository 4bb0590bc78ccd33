//! The GitLab template: what its job installs, and what it keeps for later jobs.

use std::fs;

use super::action::build;
use super::release::{CARGO, executable, releases};
use super::{gitlab, lines, run_job, said, shell, yaml};
use crate::init::init;
use crate::program::repository;
use testkit::tools::tool;

#[test]
fn the_jobs_of_init_lint_and_build() {
    for (dockerfile, code) in [("my app/Dockerfile", 0), ("README.md", 1)] {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let path = root.join(dockerfile);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel\n").unwrap();
        init(root, &["--ci", "gitlab"]);
        let pipeline = fs::read_to_string(root.join(".gitlab-ci.yml")).unwrap();
        let pipeline = yaml(".gitlab-ci.yml", &pipeline);
        let script = lines(&pipeline["imgcheck-build"], "script").join("\n");
        assert_eq!(build(&script, root), code, "{script}");
        if let Some(files) = pipeline["include"][0]["inputs"]["lint"].as_str() {
            run_job(&gitlab().1.lint, 0, root, |command| {
                command.env("LINT_FILES", files);
            });
        }
    }
}

#[test]
fn the_gitlab_job_builds_each_commit_once() {
    if !tool("curl") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let tools = path.join("tools");
    fs::create_dir(&tools).unwrap();
    executable(&tools.join("cargo"), CARGO);
    // It knows the branch `main`.
    let git = r#"#!/bin/sh
case "$*" in
  "ls-remote https://github.com/imgcheck/imgcheck refs/heads/main "*) printf '%s\trefs/heads/main\n' "$COMMIT" ;;
esac
"#;
    executable(&tools.join("git"), git);
    let curl = format!(
        r#"#!/bin/sh
case "$*" in
  *//raw.githubusercontent.com/*)
    while [ "$1" != --output ]; do shift; done
    case "$*" in
      */Cargo.toml) cp '{}' "$2" ;;
      *) cp '{}' "$2" ;;
    esac
    ;;
  *) exec /usr/bin/curl "$@" ;;
esac
"#,
        repository("Cargo.toml").display(),
        repository("ci/install.sh").display()
    );
    executable(&tools.join("curl"), &curl);

    let current = env!("CARGO_PKG_VERSION");
    let before = releases(&path.join("before"), "9.9.9", false);
    let after = releases(&path.join("after"), current, false);
    let (head, jobs) = gitlab();
    let version = &head["spec"]["inputs"]["version"]["default"];
    assert_eq!(version.as_str(), Some(""));
    let script = lines(&jobs.check, "before_script")[0];
    let (one, other) = ("1".repeat(40), "2".repeat(40));
    // The input, the ref, the commit of `main`, what was released; what is installed, and whether that is built now.
    for (version, reference, main, releases, installed, built) in [
        ("", "main", &one, &before, (current, &one), true),
        ("", "main", &one, &before, (current, &one), false),
        ("", "main", &other, &before, (current, &other), true),
        ("", &one, &other, &before, (current, &one), true),
        ("source", "main", &one, &after, ("source", &one), true),
        ("9.9.9", "main", &one, &before, ("9.9.9", &one), false),
        ("v9.9.9", "main", &one, &before, ("v9.9.9", &one), false),
        ("", "main", &one, &after, (current, &one), false),
    ] {
        let mut command = shell("sh", path);
        command.arg("-ec").arg(format!("{script}\nimgcheck"));
        command.env("PATH", format!("{}:/usr/bin:/bin", tools.display()));
        command
            .env("CI_PROJECT_DIR", path)
            .env("INSTALL_VERSION", version)
            .env("INSTALL_REF", reference)
            .env("COMMIT", main)
            .env("IMGCHECK_RELEASES", releases);
        let output = command.output().unwrap();
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        let (name, commit) = installed;
        let call = format!("--rev {commit} imgcheck");
        assert_eq!(said.contains(&call), built, "{version}: {said}");
        assert_eq!(said.contains("cargo install"), built, "{version}: {said}");
        let programs = fs::read_dir(path.join(".imgcheck/bin")).unwrap();
        let programs: Vec<_> = programs.map(|it| it.unwrap().file_name()).collect();
        assert_eq!(programs, [format!("{name}-{commit}").as_str()]);
    }
}
