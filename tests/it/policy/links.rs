//! Links that lead out of the repository.

use super::*;

/// A repository, a file beside it, and a link `name` in the repository to that file.
fn repository_with_a_link(name: &str) -> TempDir {
    let directory = tempdir().unwrap();
    let repository = directory.path().join("repository");
    fs::create_dir_all(repository.join(".git")).unwrap();
    fs::write(directory.path().join("outside"), "TOKEN=hunter2\n").unwrap();
    std::os::unix::fs::symlink("../outside", repository.join(name)).unwrap();
    directory
}

#[test]
fn no_excerpt_of_a_file_outside_the_repository_is_shown() {
    for (link, arguments) in [
        ("Dockerfile", vec!["lint", "Dockerfile"]),
        ("Dockerfile", vec!["lint", "."]),
        ("requirements.txt", vec!["lint", "./requirements.txt"]),
        (".imgcheck.yaml", vec!["lint", "clean.Dockerfile"]),
        (
            "imgcheck.yaml",
            vec!["lint", "--config", "imgcheck.yaml", "clean.Dockerfile"],
        ),
        (
            "rule.yaml",
            vec!["lint", "--config", "with-rules.yaml", "clean.Dockerfile"],
        ),
    ] {
        let directory = repository_with_a_link(link);
        let repository = directory.path().join("repository");
        fs::write(repository.join("clean.Dockerfile"), "FROM debian:12\n").unwrap();
        fs::write(repository.join("with-rules.yaml"), "rules: [rule.yaml]\n").unwrap();
        let output = inside(&repository).args(&arguments).output().unwrap();
        let shown = [output.stdout, output.stderr].concat();
        let shown = String::from_utf8_lossy(&shown);
        assert!(
            !shown.contains("hunter2") && !shown.contains("TOKEN"),
            "{arguments:?}: {shown}"
        );
        assert!(
            shown.contains("leads out of the directory"),
            "{arguments:?}: {shown}"
        );
        assert_ne!(output.status.code(), Some(0), "{arguments:?}: {shown}");
    }
}

#[test]
fn rules_of_a_configuration_are_in_its_repository() {
    let directory = repository_with_a_link("unused");
    let repository = directory.path().join("repository");
    fs::write(repository.join(".imgcheck.yaml"), "rules: [../outside]\n").unwrap();
    fs::write(repository.join("Dockerfile"), "FROM debian:12\n").unwrap();
    let output = inside(&repository)
        .args(["lint", "Dockerfile"])
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("leads out of the directory"), "{shown}");
}

#[test]
fn a_link_within_the_repository_is_followed() {
    let directory = configured("rules: [rules/team.yaml]\n");
    let root = directory.path();
    fs::create_dir_all(root.join("docker")).unwrap();
    fs::create_dir_all(root.join("rules")).unwrap();
    fs::write(root.join("Dockerfile"), "FROM debian:12\n").unwrap();
    fs::write(
        root.join("team.yaml"),
        "id: team-x\ntitle: t\nseverity: note\nsince: \"1\"\nfail: 'false'\nmessage: m\nwhy: w\n",
    )
    .unwrap();
    std::os::unix::fs::symlink("../team.yaml", root.join("rules/team.yaml")).unwrap();
    std::os::unix::fs::symlink("../Dockerfile", root.join("docker/Dockerfile")).unwrap();
    for path in ["docker/Dockerfile", "docker/../Dockerfile"] {
        let output = inside(root).args(["lint", path]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
}
