//! The GitLab template: what its job installs, and what it keeps for later jobs.

use std::fs;

use super::release::{CARGO, executable, releases};
use super::{gitlab, lines, said, shell};
use crate::program::repository;
use testkit::tools::tool;

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
    cp '{}' "$2"
    ;;
  *) exec /usr/bin/curl "$@" ;;
esac
"#,
        repository("ci/install.sh").display()
    );
    executable(&tools.join("curl"), &curl);

    let releases = releases(&path.join("releases"), "9.9.9", false);
    let (head, jobs) = gitlab();
    let version = &head["spec"]["inputs"]["version"]["default"];
    let version = version.as_str().unwrap();
    let script = lines(&jobs.check, "before_script")[0];
    let (one, other) = ("1".repeat(40), "2".repeat(40));
    // What is installed, the commit of `main`, the directory of the program, whether it is built.
    for (version, reference, commit, kept, built) in [
        (version, "main", &*one, &*one, true),
        (version, "main", &one, &one, false),
        (version, "main", &other, &other, true),
        (version, &one, &other, &one, true),
        ("9.9.9", "main", &one, "9.9.9", false),
        ("v9.9.9", "main", &one, "v9.9.9", false),
    ] {
        let mut command = shell("sh", path);
        command.arg("-ec").arg(format!("{script}\nimgcheck"));
        command.env("PATH", format!("{}:/usr/bin:/bin", tools.display()));
        command
            .env("CI_PROJECT_DIR", path)
            .env("INSTALL_VERSION", version)
            .env("INSTALL_REF", reference)
            .env("COMMIT", commit)
            .env("IMGCHECK_RELEASES", &releases);
        let output = command.output().unwrap();
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        let call = format!("--rev {kept} imgcheck");
        assert_eq!(said.contains(&call), built, "{kept}: {said}");
        assert_eq!(said.contains("cargo install"), built, "{kept}: {said}");
        let programs = fs::read_dir(path.join(".imgcheck/bin")).unwrap();
        let programs: Vec<_> = programs.map(|it| it.unwrap().file_name()).collect();
        assert_eq!(programs, [kept]);
    }
}
