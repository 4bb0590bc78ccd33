//! Which files are read, and invalid ones.

use super::*;

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
        "lint-not-read deps/requirements.txt:3:1",
    ];
    assert_eq!(places(&report), expected);
    // Named beside it, a file has its own findings to itself.
    let (_, both) = json(files.path(), &["Dockerfile", "deps/requirements.txt"]);
    assert_eq!(places(&both).len(), 4, "{both:#}");
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
    let (code, report) = json(&files.path().join("a"), &["requirements.txt"]);
    let note = "lint-not-read requirements.txt:1:1".to_owned();
    assert_eq!((code, places(&report)), (0, vec![note]));
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
            "d/environment.yml",
            "unknown file type",
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
fn invalid_inputs_are_errors() {
    let files = directory(&[
        ("notes.md", "hello\n"),
        ("empty/x", ""),
        ("binary.txt", ""),
        ("a/Dockerfile", "FROM a\n"),
        ("compose.yaml", "foo: bar\n"),
        ("uv.lock", ""),
        ("poetry.lock", ""),
        ("pixi.lock", ""),
        ("conda-lock.yml", ""),
    ]);
    fs::write(files.path().join("binary.txt"), [0x66, 0xff, 0xfe]).unwrap();
    fs::write(files.path().join("large.txt"), vec![b'\n'; 1024 * 1024 + 1]).unwrap();
    for (arguments, said) in [
        (vec!["missing"], "file not found"),
        (vec!["notes.md"], "--kind"),
        (vec!["empty"], "no Dockerfile"),
        (vec!["-"], "--kind"),
        (vec!["binary.txt"], "byte 2 is not valid UTF-8"),
        (vec!["large.txt"], "1 MiB"),
        (
            vec!["a/Dockerfile", "--context", "nope"],
            "nope: no such directory",
        ),
        (
            vec!["a/Dockerfile", "--context", "notes.md"],
            "notes.md: no such directory",
        ),
        (vec!["compose.yaml"], "missing key `services`"),
        (vec!["uv.lock"], "missing key `package`"),
        (vec!["poetry.lock"], "missing key `package`"),
        (vec!["pixi.lock"], "missing key `package`"),
        (vec!["conda-lock.yml"], "missing key `package`"),
    ] {
        let (code, _, err) = lint(files.path(), &arguments);
        assert_eq!(code, 2, "{arguments:?}");
        assert!(err.contains(said), "{arguments:?}: {err}");
    }
}

#[test]
fn standard_input_needs_a_kind() {
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
fn an_empty_input_is_an_error() {
    for kind in ["requirements", "dockerfile", "lock"] {
        let output = imgcheck()
            .args(["lint", "--kind", kind, "-"])
            .write_stdin("")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{kind}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains("standard input is empty"), "{kind}: {err}");
    }
    // A project may have files that list nothing.
    let files = directory(&[("requirements.txt", ""), ("pyproject.toml", "")]);
    assert_eq!(lint(files.path(), &["."]).0, 0);
}

#[test]
fn a_file_of_another_form_is_an_error() {
    let files = directory(&[
        ("foo.yaml", "foo: bar\n"),
        ("foo.toml", "foo = \"bar\"\n"),
        ("setup.py", "foo = \"bar\"\n"),
        ("Dockerfile", "FROM python:3.12\nRUN pip install torch\n"),
    ]);
    for (kind, key, file) in [
        ("compose", "services", "foo.yaml"),
        ("devcontainer", "image", "foo.yaml"),
        ("cog", "build", "foo.yaml"),
        ("bento", "service", "foo.yaml"),
        ("skypilot", "resources", "foo.yaml"),
        ("dstack", "type", "foo.yaml"),
        ("lock", "package", "foo.yaml"),
        ("lock", "package", "foo.toml"),
        ("environment", "dependencies", "foo.yaml"),
        ("bake", "target", "foo.toml"),
        ("pyproject", "project", "foo.toml"),
        ("pixi", "workspace", "foo.toml"),
        ("setup", "setup()", "setup.py"),
        ("requirements", "", "foo.yaml"),
    ] {
        let (code, _, err) = lint(files.path(), &[file, "--kind", kind]);
        assert_eq!(code, 2, "{kind} {file}");
        let said = format!("`{key}`");
        assert!(err.contains(&said) || key.is_empty(), "{kind}: {err}");
        let (code, out, _) = lint(files.path(), &["Dockerfile", "--kind", kind]);
        assert_eq!(code, 2, "{kind}: {out}");
    }
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
fn the_work_for_small_files_is_bounded() {
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
        "more than 2000 GPU components",
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

#[test]
fn what_is_named_like_a_dockerfile_gets_a_way_to_go() {
    let said = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Dockerfile"), text).unwrap();
        let (_, report) = json(folder.path(), &["Dockerfile"]);
        report["errors"].to_string()
    };
    let manifest = said("apiVersion: v1\nkind: Pod\n");
    assert!(
        manifest.contains("imgcheck preflight Dockerfile"),
        "{manifest}"
    );
    for template in ["FROM {{ base }}\n", "{% if a %}\nFROM a\n{% endif %}\n"] {
        let template = said(template);
        assert!(template.contains("the file is a template"), "{template}");
    }
    let broken = said("FROM a\nNO {{ x }}\n");
    assert!(!broken.contains("template"), "{broken}");
    let fine = said("FROM a\nRUN docker ps --format '{{.Names}}'\n");
    assert_eq!(fine, "null");
}
