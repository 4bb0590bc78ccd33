//! Parameters of Tekton.

use super::{beside, containers, object};

/// The images of an object, or what decides them.
fn images(kind: &str, spec: &str) -> Vec<String> {
    let (containers, _) = containers(&[&object("tekton.dev/v1", kind, spec)]);
    let images = containers.iter();
    images
        .map(|it| format!("{}{}", it.image, it.decided_by))
        .collect()
}

#[test]
fn parameters_have_the_values_that_are_given_or_their_defaults() {
    let steps = "steps: [{name: s, image: 'a/train:$(params.tag)'}]";
    let with_default = format!("params: [{{name: tag, default: '1'}}], {steps}");
    for (kind, spec, expected) in [
        ("Task", format!("  {{{with_default}}}\n"), "a/train:1"),
        ("Task", format!("  {{params: [{{name: tag}}], {steps}}}\n"), "a/train:$(params.tag)"),
        (
            "Task",
            "  {params: [{name: tag, default: '1'}], steps: [{name: s, image: 'a/b:$(inputs.params.tag)$(params[\"tag\"])'}]}\n".to_owned(),
            "a/b:11",
        ),
        (
            "Task",
            "  {params: [{name: i, type: array, default: [x]}], steps: [{name: s, image: $(params.i)}]}\n".to_owned(),
            "$(params.i)",
        ),
        ("TaskRun", format!("  {{taskSpec: {{{with_default}}}}}\n"), "a/train:1"),
        (
            "TaskRun",
            format!("  {{params: [{{name: tag, value: '2'}}], taskSpec: {{{with_default}}}}}\n"),
            "a/train:2",
        ),
        (
            "Pipeline",
            format!("  {{params: [{{name: tag, default: '3'}}], tasks: [{{name: t, taskSpec: {{{steps}}}}}]}}\n"),
            "a/train:3",
        ),
        (
            "PipelineRun",
            format!(
                "  {{params: [{{name: all, value: '4'}}], pipelineSpec: {{params: [{{name: all, default: '3'}}], finally: [{{name: t, params: [{{name: tag, value: 'v$(params.all)'}}], taskSpec: {{{with_default}}}}}]}}}}\n"
            ),
            "a/train:v4",
        ),
        // The documentation has the pipeline's value count if the run gives it.
        (
            "Pipeline",
            format!("  {{params: [{{name: tag, default: '3'}}], tasks: [{{name: t, taskSpec: {{{with_default}}}}}]}}\n"),
            "a/train:$(params.tag)",
        ),
        (
            "Pipeline",
            format!("  {{tasks: [{{name: t, matrix: {{params: [{{name: tag, value: ['1', '2']}}]}}, taskSpec: {{{with_default}}}}}]}}\n"),
            "a/train:$(params.tag)",
        ),
        (
            "Pipeline",
            format!("  {{tasks: [{{name: t, params: [{{name: tag, value: $(tasks.a.results.tag)}}], taskSpec: {{{with_default}}}}}]}}\n"),
            "a/train:$(params.tag)",
        ),
    ] {
        assert_eq!(images(kind, &spec), [expected], "{kind} {spec}");
    }
}

#[test]
fn values_do_not_make_a_document_larger_than_a_limit() {
    let value = "x".repeat(100_000);
    let image = "$(params.a)".repeat(1000);
    let spec = format!(
        "  {{params: [{{name: a, default: '{value}'}}], steps: [{{name: s, image: '{image}'}}]}}\n"
    );
    assert_eq!(images("Task", &spec), [image]);
}

/// The command of the only step of a task.
fn command(step: &str) -> Vec<String> {
    let spec = format!(
        "  {{params: [{{name: p, default: x}}], steps: [{{name: s, image: a/b, {step}}}]}}\n"
    );
    let (containers, _) = containers(&[&object("tekton.dev/v1", "Task", &spec)]);
    let overlay = &containers[0].overlay;
    [overlay.command.clone(), overlay.args.clone()]
        .into_iter()
        .flatten()
        .flatten()
        .collect()
}

#[test]
fn a_script_runs_in_what_its_first_line_names() {
    let path = "/tekton/scripts/script";
    for (step, expected) in [
        (
            "script: 'cd $(params.p); echo $$ $(date)'",
            vec!["/bin/sh", "-e", "-c", "cd x; echo $$ $(date)", path],
        ),
        (
            r##"script: "#!/usr/bin/env bash\ncd /nope", args: [a]"##,
            vec![
                "/usr/bin/env",
                "bash",
                "-c",
                "#!/usr/bin/env bash\ncd /nope",
                path,
                "a",
            ],
        ),
        (
            r##"script: "#!/usr/bin/env python\nimport x\n", args: [a]"##,
            vec![
                "/usr/bin/env",
                "python",
                "-c",
                "#!/usr/bin/env python\nimport x\n",
                "a",
            ],
        ),
        // The text is unknown, or what runs it takes none.
        (
            "script: 'cat $(results.r.path)'",
            vec!["/bin/sh", "-e", path],
        ),
        (
            r##"script: "#!/usr/bin/env node\nx""##,
            vec!["/usr/bin/env", "node", path],
        ),
    ] {
        assert_eq!(command(step), expected, "{step}");
    }
}

const TASKS: &str = r"
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: train}
spec:
  params: [{name: tag, default: '1'}]
  steps: [{name: s, image: 'a/train:$(params.tag)'}]
---
apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: all}
spec:
  params: [{name: tag, default: '3'}]
  tasks: [{name: t, taskRef: {name: train}, params: [{name: tag, value: 'v$(params.tag)'}]}]
";

#[test]
fn tasks_and_pipelines_are_those_that_references_name() {
    for (kind, spec, containers, missing) in [
        ("TaskRun", "taskRef: {name: train}", "s a/train:1", ""),
        (
            "TaskRun",
            "taskRef: {name: train}, params: [{name: tag, value: '2'}]",
            "s a/train:2",
            "",
        ),
        (
            "PipelineRun",
            "pipelineRef: {name: all}",
            "t/s a/train:v3",
            "",
        ),
        (
            "PipelineRun",
            "pipelineRef: {name: all}, params: [{name: tag, value: '4'}]",
            "t/s a/train:v4",
            "",
        ),
        ("TaskRun", "taskRef: {name: no}", "", "5:Task no"),
        (
            "PipelineRun",
            "pipelineRef: {name: no}",
            "",
            "5:Pipeline no",
        ),
        (
            "Pipeline",
            "tasks: [{name: t, taskRef: {resolver: hub, params: [{name: name, value: git-clone}]}}]",
            "",
            "5:Task git-clone of the resolver hub",
        ),
        (
            "Pipeline",
            "tasks: [{name: t, taskRef: {apiVersion: example.dev/v1, kind: Wait, name: w}}]",
            "",
            "",
        ),
    ] {
        let expected = |text: &str| match text {
            "" => Vec::new(),
            text => vec![text.to_owned()],
        };
        let object = object("tekton.dev/v1", kind, &format!("  {{{spec}}}\n"));
        assert_eq!(
            beside(TASKS, &object),
            (expected(containers), expected(missing)),
            "{kind} {spec}"
        );
    }
}

#[test]
fn sidecars_run_beside_steps_without_the_template_of_these() {
    let spec = "  {params: [{name: tag, default: '1'}], stepTemplate: {env: [{name: A, value: b}]}, steps: [{name: s, image: a/b}], \
                sidecars: [{name: w, image: 'a/c:$(params.tag)', script: 'sleep 1', computeResources: {limits: {nvidia.com/gpu: 1}}}]}\n";
    let (containers, _) = containers(&[&object("tekton.dev/v1", "Task", spec)]);
    let sidecar = containers.iter().find(|it| it.title() == "w").unwrap();
    assert_eq!(sidecar.image, "a/c:1");
    assert!(sidecar.gpu.is_some());
    assert_eq!(
        sidecar.overlay.command.as_ref().unwrap()[..3],
        ["/bin/sh", "-e", "-c"]
    );
    assert_eq!(sidecar.overlay.env.get("A"), None);
}
