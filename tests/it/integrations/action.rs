//! The GitHub action: its steps are run as a runner does.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::Value;

use super::release::executable;
use super::{HONEST, MISLABELLED, gitlab, lines, said, sample, scripts, shell, text, yaml};
use crate::init::init;
use crate::program::repository;
use testkit::tools::tool;

/// One run of the action: its exit status, its outputs, and what it printed.
struct Run {
    code: i32,
    outputs: BTreeMap<String, String>,
    said: String,
    directory: tempfile::TempDir,
}

/// Runs the steps of action.yml as the runner does.
fn action(inputs: &[(&str, &str)]) -> Run {
    action_after(inputs, |_| {})
}

/// Runs them after `prepare` got the temporary directory of the runner.
fn action_after(inputs: &[(&str, &str)], prepare: impl FnOnce(&Path)) -> Run {
    let action = yaml("action.yml", &text("action.yml"));
    let value = |input: &str| -> String {
        let given = inputs.iter().find(|(name, _)| *name == input);
        given.map_or_else(
            || {
                action["inputs"][input]["default"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            },
            |(_, value)| (*value).to_owned(),
        )
    };
    let directory = tempfile::tempdir().unwrap();
    let outputs = directory.path().join("outputs");
    fs::write(&outputs, "").unwrap();
    prepare(directory.path());
    let mut run = Run {
        code: 0,
        outputs: BTreeMap::new(),
        said: String::new(),
        directory,
    };
    for step in action["runs"]["steps"].as_array().unwrap() {
        let skipped =
            step["if"] == "inputs.version != 'installed'" && value("version") == "installed";
        if skipped || step["uses"].is_string() {
            continue;
        }
        let mut command = shell("bash", run.directory.path());
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c"]);
        command.arg(step["run"].as_str().unwrap());
        command.env("GITHUB_ACTION_PATH", repository(""));
        command.env("GITHUB_OUTPUT", &outputs);
        command.env("GITHUB_PATH", run.directory.path().join("path"));
        command.env(
            "GITHUB_STEP_SUMMARY",
            run.directory.path().join("summary.md"),
        );
        command.env("RUNNER_TEMP", run.directory.path());
        for (name, expression) in step["env"].as_object().unwrap() {
            let expression = expression.as_str().unwrap();
            let between = |start| expression.strip_prefix(start)?.strip_suffix(" }}");
            let output =
                between("${{ steps.binary.outputs.").map(|name| written(&outputs)[name].clone());
            let value = output.or_else(|| between("${{ inputs.").map(value));
            command.env(name, value.unwrap());
        }
        command.env("RUNNER_OS", "Linux").env("RUNNER_ARCH", "X64");
        let output = command.output().unwrap();
        run.said.push_str(&said(&output));
        run.code = output.status.code().unwrap();
        if run.code != 0 {
            break;
        }
    }
    run.outputs = written(&outputs);
    run
}

/// What the steps wrote to the file of their outputs.
fn written(outputs: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(outputs).unwrap();
    let pairs = text.lines().map(|line| line.split_once('=').unwrap());
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn the_action_takes_the_binary_that_was_kept() {
    if !tool("bash") {
        return;
    }
    // The runner's cache action put it there: nothing is fetched or built, or the release 9.9.9 would be missed.
    let kept = |directory: &Path| {
        fs::create_dir(directory.join("imgcheck-bin")).unwrap();
        let program = env!("CARGO_BIN_EXE_imgcheck");
        std::os::unix::fs::symlink(program, directory.join("imgcheck-bin/imgcheck")).unwrap();
    };
    let run = action_after(&[("image", &sample(HONEST)), ("version", "9.9.9")], kept);
    assert_eq!(run.code, 0, "{}", run.said);
    assert_eq!(run.outputs["version"], "9.9.9");
    let key = Regex::new("^imgcheck-Linux-X64-9.9.9-[0-9a-f]{16}$").unwrap();
    assert!(key.is_match(&run.outputs["key"]), "{:?}", run.outputs);
}

#[test]
fn the_action_reads_arguments_as_a_shell_does() {
    if !tool("bash") {
        return;
    }
    let image = sample(HONEST);
    for (args, code) in [
        ("--expect 'torch==2.8.*'", 0),
        ("--expect \"torch>=2.9, <3\"", 1),
        ("--as $(id) --no-progress", 2),
        ("--expect 'torch==2.8", 2),
    ] {
        let run = action(&[("image", &image), ("version", "installed"), ("args", args)]);
        assert_eq!(run.code, code, "{args}: {}", run.said);
        let verdict = ["pass", "fail", "error"][usize::try_from(code).unwrap()];
        assert_eq!(run.outputs["verdict"], verdict, "{args}");
    }
}

#[test]
fn the_action_reports_the_verdict() {
    if !tool("bash") {
        return;
    }
    for (image, code, verdict) in [
        (sample(HONEST), 0, "pass"),
        (sample(MISLABELLED), 1, "fail"),
        (sample("Cargo.toml"), 3, "error"),
    ] {
        let run = action(&[
            ("image", &image),
            ("version", "installed"),
            ("sarif-file", "found.sarif"),
        ]);
        assert_eq!(
            (run.code, run.outputs["verdict"].as_str()),
            (code, verdict),
            "{image}: {}",
            run.said
        );
        let report: Value =
            serde_json::from_str(&fs::read_to_string(&run.outputs["report"]).unwrap()).unwrap();
        let found = report["images"].as_array().unwrap().first();
        assert_eq!(
            found.map_or("error", |image| image["verdict"].as_str().unwrap()),
            verdict
        );
        let sarif = fs::read_to_string(run.directory.path().join("found.sarif")).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&sarif).unwrap()["version"],
            "2.1.0"
        );
    }
}

#[test]
fn the_action_lints_before_the_build() {
    if !tool("bash") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("Dockerfile");
    let name = file.to_str().unwrap();
    for (base, code, verdict) in [
        ("2.8.0-cuda12.8-cudnn9-devel", 0, "pass"),
        ("2.8.0-cuda11.8-cudnn8-devel", 1, "fail"),
    ] {
        fs::write(&file, format!("FROM pytorch/pytorch:{base}\n")).unwrap();
        let run = action(&[("lint", name), ("version", "installed")]);
        assert_eq!(
            (run.code, run.outputs["verdict"].as_str()),
            (code, verdict),
            "{base}: {}",
            run.said
        );
        let report = fs::read_to_string(&run.outputs["report"]).unwrap();
        assert!(report.contains("/Dockerfile\""), "{report}");
        assert_eq!(run.said.contains("::error"), code == 1, "{}", run.said);
    }
    let run = action(&[("version", "installed")]);
    assert!(run.said.contains("set the input `image`"), "{}", run.said);
    // What nobody looked at does not pass.
    let image = sample(HONEST);
    for inputs in [
        vec![("lint", " \n"), ("image", "")],
        vec![("lint", name), ("image", image.as_str())],
        vec![("lint", "--help")],
    ] {
        let inputs: Vec<_> = inputs
            .into_iter()
            .chain([("version", "installed")])
            .collect();
        let run = action(&inputs);
        assert_eq!(
            (run.code, run.outputs["verdict"].as_str()),
            (2, "error"),
            "{inputs:?}: {}",
            run.said
        );
    }
}

#[test]
fn the_action_annotates_and_passes_options_on() {
    if !tool("bash") {
        return;
    }
    let image = sample(MISLABELLED);
    let run = action(&[("image", &image), ("version", "installed")]);
    assert!(run.said.contains("::error"), "{}", run.said);
    let summary = fs::read_to_string(run.directory.path().join("summary.md")).unwrap();
    assert!(summary.contains("claim-torch-version"), "{summary}");

    let run = action(&[
        ("image", &image),
        ("version", "installed"),
        (
            "args",
            "--as pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime\n  --no-progress",
        ),
        ("format", "text"),
    ]);
    assert_eq!(run.code, 0, "{}", run.said);
    let run = action(&[
        ("image", &image),
        ("version", "installed"),
        ("fail-on", "never"),
    ]);
    assert_eq!((run.code, run.outputs["verdict"].as_str()), (0, "pass"));
    let both = format!("{image}\n\n  {}\n", sample(HONEST));
    let run = action(&[
        ("image", &both),
        ("version", "installed"),
        ("format", "json"),
    ]);
    assert!(run.said.contains("pytorch-cuda:v2.9") && run.said.contains("pytorch/pytorch:2.8.0"));
}

/// Runs the steps of the workflow that `imgcheck init` writes, with a `docker` that builds nothing: a sample takes the place of the image.
#[test]
fn the_workflow_of_init_runs() {
    if !tool("bash") {
        return;
    }
    for (dockerfile, code) in [
        ("Dockerfile", 0),
        ("my app/gpu.dockerfile", 0),
        ("README.md", 1),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(dockerfile);
        let prepare = |path: &Path| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel\n").unwrap();
        };
        prepare(&path);
        init(directory.path(), &["--ci", "github"]);
        let workflow = directory.path().join(".github/workflows/imgcheck.yml");
        let workflow = yaml("imgcheck.yml", &fs::read_to_string(workflow).unwrap());
        let mut codes = Vec::new();
        for step in workflow["jobs"]["imgcheck"]["steps"].as_array().unwrap() {
            if let Some(script) = step["run"].as_str() {
                codes.push(build(script, directory.path()));
            } else if let Some(inputs) = step["with"].as_object() {
                let image = sample(HONEST);
                let inputs = inputs.iter().map(|(name, value)| {
                    let value = value.as_str().unwrap();
                    let is_image = value == "${{ env.IMAGE }}";
                    (name.as_str(), if is_image { &image } else { value })
                });
                let inputs: Vec<_> = inputs.chain([("version", "installed")]).collect();
                let run = action_after(&inputs, |directory| prepare(&directory.join(dockerfile)));
                assert_eq!(run.code, 0, "{inputs:?}: {}", run.said);
                codes.push(run.code);
            }
        }
        let expected = match code {
            0 => vec![0, 0, 0],
            _ => vec![1, 0],
        };
        assert_eq!(codes, expected, "{dockerfile}: {workflow}");
    }
}

/// Runs a script that builds an image from a Dockerfile below a directory.
pub(super) fn build(script: &str, directory: &Path) -> i32 {
    let tools = tempfile::tempdir().unwrap();
    let docker = r#"#!/bin/sh
case "$1 $2" in
  "build --file") test -f "$3" ;;
  "build --tag") test -f Dockerfile ;;
esac
"#;
    executable(&tools.path().join("docker"), docker);
    let mut command = shell("sh", directory);
    command.args(["-ec", script]);
    command.env(
        "PATH",
        format!("{}:{}", tools.path().display(), super::path()),
    );
    command.output().unwrap().status.code().unwrap()
}

/// The summary of the job and the annotations say why nothing was checked.
#[test]
fn the_action_says_what_is_wrong_with_its_inputs() {
    if !tool("bash") {
        return;
    }
    let image = sample(HONEST);
    for (inputs, message) in [
        (vec![("fail-on", "nonsense")], "invalid value 'nonsense'"),
        (
            vec![("args", "--expect 'torch\n::warning::100%")],
            "cannot be split into words: --expect 'torch%0A::warning::100%25",
        ),
        (vec![("args", "--help")], "imgcheck wrote no report"),
        (vec![("lint", ".")], "belong in two steps"),
        (vec![("lint", "."), ("image", "")], "no Dockerfile"),
        (vec![("image", " ")], "nothing to check"),
    ] {
        let base = [("image", image.as_str()), ("version", "installed")];
        let run = action(&[inputs.clone(), base.to_vec()].concat());
        assert_eq!(run.code, 2, "{inputs:?}: {}", run.said);
        let mut commands = run.said.lines().filter(|line| line.starts_with("::"));
        let annotation = commands.next().unwrap_or_default();
        assert!(
            annotation.starts_with("::error title=imgcheck::") && annotation.contains(message),
            "{inputs:?}: {}",
            run.said
        );
        assert_eq!(commands.next(), None, "{}", run.said);
        let summary = fs::read_to_string(run.directory.path().join("summary.md")).unwrap();
        let first = message.split("%0A").next().unwrap();
        assert!(summary.contains("imgcheck checked nothing") && summary.contains(first));
    }
}

/// bash 3.2 and the tools of BSD: no `mapfile`, and an xargs without options.
#[test]
fn the_check_of_the_action_needs_no_gnu_tools() {
    if !tool("bash") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("old"), "enable -n mapfile readarray\n").unwrap();
    let xargs = "#!/bin/sh\ncase $1 in -*) exit 64 ;; esac\nexec /usr/bin/xargs \"$@\"\n";
    executable(&path.join("xargs"), xargs);
    for (arguments, code) in [("", 0), ("--expect 'torch<2, >1'", 1)] {
        let mut command = shell("bash", path);
        command.arg(repository("ci/github/check.sh"));
        command.env("PATH", format!("{}:{}", path.display(), super::path()));
        command
            .env("BASH_ENV", path.join("old"))
            .env("GITHUB_OUTPUT", path.join("outputs"))
            .env("RUNNER_TEMP", path);
        for (name, value) in [
            ("IMAGES", sample(HONEST).as_str()),
            ("FILES", ""),
            ("ARGS", arguments),
            ("FAIL_ON", ""),
            ("FORMAT", "github"),
            ("SARIF_FILE", ""),
        ] {
            command.env(name, value);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
    }
}

#[test]
fn no_text_of_a_workflow_becomes_code() {
    if !tool("bash") {
        return;
    }
    let attack = "$(touch pwned) `touch pwned` ; touch pwned\n--help\n${IFS}touch${IFS}pwned";
    for input in ["image", "lint", "args", "fail-on", "format", "sarif-file"] {
        let image = sample(HONEST);
        let mut inputs = vec![("image", image.as_str()), ("version", "installed")];
        inputs.retain(|(name, _)| *name != input);
        inputs.push((input, attack));
        let run = action(&inputs);
        assert!(
            !run.directory.path().join("pwned").exists(),
            "{input}: {}",
            run.said
        );
        // A strange file name is still a name.
        let passes = run
            .outputs
            .get("verdict")
            .is_some_and(|verdict| verdict == "pass");
        assert_eq!(passes, input == "sarif-file", "{input}: {}", run.said);
    }
    let image = sample(HONEST);
    let run = action(&[
        ("image", &image),
        ("version", "installed"),
        ("args", "--help"),
    ]);
    assert_eq!(
        (run.code, run.outputs["verdict"].as_str()),
        (2, "error"),
        "{}",
        run.said
    );
    // Stars stay stars, and what looks like an option is an image.
    let run = action(&[
        ("image", &image),
        ("version", "installed"),
        ("args", "--as *"),
    ]);
    assert!(run.said.contains('*') && run.code != 0, "{}", run.said);
    let run = action(&[("image", "--version"), ("version", "installed")]);
    assert_eq!(run.outputs["verdict"], "error", "{}", run.said);

    let action = yaml("action.yml", &text("action.yml"));
    let jobs = gitlab().1;
    let mut all = scripts(&action["runs"]["steps"]);
    for job in [&jobs.check, &jobs.lint] {
        all.extend(lines(job, "before_script"));
        all.extend(lines(job, "script"));
    }
    for script in all {
        assert!(
            !script.contains("${{") && !script.contains("input "),
            "{script}"
        );
    }
}
