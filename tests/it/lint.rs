//! `imgcheck lint`: faults of files that images are built from, files that are fine, files that cannot be parsed.

use crate::program;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::Value;

use imgcheck::internals::lint::{FileKind, Neighbour, Sources, read};
use imgcheck::internals::stack::Catalogue;

use crate::program::imgcheck;

const FILES: [(&str, FileKind); 4] = [
    ("Dockerfile", FileKind::Dockerfile),
    ("requirements.txt", FileKind::Requirements),
    ("environment.yml", FileKind::Environment),
    ("pyproject.toml", FileKind::Pyproject),
];

/// Runs the command in a directory.
fn lint(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = imgcheck()
        .current_dir(directory)
        .arg("lint")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn json(directory: &Path, arguments: &[&str]) -> (i32, Value) {
    let (code, out, err) = lint(directory, &[arguments, &["-f", "json"]].concat());
    (
        code,
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}")),
    )
}

/// `rule file:line:column` of each finding.
fn places(report: &Value) -> Vec<String> {
    let files = report["files"].as_array().unwrap();
    let findings = files
        .iter()
        .flat_map(|file| file["findings"].as_array().unwrap());
    findings
        .map(|finding| {
            let place = &finding["location"];
            format!(
                "{} {}:{}:{}",
                finding["rule"].as_str().unwrap(),
                place["file"].as_str().unwrap(),
                place["line"],
                place["column"]
            )
        })
        .collect()
}

fn data(name: &str) -> std::path::PathBuf {
    program::repository("testdata/lint").join(name)
}

/// A directory with some files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

#[test]
fn faults_are_shown_at_their_place() {
    for (name, _) in FILES {
        let (code, out, err) = lint(&data("faulty"), &[name]);
        assert_eq!(
            (code, err.as_str()),
            (i32::from(name != "requirements.txt"), ""),
            "{name}: {out}"
        );
        insta::assert_snapshot!(format!("lint-{name}"), out);
    }
}

#[test]
fn files_that_are_fine_have_no_findings() {
    let (code, report) = json(&data("healthy"), &["--fail-on", "note", "."]);
    assert_eq!((code, places(&report)), (0, vec![]));
    assert_eq!(report["files"].as_array().unwrap().len(), 4);
}

#[test]
fn the_report_names_the_contract() {
    let (code, report) = json(&data("faulty"), &["environment.yml"]);
    assert_eq!(code, 1);
    assert_eq!(report["schema"], "imgcheck/lint/v1");
    assert_eq!(report["tool"]["name"], "imgcheck");
    let file = &report["files"][0];
    assert_eq!(
        (&file["file"], &file["verdict"]),
        (&"environment.yml".into(), &"fail".into())
    );
    let location = &file["findings"][0]["location"];
    let line = location["text"].as_str().unwrap();
    let (from, to) = (
        location["column"].as_u64().unwrap() as usize,
        location["end_column"].as_u64().unwrap() as usize,
    );
    assert!(line[from - 1..to - 1].contains('='), "{location}");
}

#[test]
fn a_requirements_file_is_read_with_the_dockerfile_that_installs_it() {
    let files = directory(&[
        (
            "Dockerfile",
            "FROM python:3.12\nCOPY deps/requirements.txt /tmp/\nRUN pip install torchvision==0.19.0 -r /tmp/requirements.txt\n",
        ),
        (
            "deps/requirements.txt",
            "torch==2.8.0\n-r more.txt\n-r ../../outside.txt\n-c limits.txt\n",
        ),
        ("deps/more.txt", "torchaudio==2.4.0\n-r requirements.txt\n"),
        ("deps/limits.txt", "torch==2.7.0\n"),
    ]);
    let (code, report) = json(files.path(), &["Dockerfile"]);
    assert_eq!(code, 1);
    let expected = [
        "lint-pin-conflict Dockerfile:3:17",
        "lint-pin-conflict deps/more.txt:1:1",
        "lint-pin-conflict deps/requirements.txt:1:1",
    ];
    assert_eq!(places(&report), expected);
    // Named beside it, a file has its own findings to itself.
    let (_, both) = json(files.path(), &["Dockerfile", "deps/requirements.txt"]);
    assert_eq!(places(&both).len(), 3, "{both:#}");
}

#[test]
fn nothing_outside_the_directory_is_read() {
    let files = directory(&[
        (
            "a/requirements.txt",
            "-r ../secret.txt\n-r /etc/passwd\n-r link.txt\n",
        ),
        ("secret.txt", "this is no requirement\n"),
    ]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("../secret.txt", files.path().join("a/link.txt")).unwrap();
    assert_eq!(lint(&files.path().join("a"), &["requirements.txt"]).0, 0);
}

#[test]
fn a_parse_error_is_shown_and_does_not_pass() {
    let cases = [
        (
            "Dockerfile",
            "FROM a\nRUM pip install torch\n",
            "Dockerfile:2:1",
            "did you mean `RUN`?",
        ),
        ("b/Dockerfile", "RUN x\n", "Dockerfile:1:1", "expected FROM"),
        (
            "c/Dockerfile",
            "# nothing\n",
            "Dockerfile",
            "at least one FROM",
        ),
        (
            "requirements.txt",
            "numpy\ntorch=2.8.0\n",
            "requirements.txt:2:1",
            "torch==2.8.0",
        ),
        (
            "environment.yml",
            "dependencies:\n  - python: [\n",
            "environment.yml:",
            "",
        ),
        (
            "d/environment.yml",
            "name: x\n",
            "environment.yml:1:1",
            "missing key `dependencies`",
        ),
        (
            "pyproject.toml",
            "[project]\ndependencies = [\"torch==\"]\n",
            "pyproject.toml:2:18",
            "invalid requirement",
        ),
        ("e/pyproject.toml", "[project\n", "pyproject.toml:1", ""),
    ];
    for (name, text, place, help) in cases {
        let files = directory(&[(name, text), ("ok.txt", "numpy\n")]);
        let (code, out, err) = lint(files.path(), &[name, "ok.txt"]);
        assert_eq!(code, 2, "{name}: {out}{err}");
        assert!(err.contains(place) && err.contains(help), "{name}: {err}");
        assert!(out.contains("PASS  ok.txt"), "{out}");
        let (code, report) = json(files.path(), &[name]);
        assert_eq!((code, &report["errors"][0]["file"]), (2, &name.into()));
    }
}

#[test]
fn inputs_that_are_none_are_errors() {
    let files = directory(&[("notes.md", "hello\n"), ("empty/x", ""), ("binary.txt", "")]);
    fs::write(files.path().join("binary.txt"), [0x66, 0xff, 0xfe]).unwrap();
    fs::write(files.path().join("large.txt"), vec![b'\n'; 1024 * 1024 + 1]).unwrap();
    for (arguments, said) in [
        (vec!["missing"], "file not found"),
        (vec!["notes.md"], "--kind"),
        (vec!["empty"], "no Dockerfile"),
        (vec!["-"], "--kind"),
        (vec!["binary.txt"], "byte 2 is not valid UTF-8"),
        (vec!["large.txt"], "1 MiB"),
    ] {
        let (code, _, err) = lint(files.path(), &arguments);
        assert_eq!(code, 2, "{arguments:?}");
        assert!(err.contains(said), "{arguments:?}: {err}");
    }
}

#[test]
fn a_linted_file_is_never_written_over() {
    let files = directory(&[("requirements.txt", "torch\n")]);
    let (code, _, err) = lint(
        files.path(),
        &["-o", "requirements.txt", "requirements.txt"],
    );
    assert_eq!(code, 2, "{err}");
    assert_eq!(
        fs::read_to_string(files.path().join("requirements.txt")).unwrap(),
        "torch\n"
    );
}

#[test]
fn no_report_is_written_over_another() {
    let files = directory(&[("requirements.txt", "torch\n"), ("d/x", ""), ("old", "")]);
    for (first, second) in [
        ("json=z", "sarif=z"),
        ("json=z", "sarif=./z"),
        ("json=z", "sarif=d/../z"),
        ("json=old", "sarif=d/../old"),
        ("z", "json=z"),
    ] {
        let arguments = ["-o", first, "-o", second, "requirements.txt"];
        let (code, _, err) = lint(files.path(), &arguments);
        assert_eq!(code, 2, "{first} {second}: {err}");
        assert!(err.contains("two reports"), "{err}");
        assert!(!files.path().join("z").exists());
    }
    for (first, second) in [
        ("json=z", "sarif=d/z"),
        ("json=/dev/null", "sarif=/dev/null"),
    ] {
        let arguments = ["-o", first, "-o", second, "requirements.txt"];
        assert_eq!(lint(files.path(), &arguments).0, 0, "{first} {second}");
    }
}

#[test]
fn the_standard_input_needs_a_kind() {
    let output = imgcheck()
        .args(["lint", "--kind", "requirements", "-"])
        .write_stdin("torch==2.8.0+cu118\n")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("--> -:1:1")
    );
}

#[test]
fn fingerprints_stay_when_lines_move() {
    let first = directory(&[("requirements.txt", "torch==2.8.0+cu118\n")]);
    let second = directory(&[(
        "requirements.txt",
        "# a line more\n\n  torch==2.8.0+cu118\n",
    )]);
    let fingerprint =
        |report: (i32, Value)| report.1["files"][0]["findings"][0]["fingerprint"].clone();
    let one = fingerprint(json(first.path(), &["requirements.txt"]));
    assert!(one.is_string());
    assert_eq!(
        one,
        fingerprint(json(second.path(), &["./requirements.txt"]))
    );
}

/// A Dockerfile whose lines are repeated: what bounds the work of it is told, in a time that no other work could take.
fn is_refused(files: &[(&str, &str)], said: &str) {
    let start = Instant::now();
    let files = directory(files);
    let (code, out, err) = lint(files.path(), &["Dockerfile"]);
    assert_eq!(code, 2, "{out}{err}");
    assert!(err.contains(said), "{err}");
    assert!(start.elapsed() < Duration::from_secs(60), "{said}");
}

#[test]
fn work_that_small_files_make_is_bounded() {
    let numbered =
        |count: usize, item: &dyn Fn(usize) -> String| -> String { (0..count).map(item).collect() };
    let pins = numbered(101, &|n| format!(" torch==2.{n}"));
    is_refused(
        &[("Dockerfile", &format!("FROM a\nRUN pip install{pins}\n"))],
        "more than 100 GPU components",
    );
    let pins = numbered(100, &|n| format!(" torch==2.{n}"));
    let stages = numbered(20, &|n| format!("FROM s AS t{n}\n"));
    is_refused(
        &[(
            "Dockerfile",
            &format!("FROM a AS s\nRUN pip install{pins}\n{stages}"),
        )],
        "more than 800 GPU components",
    );
    let runs = "RUN pip install -r req.txt\n".repeat(2000);
    is_refused(
        &[
            ("Dockerfile", &format!("FROM a\nCOPY req.txt .\n{runs}")),
            ("req.txt", &"# nothing\n".repeat(75_000)),
        ],
        "exceed 16 MiB",
    );
    let runs = "RUN pip install -r c\n".repeat(10_000);
    let copies = "COPY a b\n".repeat(20_000);
    is_refused(
        &[("Dockerfile", &format!("FROM a\n{copies}{runs}"))],
        "more than 1000 copied files",
    );
    let arguments = numbered(1001, &|n| format!("ARG A{n}=1\n"));
    is_refused(
        &[("Dockerfile", &format!("{arguments}FROM a\n"))],
        "more than 1000 arguments",
    );
    is_refused(
        &[(
            "Dockerfile",
            &format!("FROM a\n{}", "RUN <<A\n".repeat(20_000)),
        )],
        "more than 200 here-documents",
    );
}

#[test]
fn each_of_many_versions_is_told_once() {
    let pins: String = (0..100).map(|n| format!(" torch==2.{n}")).collect();
    let files = directory(&[("Dockerfile", &format!("FROM a\nRUN pip install{pins}\n"))]);
    let (code, report) = json(files.path(), &["Dockerfile"]);
    assert_eq!((code, places(&report).len()), (1, 99));
}

#[test]
fn a_here_document_is_the_input_of_one_command() {
    let text =
        "FROM a\nRUN cat <<A > /x && bash <<B && bash\npip install one\nA\npip install two\nB\n";
    assert_eq!(installed(text), ["0: two"]);
    let body = "pip install x==1\n".repeat(100);
    let commands = "bash <<E; ".repeat(300);
    let text = format!("FROM a\nRUN {commands}true\n{body}E\n");
    assert!(
        parse(FileKind::Dockerfile, &text).is_none_or(|found| found.stages[0].pins.len() == 100)
    );
}

#[test]
fn loader_configuration_that_is_copied_from_a_here_document_is_read() {
    for (target, expected) in [
        ("/etc/ld.so.conf.d/x.conf", true),
        ("/etc/ld.so.conf.d/", true),
        ("/etc/motd", false),
    ] {
        let text = format!("FROM a\nCOPY <<E.conf {target}\n/usr/local/cuda/lib64/stubs\nE.conf\n");
        let files = directory(&[("Dockerfile", &text)]);
        let (_, report) = json(files.path(), &["Dockerfile"]);
        let expected = match expected {
            true => vec!["lint-stub-path Dockerfile:3:1"],
            false => vec![],
        };
        assert_eq!(places(&report), expected, "{target}");
    }
}

#[test]
fn an_error_is_quoted_without_its_title() {
    let files = directory(&[
        (
            "Dockerfile",
            "FROM a\nCOPY r.txt .\nRUN pip install -r r.txt\n",
        ),
        ("r.txt", "torch=2.8.0\n"),
    ]);
    let (_, _, err) = lint(files.path(), &["Dockerfile"]);
    assert_eq!(err.matches("error").count(), 1, "{err}");
    for format in ["json", "sarif", "junit"] {
        let (code, out, _) = lint(files.path(), &["Dockerfile", "-f", format]);
        assert_eq!(code, 2);
        assert!(!out.contains("error: this is no"), "{format}");
        assert!(!out.contains("the image could not be read"), "{format}");
        assert!(out.contains("invalid requirement"), "{format}");
    }
}

/// What stages install: `stage: package` for each, `?` behind what only may be.
fn installed(text: &str) -> Vec<String> {
    let sources = parse(FileKind::Dockerfile, text).unwrap();
    let pins = sources.stages.iter().flat_map(|stage| {
        stage.pins.iter().map(move |pin| {
            let sure = if pin.conditional { "?" } else { "" };
            let place = if pin.environment.is_empty() {
                String::new()
            } else {
                format!(" in {}", pin.environment)
            };
            format!("{}: {}{sure}{place}", stage.index, pin.text)
        })
    });
    pins.collect()
}

#[test]
fn packages_are_found_however_they_are_installed() {
    for (text, expected) in [
        (
            "FROM a\nRUN pip install x==1 \\\n # c\n\n  'y>=2'",
            vec!["0: x==1", "0: y>=2"],
        ),
        (
            "FROM a\nRUN [\"pip\", \"install\", \"x==1\"]",
            vec!["0: x==1"],
        ),
        (
            "FROM a\nRUN [\"/bin/bash\", \"-c\", \"pip install x==1\"]",
            vec!["0: x==1"],
        ),
        (
            "FROM a\nRUN bash -lc 'pip install x==1 && true'",
            vec!["0: x==1"],
        ),
        (
            "FROM a\nRUN <<EOF\npip install x==1\nEOF\nRUN pip install y",
            vec!["0: x==1", "0: y"],
        ),
        (
            "FROM a\nRUN --mount=type=cache \\\n <<-\"E\"\n\tpip install x==1\n\tE\n",
            vec!["0: x==1"],
        ),
        (
            "FROM a\nRUN bash -e <<E && pip install y\npip install x==1\nE\n",
            vec!["0: x==1", "0: y"],
        ),
        ("FROM a\nRUN python3 - <<E\npip install x==1\nE\n", vec![]),
        (
            "FROM a\nRUN <<E\n#!/usr/bin/env python3\npip install x==1\nE\n",
            vec![],
        ),
        ("FROM a\nCOPY <<E /x\nRUN pip install x==1\nE\n", vec![]),
        (
            "ARG V=1\nFROM a\nARG V\nENV W=${V}.2 U=$W\nRUN pip install x==$W y==$U z==$NONE",
            vec!["0: x==1.2", "0: y==$U", "0: z==$NONE"],
        ),
        (
            "FROM a\nRUN V=1.2.3 && pip install x==${V%.*} && if a; then pip install y; fi",
            vec!["0: x==1.2", "0: y?"],
        ),
        (
            "FROM a\nRUN python3 -m venv /v && . /v/bin/activate && pip install x; /w/bin/pip install y",
            vec!["0: x in /v", "0: y in /w"],
        ),
        (
            "FROM a\nENV PATH=/opt/venv/bin:$PATH\nRUN pip install x\nRUN conda run -n e pip install y",
            vec!["0: x in /opt/venv", "0: y in e"],
        ),
        (
            "FROM a AS b\nRUN pip install x\nFROM B\nRUN pip install y\nFROM c",
            vec!["0: x", "1: x", "1: y"],
        ),
        (
            "# escape=`\nFROM a\nRUN pip install x `\n y",
            vec!["0: x", "0: y"],
        ),
        ("FROM a\nSHELL [\"powershell\"]\nRUN pip install x", vec![]),
        (
            "FROM a\nRUN pip install -e . ./b c.whl git+https://x/y 'z @ https://x/z-1.0+cu118-py3-none-any.whl'",
            vec!["0: z @ https://x/z-1.0+cu118-py3-none-any.whl"],
        ),
    ] {
        assert_eq!(installed(text), expected, "{text}");
    }
}

#[test]
fn stages_that_only_build_are_told_apart() {
    let shipped = |text: &str| {
        let stages = parse(FileKind::Dockerfile, text).unwrap().stages;
        stages
            .iter()
            .map(|stage| stage.shipped)
            .collect::<Vec<bool>>()
    };
    assert_eq!(
        shipped("FROM a AS b\nFROM c\nCOPY --from=b /x /x"),
        [false, true]
    );
    assert_eq!(
        shipped("FROM a AS b\nFROM c\nRUN --mount=type=bind,from=b,target=/x true"),
        [false, true]
    );
    assert_eq!(
        shipped("FROM a\nFROM c\nCOPY --from=0 /x /x"),
        [false, true]
    );
    assert_eq!(
        shipped("FROM a AS b\nFROM b AS c\nFROM b\nCOPY --from=c /x /x"),
        [true, false, true]
    );
    assert_eq!(shipped("FROM a AS test\nFROM c"), [true, true]);
}

fn parse(kind: FileKind, text: &str) -> Option<Sources> {
    thread_local! {
        static CATALOGUE: Catalogue = Catalogue::builtin().unwrap();
    }
    CATALOGUE.with(|catalogue| {
        read("f", text, kind, catalogue, &|_| {
            Neighbour::Text("torch==2.8.0\n".to_owned())
        })
        .ok()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        for (_, kind) in FILES {
            parse(kind, &text);
            parse(kind, &format!("FROM a\nRUN {text}\n"));
        }
    }

    #[test]
    fn no_shell_panics(text in "[ \\\\\n$`(){}\"'<>|&;#a-c=:/@é\\[\\]-]{0,80}") {
        for start in ["FROM a\nRUN pip install ", "FROM a\nENV A=", "FROM a\nRUN <<E\n", "ARG A=", "FROM "] {
            parse(FileKind::Dockerfile, &format!("{start}{text}"));
        }
        parse(FileKind::Requirements, &text);
        parse(FileKind::Environment, &format!("dependencies:\n - \"{text}"));
    }

    #[test]
    fn no_damaged_file_panics(which in 0usize..4, healthy: bool, at in 0.0f64..1.0, length in 0usize..40, put in "(?s).{0,6}") {
        let (name, kind) = FILES[which];
        let folder = if healthy { "healthy" } else { "faulty" };
        let text = fs::read_to_string(data(folder).join(name)).unwrap();
        let characters: Vec<char> = text.chars().collect();
        let start = (at * characters.len() as f64) as usize;
        let end = (start + length).min(characters.len());
        let damaged: String = characters[..start].iter().copied().chain(put.chars()).chain(characters[end..].iter().copied()).collect();
        if let Some(sources) = parse(kind, &damaged) {
            for stage in &sources.stages {
                for pin in &stage.pins {
                    prop_assert!(pin.location.line >= 1 && pin.location.end_column > pin.location.column);
                }
            }
        }
    }
}

/// uv installs the requirements of a project; what comes behind it in the Dockerfile is judged all the same.
#[test]
fn a_project_that_a_command_names_is_no_list_of_requirements() {
    let directory = directory(&[
        (
            "Dockerfile",
            "FROM python:3.12\nCOPY pyproject.toml .\nRUN uv pip install --system -r pyproject.toml\n\
             RUN pip install torch==2.8.0 torchvision==0.19.0\n",
        ),
        (
            "pyproject.toml",
            "[project]\nname = \"x\"\nversion = \"1\"\n",
        ),
    ]);
    let (code, report) = json(directory.path(), &["Dockerfile"]);
    assert_eq!(code, 1, "{report}");
    let found = places(&report);
    assert!(
        found
            .iter()
            .any(|place| place.starts_with("lint-pin-conflict Dockerfile:4")),
        "{found:?}"
    );
}

/// What `imgcheck lint` says of one file: the exit code, and the severity and message of each finding of a rule.
fn said(name: &str, text: &str) -> (i32, Vec<String>) {
    let directory = directory(&[(name, text)]);
    let (code, report) = json(directory.path(), &[name]);
    let findings = report["files"][0]["findings"].as_array().unwrap().iter();
    let findings = findings.filter(|finding| finding["rule"] == "lint-pin-conflict");
    let said = findings.map(|finding| {
        let text = |key: &str| finding[key].as_str().unwrap().to_owned();
        format!("{}: {}", text("severity"), text("message"))
    });
    (code, said.collect())
}

#[test]
fn indexes_that_are_asked_beside_one_another() {
    let cuda = "PyTorch 2.8.0 was never built for CUDA 11.8";
    let own = "https://download.pytorch.org/whl/cu118";
    let warning = vec![format!("warning: {cuda}")];
    let error = vec![format!("error: {cuda}")];
    for (options, expected) in [
        (format!("--index-url {own}"), &error),
        (format!("--extra-index-url {own}"), &warning),
        (
            format!("--index-url {own} --extra-index-url https://pypi.org/simple"),
            &warning,
        ),
        (
            format!("-i https://mirrors.aliyun.com/pypi/simple --extra-index-url {own}"),
            &warning,
        ),
    ] {
        let text = format!("FROM python:3.12\nRUN pip install torch==2.8.0 {options}\n");
        assert_eq!(&said("Dockerfile", &text).1, expected, "{options}");
    }
    let both = format!(
        "FROM python:3.12 AS a\nRUN pip install torch==2.8.0 --extra-index-url {own}\n\
         FROM python:3.12\nRUN pip install torch==2.8.0 --index-url {own}\n"
    );
    assert_eq!(said("Dockerfile", &both), (1, [warning, error].concat()));
}

#[test]
fn a_backend_of_uv_is_judged() {
    let error = "error: PyTorch 2.8.0 was never built for CUDA 11.8";
    for (command, expected) in [
        (
            "uv pip install --system torch==2.8.0 torchvision==0.23.0 --torch-backend=cu118",
            vec![error],
        ),
        (
            "UV_TORCH_BACKEND=cu118 uv pip install --system torch==2.8.0",
            vec![error],
        ),
        ("UV_TORCH_BACKEND=cu118 pip install torch==2.8.0", vec![]),
        (
            "uv pip install --system torch==2.8.0 --torch-backend=auto",
            vec![],
        ),
        (
            "uv pip install --system torch==2.8.0 --torch-backend=cu128",
            vec![],
        ),
    ] {
        let text = format!("FROM python:3.12\nRUN {command}\n");
        assert_eq!(said("Dockerfile", &text).1, expected, "{command}");
    }
}

#[test]
fn sources_of_uv_are_chosen_by_their_markers() {
    let project = |sources: &str| {
        format!(
            "[project]\nname = \"x\"\nversion = \"1\"\ndependencies = [\"torch==2.8.0\", \"torchvision==0.23.0\"]\n\
             [tool.uv.sources]\n{sources}\n\
             [[tool.uv.index]]\nname = \"cpu\"\nurl = \"https://download.pytorch.org/whl/cpu\"\n\
             [[tool.uv.index]]\nname = \"cu118\"\nurl = \"https://download.pytorch.org/whl/cu118\"\n\
             [[tool.uv.index]]\nname = \"cu128\"\nurl = \"https://download.pytorch.org/whl/cu128\"\n"
        )
    };
    let arm = r#"{ index = "cpu", marker = "sys_platform == 'linux' and platform_machine == 'aarch64'" }"#;
    let intel = r#"{ index = "cu128", marker = "sys_platform == 'linux' and platform_machine == 'x86_64'" }"#;
    let orders = project(&format!(
        "torch = [{arm}, {intel}]\ntorchvision = [{intel}, {arm}]"
    ));
    assert_eq!(said("pyproject.toml", &orders), (0, vec![]));
    let other = r#"{ index = "cpu", marker = "sys_platform == 'darwin'" }"#;
    let fine = project(&format!(
        "torch = [{other}, {intel}]\ntorchvision = [{intel}]"
    ));
    assert_eq!(said("pyproject.toml", &fine), (0, vec![]));
    let old = r#"{ index = "cu118", marker = "platform_system != 'Darwin'" }"#;
    let wrong = project(&format!("torch = [{old}]"));
    let error = "error: PyTorch 2.8.0 was never built for CUDA 11.8".to_owned();
    assert_eq!(said("pyproject.toml", &wrong), (1, vec![error]));
}

#[test]
fn removed_packages_are_not_compared_later() {
    let install = "pip install torch==2.4.0 torchvision==0.19.0";
    for (between, expected) in [
        ("true", 2),
        ("pip uninstall -y torch torchvision", 1),
        ("uv pip uninstall --system torchvision torch || true", 1),
        ("/opt/other/bin/pip uninstall -y torch torchvision", 2),
        ("pip uninstall -y numpy", 2),
    ] {
        let text = format!(
            "FROM python:3.11\nRUN {install}\nRUN {between}\nRUN pip install torch==2.8.0\n"
        );
        assert_eq!(said("Dockerfile", &text).1.len(), expected, "{between}");
    }
    let late = "FROM python:3.11\nRUN pip uninstall -y torchvision\nRUN pip install torch==2.8.0 torchvision==0.19.0\n";
    assert_eq!(said("Dockerfile", late).1.len(), 1);
}
