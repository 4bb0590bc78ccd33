//! All images of a Docker daemon.

use testkit::engine::Daemon;
use testkit::{file, write_archive};

use super::*;

#[test]
fn the_images_of_docker_are_a_source() {
    let Some(daemon) = Daemon::start(&[]) else {
        return;
    };
    let base = daemon.path("base.tar");
    write_archive(&base, &[file("etc/os-release", "ID=debian\n")]);
    let base = base.to_str().unwrap();
    daemon.run(&["import", base, "team/base:1"]);
    daemon.run(&["tag", "team/base:1", "team/base:latest"]);
    daemon.run(&["import", "-c", "ENV A=b", base, "other:2"]);
    // An image without a name promises nothing.
    daemon.run(&["import", "-c", "ENV A=c", base]);
    let case = Case::new();
    let sweep = |words: &[&str]| {
        let output = case.sweep(words).env("DOCKER_HOST", daemon.host()).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    };
    sweep(&["plan", "docker-daemon:", "-o", "plan"]);
    sweep(&["run", "plan"]);
    let (records, code) = case.judge(&[]);
    let mut names: Vec<&str> = records
        .iter()
        .map(|it| it["reference"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["other:2", "team/base:1", "team/base:latest"]);
    assert_eq!(
        (statuses(&records), code),
        (BTreeMap::from([("judged", 3)]), 0)
    );

    let nowhere = format!("unix://{}", daemon.path("nowhere").display());
    let mut command = case.sweep(&["plan", "docker-daemon:", "-o", "plan"]);
    let output = command.env("DOCKER_HOST", nowhere).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let error = text(&output.stderr);
    assert!(error.contains("Docker could not be reached"), "{error}");
}
