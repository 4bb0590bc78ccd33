//! Limits: exceeding one ends the check with an error that names the limit, the value found and how to raise it; after raising it, the same image is read.

mod cases;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use imgcheck_base::limits::{ALL, Limit, Limits};
use testkit::Compression;

use cases::{CASES, Case, docker, numbers, program, rule, slow, stored, two_layers};

/// Runs the program in a directory, with a standard input that never says anything.
fn run(at: &Path, arguments: &[String], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_imgcheck"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("IMGCHECK_")) {
        command.env_remove(name);
    }
    let child = command
        .args(arguments)
        .current_dir(at)
        .env("IMGCHECK_NO_CACHE", "true")
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let silent = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(silent);
    output
}

fn with(arguments: &[String], more: &[&str]) -> Vec<String> {
    let more = more.iter().map(|argument| (*argument).to_owned());
    arguments.iter().cloned().chain(more).collect()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The value that an error suggests for a limit.
fn suggested(error: &str, limit: Limit) -> Option<String> {
    let begin = format!("--limit {}=", limit.name());
    let rest = &error[error.find(&begin)? + begin.len()..];
    Some(rest[..rest.find(',')?].to_owned())
}

/// What is wrong with a case.
fn attempt(case: &Case) -> Result<(), String> {
    let place = tempfile::tempdir().unwrap();
    let arguments = (case.make)(place.path());
    let name = case.limit.name();
    let mut value = case.low.to_owned();
    // One thing after the other may be larger than the limit.
    for times in 0..20 {
        let setting = format!("--limit={name}={value}");
        let output = run(place.path(), &with(&arguments, &[&setting]), &[]);
        let error = errors(&output);
        let wrong = |problem: &str| Err(format!("{name}={value}: {problem}\n{error}"));
        match output.status.code() {
            Some(0 | 1) if case.counted.is_some() => {
                let arguments = with(&arguments, &[&setting, "--format", "json"]);
                let report = run(place.path(), &arguments, &[]).stdout;
                let report = String::from_utf8_lossy(&report);
                return match case.counted.is_some_and(|text| report.contains(text)) {
                    true => Ok(()),
                    false => wrong("the report does not count what is left out"),
                };
            }
            Some(0 | 1) if times > 0 => return Ok(()),
            Some(3) => {}
            code => return wrong(&format!("exit code {code:?}")),
        }
        let says = format!(
            "exceeds the limit {name} ({}): at least ",
            case.limit.about()
        );
        if !error.contains(&says) || !error.contains(" allowed\n") {
            return wrong("another error");
        }
        let Some(more) = suggested(&error, case.limit) else {
            return wrong("no suggestion");
        };
        if !case.raised {
            return Ok(());
        }
        value = more;
    }
    Err(format!("{name}: {value} is still too little"))
}

#[test]
fn every_limit_ends_a_check_and_can_be_raised() {
    for (case, limit) in CASES.iter().zip(ALL) {
        assert_eq!(case.limit, *limit);
    }
    let wrong: Vec<String> = CASES
        .iter()
        .filter_map(|case| attempt(case).err())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_command_line_overrides_the_environment_which_overrides_the_file() {
    let place = tempfile::tempdir().unwrap();
    let arguments = docker(place.path(), &[two_layers()]);
    let code = |more: &[&str], variables: &[(&str, &str)]| {
        let output = run(place.path(), &with(&arguments, more), variables);
        output.status.code().unwrap()
    };
    assert_eq!(code(&[], &[]), 0);
    let config = place.path().join(".imgcheck.yaml");
    fs::write(&config, "limits:\n  entries: 4\n  layer-bytes: 1GiB\n").unwrap();
    assert_eq!(code(&[], &[]), 3);
    let large = [("IMGCHECK_LIMIT", "time=1h,entries=6")];
    assert_eq!(code(&[], &large), 0);
    assert_eq!(code(&["--limit", "entries=5"], &large), 3);
    assert_eq!(code(&["--limit", "layers=9,entries=6"], &[]), 0);
    assert_eq!(
        code(&["--limit", "layers=9", "--limit", "entries=6"], &[]),
        0
    );
}

#[test]
fn unknown_limits_are_errors_with_a_suggestion() {
    let place = tempfile::tempdir().unwrap();
    let arguments = docker(place.path(), &[two_layers()]);
    let config = place.path().join(".imgcheck.yaml");
    for (text, words) in [
        (
            "limits:\n  entrys: 4\n",
            [".imgcheck.yaml:2:3", "did you mean `entries`?"],
        ),
        (
            "limits:\n  layer-bytes: large\n",
            [".imgcheck.yaml:2:16", "such as 64MiB"],
        ),
        (
            "limits: {time: 0s}\n",
            [".imgcheck.yaml:1:16", "such as 30s"],
        ),
    ] {
        fs::write(&config, text).unwrap();
        let output = run(place.path(), &arguments, &[]);
        let error = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        for word in words {
            assert!(error.contains(word), "no {word:?} in {error}");
        }
    }
    fs::remove_file(config).unwrap();
    let output = run(place.path(), &with(&arguments, &["--limit=entrys=4"]), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("did you mean `entries`?"));
}

#[test]
fn facts_read_within_large_limits_are_not_used_within_small_ones() {
    let place = tempfile::tempdir().unwrap();
    let arguments = stored(place.path(), Compression::Gzip, program());
    let cached = [
        ("IMGCHECK_NO_CACHE", "false"),
        ("IMGCHECK_CACHE_DIR", "cache"),
    ];
    let code = |more: &[&str]| {
        let output = run(place.path(), &with(&arguments, more), &cached);
        output.status.code().unwrap()
    };
    for (setting, expected) in [
        ("layers=2", 0),
        ("symbols=5", 3),
        ("time=1h", 0),
        ("facts-bytes=100", 3),
        ("entries=9", 0),
    ] {
        assert_eq!(code(&["--limit", setting]), expected, "{setting}");
    }
}

#[test]
fn every_command_ends_when_its_time_is_over() {
    let place = tempfile::tempdir().unwrap();
    let archive = docker(place.path(), &[two_layers()]).remove(0);
    rule(place.path(), &numbers(), &slow());
    // It takes connections, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let reference = format!("docker://{}/x:1", silent.local_addr().unwrap());
    for arguments in [
        vec!["check", "-"],
        vec!["check", &reference],
        vec!["facts", "-"],
        vec!["tree", "-"],
        vec!["diff", &archive, "-"],
        vec!["lint", "-", "--kind", "dockerfile"],
        vec!["claims", "x:1", "--rules", "rule.yaml"],
    ] {
        let begun = Instant::now();
        let arguments = with(&[], &[&arguments[..], &["--limit", "time=1s"]].concat());
        let output = run(place.path(), &arguments, &[]);
        let error = errors(&output);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {error}");
        assert!(error.contains("the limit time ("), "{arguments:?}: {error}");
        if arguments == ["check", &reference] {
            let named = format!("reading {reference}: exceeds");
            assert!(error.contains(&named), "{error}");
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{arguments:?}");
    }
}

#[test]
fn the_page_lists_every_limit() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/limits.md");
    let page = fs::read_to_string(page).unwrap();
    let found = page.lines().filter(|line| line.starts_with("| `"));
    let usual = Limits::default();
    let expected = ALL.iter().map(|limit| {
        let value = limit.format(usual.of(*limit));
        format!("| `{}` | {value} | {} |", limit.name(), limit.about())
    });
    let (found, expected): (Vec<_>, Vec<_>) = (found.collect(), expected.collect());
    assert_eq!(found, expected);
}
