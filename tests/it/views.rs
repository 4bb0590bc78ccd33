//! What the text of a report shows: `--quiet`, `--verbose`, `--severity`, several images, narrow terminals.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread::{self, sleep};
use std::time::Duration;

use imgcheck::{
    Cancellation, Checker, Comparison, Format, ImageRequest, LintRequest, TextLevel, TextOptions,
    View,
};

use crate::program::{failure, imgcheck, lint, repository};

const MISLABELLED: &str = "testdata/sample/pytorch-cuda-v2.9.tar";
const HONEST: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";

/// Exit code and standard output of a check.
fn run(images: &[&str], options: &[&str]) -> (i32, String) {
    let output = imgcheck()
        .arg("check")
        .args(options)
        .args(images.iter().map(|image| repository(image)))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text)
}

#[test]
fn a_pass_never_stands_above_an_error() {
    let never = ["--fail-on", "never"];
    let (code, text) = run(&[MISLABELLED], &never);
    assert_eq!(code, 0);
    assert!(
        text.starts_with("NOT COUNTED  pytorch-cuda:v2.9\n"),
        "{text}"
    );
    assert!(text.contains("\n1 error, not counted\n"), "{text}");
    for format in ["html", "markdown", "github"] {
        let (_, text) = run(&[MISLABELLED], &[&never[..], &["-f", format]].concat());
        assert!(text.contains("NOT COUNTED"), "{format}: {text}");
        assert!(
            !text.contains("PASS<") && !text.contains("PASS "),
            "{format}: {text}"
        );
    }
    let (_, text) = run(&[HONEST], &never);
    assert!(text.starts_with("PASS  "), "{text}");
}

#[test]
fn a_tag_that_claims_nothing_is_said_to() {
    const LINE: &str = "The tag claims nothing: say what you expect with --expect";
    for reference in ["team/train:8f3c2d1", "team/train:latest"] {
        let (_, text) = run(&[MISLABELLED], &["--as", reference]);
        assert!(text.contains(LINE), "{text}");
        let expected = ["--as", reference, "--expect", "torch==2.8.*"];
        let (_, text) = run(&[MISLABELLED], &expected);
        assert!(!text.contains(LINE), "{text}");
    }
    assert!(!run(&[MISLABELLED], &[]).1.contains(LINE));
    for format in ["github", "markdown"] {
        let named = ["--as", "team/train:latest", "-f", format];
        let (_, text) = run(&[MISLABELLED], &named);
        assert!(text.contains(LINE), "{text}");
        assert!(!run(&[MISLABELLED], &["-f", format]).1.contains(LINE));
    }
}

#[test]
fn quiet_shows_only_problems() {
    assert_eq!(run(&[HONEST], &["-q"]), (0, String::new()));
    let (code, text) = run(&[HONEST, MISLABELLED], &["-q"]);
    assert_eq!(code, 1);
    assert!(
        text.starts_with("FAIL  pytorch-cuda:v2.9\n\nerror[claim-torch-version]"),
        "{text}"
    );
    assert!(
        text.ends_with("\n2 images: 1 fail, 1 pass · 1 error\n"),
        "{text}"
    );
    for word in ["CLAIMED", "Knowledge tables", HONEST] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn quiet_shows_the_notes_that_fail() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("imgcheck.yaml");
    fs::write(&file, "fail-on: note\nseverities: {'*': note}\n").unwrap();
    let arguments = ["-q", "--config", file.to_str().unwrap()];
    let (code, text) = run(&[MISLABELLED], &arguments);
    assert_eq!(code, 1);
    assert!(
        text.starts_with("FAIL  pytorch-cuda:v2.9\n\nnote[claim-torch-version]"),
        "{text}"
    );
    let severity = [&arguments[..], &["--severity", "error"]].concat();
    let (_, text) = run(&[MISLABELLED], &severity);
    assert_eq!(text, "FAIL  pytorch-cuda:v2.9\n", "what the user asks for");
}

#[test]
fn the_totals_do_not_count_errors_as_passes() {
    let (_, text) = run(&[HONEST, MISLABELLED], &["--fail-on", "never"]);
    let totals = "\n2 images: 1 pass, 1 not counted · 1 error\n";
    assert!(text.contains(totals), "{text}");
}

#[test]
fn the_totals_count_the_findings_about_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("imgcheck.yaml");
    fs::write(&file, "ignore: [{rule: load-*, reason: vendor}]\n").unwrap();
    let arguments = ["--config", file.to_str().unwrap()];
    let (_, text) = run(&[HONEST, MISLABELLED], &arguments);
    let totals = "\n2 images: 1 fail, 1 pass · 1 error, 1 warning\n";
    assert!(text.contains(totals), "{text}");
}

#[test]
fn verbose_shows_why() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("imgcheck.yaml");
    let ignore = "ignore: [{rule: claim-torch-version, reason: retagged in March}]\n";
    fs::write(&file, ignore).unwrap();
    let arguments = ["-v", "--config", file.to_str().unwrap()];
    let (code, text) = run(&[MISLABELLED], &arguments);
    assert_eq!(code, 0);
    for words in [
        " CLAIMS\n  torch 2.9 (tag: `v2.9`)\n",
        " EVIDENCE\n",
        "2.8.0 (Python metadata torch 2.8.0 in /usr/local/lib/python3.11/site-packages/torch-2.8.0",
        "ignored error[claim-torch-version]: the tag claims PyTorch 2.9",
        "reason  retagged in March",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let (_, text) = run(&[MISLABELLED], &arguments[1..]);
    assert!(!text.contains("retagged"), "{text}");
}

#[test]
fn a_rule_that_lacks_a_fact_is_named() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("etc")).unwrap();
    fs::write(root.path().join("etc/os-release"), "ID=debian\n").unwrap();
    let output = imgcheck().arg("-v").arg(root.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(" RULES THAT LACK A FACT\n"), "{text}");
    assert!(!text.contains("\n  lint: "), "{text}");
}

#[test]
fn the_severity_filter_changes_only_what_is_shown() {
    let expect = ["--expect", "torch==2.9.*", "--fail-on", "error"];
    let all = run(&[HONEST], &expect);
    let shown = run(&[HONEST], &[&expect[..], &["--severity", "error"]].concat());
    assert_eq!((all.0, shown.0), (1, 1));
    assert!(shown.1.contains("error[policy-expectation]"));
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("requirements.txt"), "torch\n").unwrap();
    let arguments = ["requirements.txt", "--fail-on", "note"];
    let (code, all, _) = lint(root.path(), &arguments);
    let (same, shown, _) = lint(
        root.path(),
        &[&arguments[..], &["--severity", "error"]].concat(),
    );
    assert_eq!((code, same), (1, 1), "{all}");
    assert!(all.contains("lint-unpinned-stack"), "{all}");
    assert!(!shown.contains("lint-unpinned-stack"), "{shown}");
}

#[test]
fn lines_are_wrapped_between_words() {
    let checker = Checker::builder().expect("cudnn==8.*").skipped_rules(true);
    let checker = checker.build().unwrap();
    let requests =
        [MISLABELLED, HONEST].map(|it| ImageRequest::new(repository(it).to_str().unwrap()));
    let report = checker.check(&requests);
    let comparison = Comparison::between(("A", &report.images[0]), ("B", &report.images[1]));
    let options = |width| TextOptions {
        width,
        level: TextLevel::Verbose,
        severity: None,
    };
    let words = |text: &str| -> Vec<String> {
        let plain = anstream::adapter::strip_str(text).to_string();
        plain.split_whitespace().map(str::to_owned).collect()
    };
    let mut all = words(&report.text(&options(None)));
    all.sort();
    for width in [1, 20, 40, 80, 200] {
        let text = report.text(&options(Some(width)));
        let mut wrapped = words(&text);
        wrapped.sort();
        assert!(wrapped == all, "{width}: {text}");
        comparison.render(Format::Text, Some(width)).unwrap();
    }
    let text = report.text(&options(Some(80)));
    let plain = anstream::adapter::strip_str(&text).to_string();
    let prose = plain
        .lines()
        .filter(|line| line.starts_with("error[") || line.starts_with("      help"));
    assert!(prose.clone().count() > 2);
    for line in prose {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_wide_terminal_shows_the_lines_of_one_with_120_columns() {
    let checker = Checker::builder().expect("cudnn==8.*").skipped_rules(true);
    let checker = checker.gpus(["h100"]).driver("525.60.13").build().unwrap();
    let requests =
        [MISLABELLED, HONEST].map(|it| ImageRequest::new(repository(it).to_str().unwrap()));
    let report = checker.check(&requests);
    let [a, b] = [0, 1].map(|it| &report.images[it]);
    let comparison = Comparison::between(("A", a), ("B", b));
    let texts = |width: Option<u16>| {
        let options = TextOptions {
            width,
            level: TextLevel::Verbose,
            severity: None,
        };
        let view = |view| report.render(view, Format::Text, width).unwrap();
        let texts = [
            report.text(&options),
            view(View::Contents),
            view(View::Sizes),
            comparison.render(Format::Text, width).unwrap(),
        ];
        texts.map(|it| anstream::adapter::strip_str(&it).to_string())
    };
    let (narrow, wide) = (texts(Some(120)), texts(Some(200)));
    assert_eq!(narrow, wide);
    for line in narrow[0].lines() {
        assert!(line.chars().count() <= 120, "{line}");
    }
    for (text, whole) in narrow.iter().zip(texts(None)) {
        let paths = |text: &str| -> Vec<String> {
            let words = text.split_whitespace();
            let mut paths: Vec<_> = words
                .filter(|it| it.contains('/'))
                .map(str::to_owned)
                .collect();
            paths.sort();
            paths
        };
        assert_eq!(paths(text), paths(&whole), "a path is broken");
    }
}

#[test]
fn findings_on_files_are_wrapped() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("Dockerfile");
    fs::write(
        &file,
        "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install torch\nENV LD_LIBRARY_PATH=/a:\n",
    )
    .unwrap();
    let checker = Checker::builder().build().unwrap();
    let day = imgcheck::Day::from_ymd_opt(2026, 11, 22).unwrap();
    let report = checker.lint(&LintRequest::new([&file]), day, &Cancellation::default());
    let text = report.unwrap().text(&TextOptions::wide(Some(80)));
    let plain = anstream::adapter::strip_str(&text).to_string();
    assert!(plain.contains("lint-unpinned-stack"), "{plain}");
    for line in plain
        .lines()
        .filter(|line| !line.contains("://") && !line.contains("Dockerfile"))
    {
        assert!(line.chars().count() <= 80, "{line}\n{plain}");
    }
}

#[test]
fn a_quiet_preflight_shows_only_containers_with_problems() {
    let run = |options: &[&str]| {
        let output = imgcheck()
            .current_dir(repository(""))
            .arg("preflight")
            .args(options)
            .args(["--images", "testdata/preflight/images.yaml"])
            .args(["--nodes", "testdata/preflight/nodes.json"])
            .arg("testdata/preflight/deployment.yaml")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text)
    };
    let (all, quiet) = (run(&[]), run(&["-q"]));
    assert_eq!(all.0, quiet.0);
    let warning = "warning[deploy-some-node-classes]";
    assert!(quiet.1.contains(warning), "{}", quiet.1);
    assert!(!quiet.1.contains("Knowledge tables"), "{}", quiet.1);
    assert_eq!(run(&["-q", "--severity", "error"]), (all.0, String::new()));
}

/// Exit code, standard output and standard error of `tree` about one library of the sample.
fn tree_of(library: &str) -> (i32, String, String) {
    let output = imgcheck()
        .arg("tree")
        .arg(repository(HONEST))
        .arg(library)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn the_modules_of_an_image_are_shown_wherever_its_name_is() {
    let image = repository(HONEST);
    let image = image.to_str().unwrap();
    let tree = |arguments: &[&str]| {
        let output = imgcheck().arg("tree").args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
        text(output.stdout)
    };
    let all = tree(&[image, "--python"]);
    assert!(all.contains("\ntorch in /usr/local, "), "{all}");
    assert_eq!(tree(&["--python", image]), all);
    assert_eq!(
        tree(&["--python", "torch", image]),
        tree(&[image, "--python", "torch"])
    );
    let misspelled = tree(&[image, "--python", "torhc"]);
    let said = "No module named 'torhc'\ndid you mean torch?\n";
    assert!(misspelled.ends_with(said), "{misspelled}");
    let misspelled = tree(&[image, "--python", "torch.verison"]);
    assert!(
        misspelled.contains("did you mean torch.version?"),
        "{misspelled}"
    );
    assert!(!all.contains("did you mean"), "{all}");
    let error = failure(2, &["tree", "--python"]);
    assert!(
        error.contains("use: imgcheck tree IMAGE --python [MODULE]"),
        "{error}"
    );
}

/// No file of the image answers, and the process does not work without it.
#[test]
fn a_tree_names_who_uses_a_library_of_the_host() {
    for library in ["libcuda.so.1", "libcuda.so"] {
        let (code, text, _) = tree_of(library);
        assert_eq!(code, 0, "{library}");
        for words in [
            "\nlibcuda.so.1  provided by the host at run time: the container toolkit mounts the library of the driver\n",
            "\n  opened by /usr/local/lib/python3.11/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12\n",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
    let (code, text, _) = tree_of("libcudart.so.12");
    assert!(
        code == 0 && !text.contains("provided by the host"),
        "{text}"
    );
    let (code, _, error) = tree_of("libnosuch.so.1");
    assert!(
        code == 2 && error.contains("loads libnosuch.so.1"),
        "{error}"
    );
}

#[test]
fn evidence_that_findings_share_is_shown_once() {
    let (code, text) = run(&[MISLABELLED], &["--expect", "torch==2.9.*"]);
    assert_eq!(code, 1);
    assert_eq!(text.matches("2.8.0 (string in ").count(), 1, "{text}");
    let (_, expectation) = text.split_once("error[policy-expectation]").unwrap();
    let shared = "evidence  the same as for claim-torch-version above";
    assert!(expectation.contains(shared), "{text}");
}

/// Standard error of a check of an archive that comes from a pipe for longer than the time between two lines of progress.
fn remarks_on_a_slow_archive(options: &[&str]) -> String {
    let archive = fs::read(repository(HONEST)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_imgcheck"))
        .args(["check", "-", "--no-config"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let (first, rest) = archive.split_at(archive.len() / 2);
    input.write_all(first).unwrap();
    sleep(Duration::from_secs(11));
    input.write_all(rest).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_quiet_check_that_writes_a_baseline_prints_nothing() {
    let place = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = imgcheck();
        command
            .current_dir(place.path())
            .arg(repository(MISLABELLED));
        let output = command.args(arguments).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let write = ["--severity", "error", "--write-baseline", "known.json"];
    assert!(run(&write).starts_with("wrote 1 finding to known.json"));
    assert_eq!(run(&[&write[..], &["-q"]].concat()), "");
}

#[test]
fn a_quiet_check_prints_no_progress() {
    let [loud, quiet] = thread::scope(|scope| {
        let loud = scope.spawn(|| remarks_on_a_slow_archive(&[]));
        let quiet = scope.spawn(|| remarks_on_a_slow_archive(&["-q"]));
        [loud, quiet].map(|it| it.join().unwrap())
    });
    assert!(loud.contains("layers"), "{loud}");
    assert_eq!(quiet, "");
}
