//! Plans and stores that cannot be used.

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
    refused(&case, &["run", "no-such-plan"], 3, "imgcheck sweep plan");
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
