//! Files that another one names: they are read, or a note says that they are not.

use super::*;

const CONFLICT: &str = "FROM python:3.12\nRUN pip install torch==2.8.0 torchvision==0.20.0\n";

#[test]
fn requirements_beside_their_directory_are_read() {
    let files = directory(&[
        ("common/base.txt", "torch==2.8.0\ntorchvision==0.20.0\n"),
        ("train/requirements.txt", "-r ../common/base.txt\n"),
        (
            "train/Dockerfile",
            "FROM python:3.12\nCOPY common /common\nCOPY train /train\nRUN pip install -r /train/requirements.txt\n",
        ),
    ]);
    let root = files.path();
    let conflict = "lint-pin-conflict common/base.txt:2:1";
    let (_, report) = json(root, &["."]);
    assert_eq!(places(&report), [conflict]);
    let (_, report) = json(root, &["train/requirements.txt"]);
    assert_eq!(places(&report), [conflict]);
    let (_, report) = json(root, &["train/Dockerfile", "--context", "."]);
    assert_eq!(places(&report), [conflict]);
    // The directory may be named from elsewhere.
    let elsewhere = tempfile::tempdir().unwrap();
    let (_, report) = json(elsewhere.path(), &[root.to_str().unwrap()]);
    assert!(places(&report)[0].ends_with("common/base.txt:2:1"));
    // Outside of what may be read, that is said.
    let note = "lint-not-read requirements.txt:1:1";
    let (code, report) = json(&root.join("train"), &["requirements.txt"]);
    assert_eq!((code, places(&report)), (0, vec![note.to_owned()]));
    let arguments = ["train/Dockerfile", "--context", "train"];
    let (_, report) = json(root, &arguments);
    assert_eq!(places(&report), ["lint-not-read train/Dockerfile:4:20"]);
}

/// The Dockerfile is relative to the file of the container, and what it copies to the context.
#[test]
fn the_context_of_a_devcontainer_is_read() {
    let dockerfile =
        "FROM python:3.12\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n";
    let named = ".devcontainer/devcontainer.json";
    let settings = [
        (
            ".devcontainer/Dockerfile",
            r#"{"build": {"context": "..", "dockerfile": "Dockerfile"}}"#,
        ),
        (
            "docker/Dockerfile",
            r#"{"build": {"context": "..", "dockerfile": "../docker/Dockerfile"}}"#,
        ),
        (
            ".devcontainer/Dockerfile",
            r#"{"context": "..", "dockerFile": "Dockerfile"}"#,
        ),
    ];
    for (place, settings) in settings {
        let files = directory(&[
            ("requirements.txt", "torch==2.8.0\ntorchvision==0.20.0\n"),
            (place, dockerfile),
            (named, settings),
        ]);
        let (_, report) = json(files.path(), &[named]);
        let conflict = "lint-pin-conflict requirements.txt:2:1";
        assert_eq!(places(&report), [conflict], "{settings}");
    }
}

#[test]
fn included_requirements_of_another_directory_must_exist() {
    let files = directory(&[("a/requirements.txt", "-r ../b.txt\n")]);
    let (code, _, err) = lint(files.path(), &["a/requirements.txt"]);
    assert_eq!(code, 2);
    assert!(err.contains("file `../b.txt` not found"), "{err}");
    // A file of the same name in the working directory is not the one above it.
    let files = [("requirements.txt", "-r ../b.txt\n"), ("b.txt", "torch==")];
    let note = "lint-not-read requirements.txt:1:1";
    for named in ["requirements.txt", "./requirements.txt"] {
        assert_eq!(found_in(&files, named).replace("./", ""), note, "{named}");
    }
}

#[test]
fn a_build_that_is_not_read_is_a_note() {
    let bake = |key: &str| format!("target \"a\" {{\n  {key}\n}}\n");
    for (name, text, place) in [
        (
            "compose.yaml",
            "services:\n  a:\n    build: {context: ./traim}\n",
            "3:22",
        ),
        (
            "compose.yaml",
            "services:\n  a:\n    build: https://example.com/a.git\n",
            "3:12",
        ),
        ("docker-bake.hcl", &bake("dockerfile = \"Nope\""), "1:9"),
        (
            "docker-bake.json",
            "{\"target\": {\"a\": {\"dockerfile\": \"Nope\"}}}",
            "1:14",
        ),
        (
            "docker-bake.hcl",
            &bake("dockerfile = upper(\"nope\")"),
            "1:9",
        ),
        (
            "devcontainer.json",
            "{\"build\": {\"dockerfile\": \"Nope\"}}",
            "1:27",
        ),
        ("compose.yaml", "include: [a/compose.yaml]\n", "1:11"),
        (
            "compose.yaml",
            "include:\n  - path: [a/compose.yaml]\n",
            "2:12",
        ),
        (
            "compose.yaml",
            "services:\n  a:\n    extends: {file: b.yaml, service: c}\n",
            "3:21",
        ),
        (
            "cog.yaml",
            "build:\n  python_requirements: nope.txt\n",
            "2:24",
        ),
    ] {
        let found = found_in(&[(name, text)], name);
        assert_eq!(found, format!("lint-not-read {name}:{place}"), "{text}");
    }
}

#[test]
fn other_compose_files_are_read() {
    let build = "services:\n  a:\n    build: .\n";
    for text in [
        "include: [b/compose.yaml]\n",
        "include:\n  - path: ./b/compose.yaml\n",
        "services:\n  c:\n    extends: {file: b/compose.yaml, service: a}\n",
    ] {
        let files = [
            ("compose.yaml", text),
            ("b/compose.yaml", build),
            ("b/Dockerfile", CONFLICT),
        ];
        let found = found_in(&files, "compose.yaml");
        assert_eq!(found, "lint-pin-conflict b/Dockerfile:2:30", "{text}");
    }
    // Files may name each other.
    let circle = [
        ("compose.yaml", "include: [b/compose.yaml]\n"),
        ("b/compose.yaml", "include: [../compose.yaml]\n"),
    ];
    assert!(found_in(&circle, "compose.yaml").starts_with("lint-not-read"));
}

#[test]
fn a_target_must_be_a_stage() {
    let dockerfile = "FROM python:3.12 AS base\nFROM base AS Final\n";
    for (name, text, place) in [
        (
            "compose.yaml",
            "services:\n  a:\n    build: {context: ., target: nostage}\n",
            "3:33",
        ),
        (
            "docker-bake.hcl",
            "target \"a\" {\n  target = \"nostage\"\n}\n",
            "1:8",
        ),
        (
            "devcontainer.json",
            "{\"build\": {\"dockerfile\": \"Dockerfile\", \"target\": \"nostage\"}}",
            "1:50",
        ),
    ] {
        let files = directory(&[(name, text), ("Dockerfile", dockerfile)]);
        let (code, _, err) = lint(files.path(), &[name]);
        assert_eq!(code, 2, "{text}");
        assert!(err.contains(&format!("{name}:{place}")), "{err}");
        assert!(err.contains("target stage `nostage`") && err.contains("are base, Final"));
        for stage in ["final", "base", "0"] {
            let files = directory(&[
                (name, &text.replace("nostage", stage)),
                ("Dockerfile", dockerfile),
            ]);
            assert_eq!(lint(files.path(), &[name]).0, 0, "{stage}");
        }
    }
}

#[test]
fn a_dockerfile_in_another_file_is_read() {
    let compose = "services:\n  a:\n    build:\n      context: .\n      args: {T: 2.8.0}\n      dockerfile_inline: |\n        FROM python:3.12\n\n        COPY r.txt .\n        ARG T\n        RUN pip install torch==$$T torchvision==0.20.0\n";
    let plain = "services:\n  a:\n    build:\n      dockerfile_inline: |\n        FROM python:3.12\n        RUN pip install torch==2.8.0 torchvision==0.20.0\n";
    let quoted = "services:\n  a:\n    build:\n      dockerfile_inline: \"FROM python:3.12\\nRUN pip install torch==2.8.0 torchvision==0.20.0\"\n";
    let variable = "services:\n  a:\n    build:\n      dockerfile_inline: |-\n        FROM python:${NOPE:-3.12}\n        RUN pip install torch==${NOPE:-2.8.0} torchvision==0.20.0\n";
    let bake = "target \"b\" {\n  dockerfile-inline = <<EOT\nFROM python:3.12\nRUN pip install torch==2.8.0 torchvision==0.20.0\nEOT\n}\ntarget \"a\" {\n  inherits = [\"b\"]\n}\n";
    let json = "{\"target\": {\"a\": {\n\"dockerfile-inline\": \"FROM python:3.12\\nRUN pip install torch==2.8.0 torchvision==0.20.0\"}}}";
    for (name, text, place) in [
        ("compose.yaml", compose, "11:9"),
        ("compose.yaml", plain, "6:38"),
        ("compose.yaml", quoted, "4:26"),
        ("compose.yaml", variable, "6:9"),
        ("docker-bake.hcl", bake, "4:30"),
        ("docker-bake.json", json, "2:2"),
    ] {
        let found = found_in(&[(name, text)], name);
        assert_eq!(found, format!("lint-pin-conflict {name}:{place}"), "{text}");
    }
    let broken = compose.replace("ARG T\n", "RUM x\n");
    let files = directory(&[("compose.yaml", &broken)]);
    let (code, _, err) = lint(files.path(), &["compose.yaml"]);
    assert_eq!(code, 2);
    assert!(err.contains("compose.yaml:10:9"), "{err}");
}

#[test]
fn dependencies_of_a_project_may_be_in_files() {
    let project = "[project]\nname = \"a\"\nversion = \"1\"\ndynamic = [\"dependencies\", \"optional-dependencies\"]\n[tool.setuptools.dynamic]\n";
    let conflict = ("r.txt", "torch==2.8.0\ntorchvision==0.20.0\n");
    for (keys, found) in [
        (
            "dependencies = {file = [\"r.txt\"]}",
            "lint-pin-conflict r.txt:2:1",
        ),
        (
            "dependencies = {file = \"r.txt\"}",
            "lint-pin-conflict r.txt:2:1",
        ),
        (
            "optional-dependencies.gpu = {file = [\"r.txt\"]}",
            "lint-pin-conflict r.txt:2:1",
        ),
        (
            "dependencies = {file = [\"nope.txt\"]}",
            "lint-not-read pyproject.toml:6:26",
        ),
        ("version = {file = \"r.txt\"}", ""),
    ] {
        let text = format!("{project}{keys}\n");
        let files = [("pyproject.toml", text.as_str()), conflict];
        assert_eq!(found_in(&files, "pyproject.toml"), found, "{keys}");
    }
    let text = format!("{project}dependencies = {{file = [\"r.txt\"]}}\n");
    let files = [
        ("pyproject.toml", text.as_str()),
        conflict,
        (
            "Dockerfile",
            "FROM python:3.12\nCOPY . /a\nRUN pip install /a\n",
        ),
    ];
    assert_eq!(
        found_in(&files, "Dockerfile"),
        "lint-pin-conflict r.txt:2:1"
    );
}
