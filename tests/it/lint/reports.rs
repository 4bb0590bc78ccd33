//! What a lint reports, and where it writes the report.

use super::*;

#[test]
fn faults_are_shown_at_their_place() {
    for (name, _) in FILES {
        let (code, out, err) = lint(&data("faulty"), &[name]);
        assert_eq!(
            (code, err.as_str()),
            (i32::from(name != "requirements.txt"), ""),
            "{name}: {out}"
        );
        insta::assert_snapshot!(format!("lint-{name}"), undated(&out));
    }
}

#[test]
fn files_that_are_fine_have_no_findings() {
    let (code, report) = json(&data("healthy"), &["--fail-on", "note", "."]);
    assert_eq!((code, places(&report)), (0, vec![]));
    assert_eq!(report["files"].as_array().unwrap().len(), 4);
}

#[test]
fn the_report_names_its_schema() {
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
fn a_linted_file_is_never_overwritten() {
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
fn no_report_overwrites_another() {
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

#[test]
fn each_version_is_reported_once() {
    let pins: String = (0..50).map(|n| format!(" torch==2.{n}")).collect();
    let files = directory(&[("Dockerfile", &format!("FROM a\nRUN pip install{pins}\n"))]);
    let (code, report) = json(files.path(), &["Dockerfile"]);
    assert_eq!((code, places(&report).len()), (1, 49));
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

/// Each stage fails for itself.
#[test]
fn an_ignored_finding_hides_none_of_another_place() {
    let stage = "FROM python:3.13 AS s\nRUN pip install torch==2.4.1\n";
    let ignored = stage.replace(
        "RUN",
        "# imgcheck: ignore[lint-never-built] it is never built\nRUN",
    );
    for (text, expected) in [
        (format!("{ignored}{stage}"), vec![5]),
        (format!("{stage}{ignored}"), vec![2]),
        (format!("{stage}{stage}"), vec![2, 4]),
        (format!("{ignored}{ignored}"), vec![]),
    ] {
        let files = directory(&[("Dockerfile", &text)]);
        let (_, report) = json(files.path(), &["Dockerfile"]);
        let findings = report["files"][0]["findings"].as_array().unwrap().iter();
        let lines = findings.map(|it| {
            assert_eq!(it["rule"], "lint-never-built", "{text}");
            it["location"]["line"].as_u64().unwrap()
        });
        assert_eq!(lines.collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn a_known_finding_counts_once() {
    let files = directory(&[
        (
            "Dockerfile",
            "FROM python:3.12\nCOPY r.txt .\nRUN pip install -r r.txt\n",
        ),
        (
            "b.dockerfile",
            "FROM python:3.12\nCOPY r.txt .\nRUN pip install -r r.txt\n",
        ),
        ("r.txt", "torch==2.8.0\ntorchvision==0.20.0\n"),
    ]);
    let arguments = ["Dockerfile", "b.dockerfile"];
    let (_, before) = json(files.path(), &arguments);
    let write = [&arguments[..], &["--write-baseline", "base.json"]].concat();
    assert_eq!(lint(files.path(), &write).0, 0);
    let read = [&arguments[..], &["--baseline", "base.json"]].concat();
    let (code, after) = json(files.path(), &read);
    let count = |report: &Value, key: &str| -> usize {
        let files = report["files"].as_array().unwrap().iter();
        files
            .filter_map(|it| it[key].as_array())
            .map(Vec::len)
            .sum()
    };
    assert_eq!(code, 0);
    assert_eq!(count(&after, "ignored"), count(&before, "findings"));
    assert_eq!(count(&after, "findings"), 0);
}

#[test]
fn an_installation_that_may_fail_is_no_error() {
    for (command, expected) in [
        (
            "pip install torch==2.4.1 || pip install torch==2.6.0",
            false,
        ),
        ("pip install torch==2.4.1 || true", false),
        ("pip install torch==2.4.1 || exit 1", true),
        ("pip install torch==2.4.1 || { echo failed; exit 1; }", true),
        ("apt-get update || true; pip install torch==2.4.1", true),
    ] {
        let text = format!("FROM python:3.13\nRUN {command}\n");
        let found = found_in(&[("Dockerfile", &text)], "Dockerfile");
        assert_eq!(
            found.contains("lint-never-built"),
            expected,
            "{command}: {found}"
        );
    }
}
