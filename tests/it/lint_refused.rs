//! `imgcheck lint`: files that Docker, pip and the builders of Python projects refuse are exit 2, and those they take are not.

use std::fs;

use crate::program::{imgcheck, lint};

/// A directory with some files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

#[test]
fn files_that_docker_rejects_are_rejected() {
    let below = [
        ("ENV A", "2:5", "ENV NAME=value"),
        ("ENV A=1 B", "2:9", "`B` is not NAME=value"),
        ("ENV A=1 \\\n  B \\\n", "3:3", "`B` is not NAME=value"),
        ("LABEL a", "2:7", "LABEL NAME=value"),
        (
            "RUN --foo x",
            "2:5",
            "RUN accepts --mount, --network, --security, --device",
        ),
        (
            "RUN --mout=type=cache,target=/x y",
            "2:5",
            "did you mean `--mount`?",
        ),
        ("COPY --bogus a b", "2:6", "unknown flag `--bogus` of COPY"),
        ("COPY --form=x a b", "2:6", "did you mean `--from`?"),
        ("ADD --from=x a b", "2:5", "unknown flag `--from` of ADD"),
        (
            "HEALTHCHECK --retry=3 CMD x",
            "2:13",
            "unknown flag `--retry` of HEALTHCHECK",
        ),
        ("ONBUILD FROM x", "2:9", "invalid trigger"),
        ("onbuild maintainer x", "2:9", "invalid trigger"),
        ("ONBUILD ONBUILD RUN x", "2:", "ONBUILD"),
        ("FROM x AS 1x", "2:11", "invalid stage name `1x`"),
        ("FROM x AS $A", "2:11", "invalid stage name"),
        ("FROM --foo=x python", "2:6", "FROM accepts --platform"),
        (
            "FROM --plaform=x python",
            "2:6",
            "did you mean `--platform`?",
        ),
        ("FROM python:", "2:6", "`` is not a tag"),
        ("FROM Python:3", "2:6", "lowercase"),
        ("FROM Foo:Bar:Baz", "2:6", "not a valid image reference"),
    ];
    for (line, place, said) in below {
        let files = directory(&[("Dockerfile", &format!("FROM python:3.11\n{line}\n"))]);
        let (code, _, err) = lint(files.path(), &["Dockerfile"]);
        assert_eq!(code, 2, "{line}: {err}");
        assert!(
            err.contains(&format!("Dockerfile:{place}")) && err.contains(said),
            "{line}: {err}"
        );
    }
}

#[test]
fn files_that_docker_accepts_are_accepted() {
    for text in [
        "from --platform=$BUILDPLATFORM golang:1.22 as build\nrun go build\nfrom scratch\ncopy --from=build --chown=1:1 --link /a /a\n",
        "ARG BASE\nFROM ${BASE:-debian} AS Base\nFROM base as final\nfrom FINAL\n",
        "ARG TAG=\nARG IMAGE=MUST_BE_SET\nFROM python:$TAG\nFROM $IMAGE\nFROM python:X.Y\nFROM localhost:5000/a/b:c\n",
        "FROM a\nRUN --mount=type=cache,target=/x --network=none --security=insecure cmd --foo\nRUN --mount=type=bind \\\n    --mount=type=secret,id=a \\\n    make --bogus\nRUN -- --foo\n",
        "FROM a\nRUN --mount=\"type=cache,target=/x y\" cmd\nRUN --mount=type=cache,target=/x <<EOF\nENV A\nCOPY --bogus\nEOF\n",
        "FROM a\nCOPY --chown=$U:$G --chmod=0755 --parents --exclude=*.txt a b\nADD --keep-git-dir=true --checksum=sha256:x --unpack a b\nCOPY <<EOF /x\nLABEL a\nEOF\n",
        "FROM a\nHEALTHCHECK --interval=5m --timeout=3s --start-period=1s --start-interval=1s --retries=3 CMD x --foo\nHEALTHCHECK NONE\n",
        "FROM a\nENV A b c\nENV A=1 B='x y' C=\"x y\" D=x\\ y\nENV A=1 \\\n    # why \\\n\n    B=2\nLABEL a b\nLABEL \"a b\"=c d.e=f\nENV A=1 \\\n",
        "FROM a\nENV A \\\n  b\nENV A=b=c D=\nENV PATH=$PATH:/x:${Y:-/a} Z=\"it's\"\nLABEL a=\"x\\\n  y z\" b=c\n",
        "FROM a\nENV A=C:\\\\\nRUN x y\nLABEL A=1\n",
        "# escape=`\nFROM a\nENV A=C:\\ B=2 `\n  C=\"x y\"\nRUN x `\n  --foo\nCOPY --from=b C:\\x C:\\\n",
        "FROM a\nONBUILD RUN --foo x\nONBUILD COPY . /x\nONBUILD ENV A=1\n",
        "# syntax=registry.example/other\nFROM a\nRUN --foo x\nENV A\n",
        "# syntax=docker/dockerfile:1-labs\nFROM a AS a.b-c_1\nRUN --device=x y\n",
        "FROM a\r\nENV A=1 \\\r\n  B=2\r\nLABEL a=b\r\nCOPY --link a b\r\n",
    ] {
        let files = directory(&[("Dockerfile", text)]);
        let (code, out, err) = lint(files.path(), &["--fail-on", "never", "Dockerfile"]);
        assert_eq!((code, err.as_str()), (0, ""), "{text}\n{out}");
    }
}

#[test]
fn a_malformed_project_is_refused() {
    for (text, place, said) in [
        (
            "[project]\ndependencies = \"torch==2.8.0\"\n",
            "2:16",
            "`dependencies` must be an array of requirements, not a string",
        ),
        ("[project]\ndependencies = [1]\n", "2:17", "not an integer"),
        (
            "[project]\noptional-dependencies = [\"torch\"]\n",
            "2:25",
            "must be a table, not an array",
        ),
        (
            "[project.optional-dependencies]\na = \"x\"\n",
            "2:5",
            "`a` must be an array of requirements",
        ),
        (
            "[[project]]\ndependencies = []\n",
            "",
            "`project` must be a table",
        ),
        (
            "[project.optional-dependencies]\na = [{include-group = \"b\"}]\nb = []\n",
            "2:",
            "only groups in `dependency-groups` can include others",
        ),
        (
            "[dependency-groups]\na = [{include-group = \"nope\"}]\n",
            "2:24",
            "unknown group `nope`",
        ),
        (
            "[dependency-groups]\na = [{include-group = \"tset\"}]\ntest = []\n",
            "2:24",
            "did you mean `test`?",
        ),
        (
            "[dependency-groups]\na = [{include-group = \"a\"}]\n",
            "2:24",
            "group `a` includes itself",
        ),
        (
            "[dependency-groups]\na = [{include-group = \"b\"}]\nb = [{include-group = \"c\"}]\nc = [{include-group = \"B\"}]\n",
            "3:24",
            "group `b` includes itself",
        ),
        (
            "[dependency-groups]\na = [{include-group = 1}]\n",
            "2:23",
            "must be the name of a group, not an integer",
        ),
        (
            "[tool.poetry.dependencies]\ntorch = 2.8\n",
            "2:9",
            "`torch` must be a string or a table, not a float",
        ),
        (
            "[tool.pixi]\ndependencies = [\"torch\"]\n",
            "2:16",
            "must be a table",
        ),
    ] {
        let files = directory(&[("pyproject.toml", text)]);
        let (code, _, err) = lint(files.path(), &["pyproject.toml"]);
        assert_eq!(code, 2, "{text}: {err}");
        assert!(
            err.contains(&format!("pyproject.toml:{place}")) && err.contains(said),
            "{text}: {err}"
        );
    }
}

#[test]
fn a_project_that_is_right_is_not_refused() {
    for text in [
        "[project]\nname = \"a\"\ndynamic = [\"dependencies\"]\n",
        "[dependency-groups]\nTest_GPU = [\"numpy\"]\nall = [{include-group = \"test-gpu\"}, {include-group = \"Test.Gpu\"}, {other = 1}]\n",
        "[dependency-groups]\na = [{include-group = \"c\"}]\nb = [{include-group = \"c\"}]\nc = []\nd = [{include-group = \"a\"}, {include-group = \"b\"}]\n",
        "[project.optional-dependencies]\na = [\"x[b]\"]\nb = []\n",
        "[tool.poetry.dependencies]\npython = \"^3.11\"\na = {git = \"https://x\"}\nb = [{version = \"1\", python = \"<3.9\"}, {version = \"2\"}]\n[tool.poetry.group.dev]\noptional = true\n[tool.poetry.group.dev.dependencies]\nx = \"*\"\n",
        "[tool.pixi.dependencies]\na = \"*\"\nb = {version = \"*\", channel = \"x\"}\n[tool.pixi.pypi-dependencies]\nx = {path = \".\", editable = true}\n",
    ] {
        let files = directory(&[("pyproject.toml", text)]);
        let (code, out, err) = lint(files.path(), &["pyproject.toml"]);
        assert_eq!((code, err.as_str()), (0, ""), "{text}\n{out}");
    }
}

#[test]
fn options_that_pip_refuses_are_refused() {
    for (text, place, said) in [
        ("numpy\n--bogus\n", "2:1", "unknown option `--bogus`"),
        ("--requirment x\n", "1:1", "did you mean `--requirement`?"),
        ("--requirement\n", "1:1", "`--requirement` has no value"),
        ("--index-url\n", "1:1", "`--index-url` has no value"),
        ("--pre -x\n", "1:7", "unknown option `-x`"),
        ("numpy==1 --bogus\n", "1:10", "unknown option `--bogus`"),
        ("numpy==1 --hash\n", "1:10", "`--hash` has no value"),
        (
            "numpy\n-r missing.txt\n",
            "2:1",
            "file `missing.txt` not found",
        ),
        ("-c ./missing.txt\n", "1:1", "file `missing.txt` not found"),
    ] {
        let files = directory(&[("requirements.txt", text)]);
        let (code, _, err) = lint(files.path(), &["requirements.txt"]);
        assert_eq!(code, 2, "{text}: {err}");
        assert!(
            err.contains(&format!("requirements.txt:{place}")) && err.contains(said),
            "{text}: {err}"
        );
    }
}

#[test]
fn a_malformed_file_is_damaged_and_no_rule_file() {
    let files = directory(&[("Dockerfile", "FROM debian:12\nRUNN x\n")]);
    let (code, out, _) = lint(files.path(), &["Dockerfile", "-f", "json"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &report["errors"][0]["code"]), (2, &"damaged".into()));
}

#[test]
fn options_of_pip_are_accepted() {
    let text = "-i https://x\n--extra-index-url=https://y --trusted-host y\n--no-index\n-f /wheels\n--pre\n--prefer-binary\n\
        --no-binary :all:\n--only-binary=numpy\n--require-hashes\n--use-feature fast-deps\n-e .[a]\n--editable=git+https://x#egg=y\n\
        numpy==1 --hash=sha256:a --hash sha256:b\nscipy==1 \\\n    --hash=sha256:a \\\n    --config-settings=\"x=y\"\n\
        a @ https://x/a.whl --global-option=\"--no-user-cfg\"\n--extra-index https://z\n--install-option=\"-x\"\n\
        -r other.txt\n-c ${LIMITS}.txt\n-r https://x/y.txt\n-r ../z.txt\n-r /etc/z.txt\n";
    let files = directory(&[("requirements.txt", text), ("other.txt", "numpy\n")]);
    let (code, out, err) = lint(files.path(), &["requirements.txt"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    // Nobody knows where a file of the standard input stands, and what a build brings that a Dockerfile describes.
    let output = imgcheck()
        .args(["lint", "--kind", "requirements", "-"])
        .write_stdin("-r missing.txt\n")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let files = directory(&[
        (
            "Dockerfile",
            "FROM python:3.12\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n",
        ),
        ("requirements.txt", "-r missing.txt\n"),
    ]);
    assert_eq!(lint(files.path(), &["Dockerfile"]).0, 0);
}
