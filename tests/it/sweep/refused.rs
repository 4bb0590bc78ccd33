//! Plans and stores that cannot be used.

use imgcheck::SweepPlan;
use serde_json::json;

use super::*;

fn refused(case: &Case, arguments: &[&str], code: i32, problem: &str) {
    let output = case.sweep(arguments).output().unwrap();
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {shown}");
    assert!(shown.contains(problem), "{arguments:?}: {shown}");
}

#[test]
fn a_plan_that_is_damaged_is_refused() {
    let case = Case::new();
    let samples = crate::program::repository("testdata/sample");
    case.plan(&[samples.to_str().unwrap()]);
    let plan = std::fs::read_to_string(case.path("plan")).unwrap();
    let cut = &plan[..plan.len() - 40];
    let edited = plan.replace("pytorch-cuda:v2.9", "pytorch-cuda:v2.8");
    let newer = plan.replace("sweep-plan/v1", "sweep-plan/v7");
    for (content, problem) in [
        (cut, "cut off"),
        (&edited, "edited"),
        (&newer, "sweep-plan/v7"),
        ("<html>\n", "not a plan"),
        ("", "cut off"),
    ] {
        write(&case, "plan", content);
        refused(&case, &["run", "plan"], 3, problem);
        refused(&case, &["judge", "plan"], 3, problem);
    }
    for part in [&["run", "no-such-plan"][..], &["judge", "no-such-plan"]] {
        refused(&case, part, 2, "PLAN no-such-plan: the file does not exist");
        refused(&case, part, 2, "imgcheck sweep plan");
    }
}

#[test]
fn a_directory_that_does_not_exist_is_no_store() {
    let case = Case::new();
    std::fs::remove_dir(case.path("store")).unwrap();
    let samples = crate::program::repository("testdata/sample");
    let samples = samples.to_str().unwrap();
    for part in [
        &["plan", samples, "-o", "plan"][..],
        &["run", "plan"],
        &["judge", "plan"],
    ] {
        refused(&case, part, 2, "store does not exist");
        refused(&case, part, 2, "mkdir -p /");
    }
    assert!(!case.path("store").exists());
    let mut command = imgcheck();
    let relative = ["sweep", "plan", samples, "-o", "plan", "--store", "facts"];
    let output = command.args(relative).output().unwrap();
    let shown = text(&output.stderr);
    assert!(shown.contains("write file:///"), "{shown}");
}

#[test]
fn a_store_that_cannot_be_written_to_is_said_at_the_start() {
    let case = Case::new();
    let server = fleet().serve();
    case.plan(&[&format!("registry:{}", server.address)]);
    let before = server.seen().len();
    write(&case, "file", "");
    let url = format!("file://{}", case.path("file/store").display());
    let mut command = imgcheck();
    let plan = case.path("plan");
    let output = command
        .args(["sweep", "run", plan.to_str().unwrap(), "--store", &url])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("the store file://"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(server.seen().len(), before);
}

#[test]
fn mistakes_of_the_command_line_are_named() {
    let case = Case::new();
    refused(
        &case,
        &["plan", "no-such-source", "-o", "plan"],
        2,
        "registry:HOST",
    );
    refused(
        &case,
        &["plan", "registry:nowhere", "-o", "plan"],
        2,
        "host of a registry",
    );
    refused(
        &case,
        &["run", "plan", "--shard", "9/8"],
        2,
        "no shard 9 of 8",
    );
    write(&case, "list.txt", "a b c\n");
    refused(
        &case,
        &["plan", "list.txt", "-o", "plan"],
        2,
        "list.txt, line 1",
    );
    write(&case, "pods.json", "[]");
    refused(
        &case,
        &["plan", "pods:pods.json", "-o", "plan"],
        3,
        "kubectl get pods",
    );
    let output = imgcheck().args(["sweep", "run", "plan"]).output().unwrap();
    assert!(
        text(&output.stderr).contains("--store"),
        "{}",
        text(&output.stderr)
    );
}

/// A sweep that finds nothing is not green.
#[test]
fn a_source_without_an_image_is_an_error_that_names_it() {
    let case = Case::new();
    let server = fleet().serve();
    let prefix = format!("registry:{}/nosuch", server.address);
    let node = json!({"items": [{"kind": "Node", "metadata": {"name": "n"}}]});
    write(&case, "nodes.json", &node.to_string());
    write(&case, "empty.txt", "# nothing yet\n");
    let rest = ["--tag", "none"];
    let everything = format!("registry:{}", server.address);
    for (source, more, problem, help) in [
        (
            prefix.as_str(),
            &[][..],
            prefix.as_str(),
            "check host and prefix",
        ),
        (
            "pods:nodes.json",
            &[],
            "pods:nodes.json: it has no Pod",
            "kubectl get pods",
        ),
        (
            "empty.txt",
            &[],
            "empty.txt: it names no image",
            "one image per line",
        ),
        (&everything, &rest, "the filters leave out all 15", "--tag"),
    ] {
        let plan = [&["plan", source, "-o", "plan"], more].concat();
        refused(&case, &plan, 3, problem);
        refused(&case, &plan, 3, help);
        assert!(!case.path("plan").exists());
    }
}

#[test]
fn a_file_of_another_kind_is_no_list() {
    let case = Case::new();
    let plan = ["plan", "images.yaml", "-o", "plan"];
    for (content, problem) in [
        (
            "images:\n  - team/train:v1\n",
            "line 2: `-` is not an image",
        ),
        (
            "images:\n[team/train]\n",
            "images.yaml: no line names an image",
        ),
    ] {
        write(&case, "images.yaml", content);
        refused(&case, &plan, 2, problem);
        refused(&case, &plan, 2, "one image per line");
    }
}

/// A plan without an image judges nothing.
#[test]
fn a_plan_without_an_image_is_not_judged() {
    let case = Case::new();
    let mut bytes = Vec::new();
    SweepPlan::default().write(&mut bytes).unwrap();
    std::fs::write(case.path("plan"), &bytes).unwrap();
    for part in ["run", "judge"] {
        refused(&case, &[part, "plan"], 3, "the plan: it has no image");
    }
}

#[test]
fn manifests_name_an_image_and_a_store_that_workers_reach() {
    let manifests = |words: &[&str]| {
        let mut command = imgcheck();
        let output = command.args(["sweep", "manifests"]).args(words).output();
        let output = output.unwrap();
        (
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let bucket = ["--store", "s3://bucket/facts"];
    let image = ["--image", "registry.example/tools/imgcheck:0.1.0"];
    for engine in ["kubernetes", "gitlab"] {
        let engine = ["--engine", engine];
        let (code, _, shown) = manifests(&[&engine[..], &bucket].concat());
        assert_eq!(code, 2, "{shown}");
        assert!(
            shown.contains("--image") && shown.contains("ci/image.sh"),
            "{shown}"
        );
        let (code, printed, shown) = manifests(&[&engine[..], &bucket, &image].concat());
        assert_eq!(code, 0, "{shown}");
        assert!(
            printed.contains("\"registry.example/tools/imgcheck:0.1.0\""),
            "{printed}"
        );
        assert!(printed.contains("env://SWEEP_STORE_KEY"), "{printed}");
        for local in [
            &["--store", "file:///x"][..],
            &["--store", "s3://b/f", "--plan", "/tmp/p"],
        ] {
            let (code, _, shown) = manifests(&[&engine[..], &image, local].concat());
            assert_eq!(code, 2, "{shown}");
            assert!(shown.contains(local[local.len() - 1]), "{shown}");
            assert!(shown.contains("object storage"), "{shown}");
        }
    }
    let shared = [
        "--engine",
        "slurm",
        "--store",
        "file:///x",
        "--plan",
        "/shared/p",
    ];
    assert_eq!(manifests(&shared).0, 0);
}
