//! Command lines that are wrong, and what the errors say to do.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use crate::cli::{HONEST, MISLABELLED};
use crate::program::{failure, imgcheck, repository};

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    failure(2, &["check"]);
    failure(2, &["check", "--no-such-flag", MISLABELLED]);
    failure(2, &["check", "--format", "no-such-format", MISLABELLED]);
    failure(2, &["check", "--fail-on", "sometimes", MISLABELLED]);
}

/// Others rely on their verdicts, which a run that writes a baseline does not give.
#[test]
fn what_signs_verifies_or_sweeps_writes_no_baseline() {
    for command in [&["attest"][..], &["verify"], &["sweep", "judge"]] {
        let arguments = [command, &[HONEST, "--write-baseline", "known.json"]].concat();
        let error = failure(2, &arguments);
        assert!(error.contains("--write-baseline"), "{command:?}: {error}");
    }
}

#[test]
fn the_error_of_a_reference_has_its_help_on_a_line_of_its_own() {
    let output = imgcheck().args(["claims", "Bad Ref!!"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("\n    help: "), "{text}");
    assert!(!text.contains("\\n"), "{text}");
}

#[test]
fn only_one_image_comes_from_standard_input() {
    let output = imgcheck().args(["-", "oci-archive:-:v1"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("only one image can come from standard input"));
}

#[test]
fn standard_input_is_named_once() {
    for (arguments, input, problem) in [
        (&["-"][..], "", "error: -: standard input is empty\n"),
        (
            &["-"],
            "text",
            "error: -: not an image: not a tar archive\n",
        ),
        (
            &["oci-archive:-"],
            "text",
            "error: -: not an image: not a tar archive\n",
        ),
        (
            &["requirements", "-"],
            "",
            "error: -: standard input is empty\n",
        ),
        (
            &["preflight", "-"],
            "",
            "error: -: standard input is empty\n",
        ),
        (
            &["lint", "-"],
            "",
            "error: the kind of standard input is unknown\n",
        ),
    ] {
        let output = imgcheck()
            .args(arguments)
            .write_stdin(input)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with(problem), "{arguments:?}: {text}");
    }
}

#[test]
fn what_needs_random_access_does_not_come_from_standard_input() {
    let sif = [&[0; 32][..], b"SIF_MAGIC\0"].concat();
    for start in [&b"hsqs\0\0\0\0"[..], &sif] {
        let output = imgcheck().arg("-").write_stdin(start).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("help: write it to a file"), "{text}");
    }
}

#[test]
fn a_likely_typo_is_reported() {
    for (arguments, words) in [
        (
            &["--fail-on", "warning", "lint", "Dockerfile"][..],
            "imgcheck lint",
        ),
        (&["chekc", HONEST], "did you mean `check`?"),
        (&[HONEST, "-o", "sarif"], "-o sarif=FILE"),
        (&[HONEST, "-o", "report.html"], "-o html=report.html"),
        (&[HONEST, "-o", "report.xml"], "-o junit=report.xml"),
        (&[HONEST, "-o", "report.md"], "-o markdown=report.md"),
    ] {
        let error = failure(2, arguments);
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

#[test]
fn options_and_files_of_other_commands_are_pointed_to_them() {
    let directory = tempdir().unwrap();
    let packed = directory.path().join("packed.tar.gz");
    let image = fs::read(repository(HONEST)).unwrap();
    let packed_image = testkit::gzip(&image);
    fs::write(&packed, &packed_image).unwrap();
    let path = |file: &Path| file.to_str().unwrap().to_owned();
    let named = path(&packed);
    for (file, shown) in [(path(&repository(HONEST)), HONEST), (named.clone(), &named)] {
        let error = failure(2, &["lint", &file]);
        assert!(error.contains(&format!("imgcheck {shown}")), "{error}");
    }
    let error = failure(2, &["lint", "nofile"]);
    assert!(error.contains("nofile: file not found"), "{error}");
    assert!(error.contains("imgcheck nofile"), "{error}");
    for command in ["requirements", "size", "lint"] {
        let error = failure(2, &[command, HONEST, "--driver", "535.183"]);
        assert!(error.contains("imgcheck IMAGE --driver"), "{error}");
    }
    let error = failure(2, &["requirements", HONEST, "--gpu", "h100"]);
    assert!(error.contains("imgcheck IMAGE --gpu"), "{error}");
    assert!(error.contains("imgcheck preflight"), "{error}");

    fs::write(&packed, &packed_image[..packed_image.len() / 2]).unwrap();
    let error = failure(3, &[packed.to_str().unwrap()]);
    let end = format!("after {} bytes", packed_image.len() / 2);
    assert!(error.contains(&end), "{error}");
    assert!(
        error.contains("save or download the image again"),
        "{error}"
    );
}

#[test]
fn a_file_that_an_image_is_built_from_is_for_lint() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("Dockerfile");
    fs::write(&file, "FROM python:3.12\n").unwrap();
    let error = failure(3, &[file.to_str().unwrap()]);
    assert!(error.contains("imgcheck lint"), "{error}");
}

/// The names of all commands in the help of one.
fn commands(of: &[&str]) -> Vec<String> {
    let output = imgcheck().args(of).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let list = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let list = list.split("\n\n").next().unwrap_or_default().lines();
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn help_is_as_wide_as_the_terminal_and_no_wider_than_100_columns() {
    let mut calls: Vec<Vec<String>> = vec![vec![]];
    for command in commands(&[]) {
        let below = commands(&[&command]);
        calls.extend(below.iter().map(|it| vec![command.clone(), it.clone()]));
        calls.push(vec![command]);
    }
    assert!(calls.len() > 25, "{calls:?}");
    for call in calls {
        for option in ["-h", "--help"] {
            for (terminal, limit) in [("80", 80), ("200", 100), ("", 100)] {
                let mut command = imgcheck();
                command.args(&call).arg(option).env("COLUMNS", terminal);
                let output = command.output().unwrap();
                let help = String::from_utf8(output.stdout).unwrap();
                for line in help.lines() {
                    let is_one_word = !line.trim().contains(' ');
                    assert!(
                        is_one_word || line.chars().count() <= limit,
                        "{call:?} {option} {terminal}: {line}"
                    );
                }
            }
        }
    }
}
