//! Argo workflows.

use super::{beside, containers, kinds, object, shown};
use crate::workload::read;

fn argo(spec: &str) -> String {
    object("argoproj.io/v1alpha1", "Workflow", spec)
}

#[test]
fn argo_runs_a_template_for_each_item() {
    let text = argo(
        r"
  entrypoint: main
  arguments: {parameters: [{name: registry, value: reg.example}, {name: list, value: '[{image: e, tag: 5}]'}]}
  nodeSelector: {pool: gpu}
  templates:
  - name: main
    steps:
    - - {name: a, template: train, arguments: {parameters: [{name: image, value: '{{item.image}}'}, {name: tag, value: '{{item.tag}}'}]}, withItems: [{image: a, tag: 1}, {image: b, tag: 2}]}
      - {name: b, template: train, arguments: {parameters: [{name: image, value: '{{steps.a.outputs.result}}'}]}}
    - - {name: c, template: train, arguments: {parameters: [{name: image, value: '{{item.image}}'}, {name: tag, value: '{{item.tag}}'}]}, withParam: '{{workflow.parameters.list}}'}
      - {name: d, template: train, arguments: {parameters: [{name: image, value: '{{item}}'}]}, withParam: '{{steps.a.outputs.result}}'}
  - name: train
    inputs: {parameters: [{name: image}, {name: tag, default: latest}]}
    container:
      name: main
      image: '{{workflow.parameters.registry}}/{{inputs.parameters.image}}:{{inputs.parameters.tag}}'
      env: [{name: LD_LIBRARY_PATH, value: '{{inputs.parameters.image}}'}]
      resources: {limits: {nvidia.com/gpu: 2}}
",
    );
    let gpus = "nvidia.com/gpu=2";
    assert_eq!(
        shown(&text),
        [
            format!("train/main reg.example/a:1 {gpus}"),
            format!("train/main reg.example/b:2 {gpus}"),
            format!("train/main ? {gpus}"),
            format!("train/main reg.example/e:5 {gpus}"),
        ]
    );
    let (containers, _) = containers(&[&text]);
    assert_eq!(containers[0].placement.selector["pool"], "gpu");
    assert_eq!(containers[0].placement.resources["nvidia.com/gpu"], 2);
    // What is unknown is so for the variables, too.
    assert_eq!(containers[1].env[0].value.as_deref(), Some("b"));
    assert_eq!(containers[2].env[0].value, None);
    assert_eq!(containers[2].location.line, 20);
    assert!(
        containers[2]
            .decided_by
            .contains("{{inputs.parameters.image}}")
    );
}

#[test]
fn argo_has_inline_templates_and_defaults() {
    let text = argo(
        r"
  entrypoint: main
  templateDefaults: {container: {image: a/default:1}, nodeSelector: {pool: gpu}, script: {image: a/script:1}}
  templates:
  - name: main
    dag:
      tasks:
      - {name: one, inline: {container: {command: [x]}}}
      - name: two
        arguments: {parameters: [{name: i, value: '{{item}}'}]}
        withItems: [a/b:1, a/b:2]
        inline: {inputs: {parameters: [{name: i}]}, script: {name: main, image: '{{inputs.parameters.i}}', source: x}}
  - {name: set, containerSet: {containers: [{name: c, image: a/set:1}]}}
",
    );
    assert_eq!(
        shown(&text),
        [
            "one/main a/default:1",
            "two/main a/b:1",
            "two/main a/b:2",
            "set/c a/set:1"
        ]
    );
    let (containers, _) = containers(&[&text]);
    let pools = containers
        .iter()
        .map(|it| it.placement.selector.get("pool"));
    assert_eq!(pools.flatten().count(), 3);
}

/// Whoever writes a workflow does not decide how long it takes to read.
#[test]
fn argo_templates_that_run_each_other_end() {
    let step = "{name: s, template: t, withItems: [1, 2, 3, 4, 5, 6, 7, 8, 9], arguments: {parameters: [{name: p, value: '{{inputs.parameters.p}}{{item}}'}]}}";
    let steps = vec![step; 200].join(", ");
    let text = argo(&format!(
        "  entrypoint: t\n  templates:\n  - {{name: t, inputs: {{parameters: [{{name: p, value: '0'}}]}}, steps: [[{steps}]], container: {{name: c, image: 'a/b:{{{{inputs.parameters.p}}}}'}}}}\n"
    ));
    let start = std::time::Instant::now();
    let shown = shown(&text);
    assert_eq!(shown.last().unwrap(), "t/c ?");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn a_placeholder_of_helm_is_no_placeholder_of_argo() {
    let text = argo("  templates: [{name: t, container: {image: '{{ .Values.image }}'}}]\n");
    let files = [("x.yaml".to_owned(), text)];
    let (_, malformed) = read(&files, &[], &kinds());
    assert!(
        malformed[0].1.message().contains("template"),
        "{malformed:?}"
    );
}

#[test]
fn argo_patches_the_pods_of_templates() {
    let text = argo(
        r#"
  podSpecPatch: '{nodeSelector: {pool: gpu}}'
  templates:
  - name: train
    inputs: {parameters: [{name: gpus, value: 2}]}
    podSpecPatch: '{"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "{{inputs.parameters.gpus}}"}}}]}'
    container: {image: a/b:1}
  - {name: other, podSpecPatch: 'not a patch', container: {image: a/b:2}}
  - {name: only-steps, steps: []}
"#,
    );
    assert_eq!(
        shown(&text),
        ["train/main a/b:1 nvidia.com/gpu=2", "other/main a/b:2"]
    );
    let (containers, _) = containers(&[&text]);
    assert_eq!(containers[0].placement.selector["pool"], "gpu");
    assert_eq!(containers[0].gpu.as_ref().unwrap().location.line, 10);
}

#[test]
fn argo_gives_a_script_to_its_command() {
    let path = "/argo/staging/script";
    for (script, expected) in [
        (
            "command: [bash], source: 'cd $HOME/{{inputs.parameters.d}}'",
            vec!["bash", "-c", "cd $HOME/a", path],
        ),
        (
            "command: [bash, -euo, pipefail], source: x",
            vec!["bash", "-euo", "pipefail", "-c", "x", path],
        ),
        (
            "command: [python3, -u], source: import x",
            vec!["python3", "-u", "-c", "import x"],
        ),
        (
            "command: [bash], source: 'x {{steps.s.outputs.result}}'",
            vec!["bash", path],
        ),
        ("command: [bash, -c], source: x", vec!["bash", "-c", path]),
        ("command: [node], source: x", vec!["node", path]),
        ("source: x", vec![path]),
    ] {
        let text = argo(&format!(
            "  templates: [{{name: t, inputs: {{parameters: [{{name: d, value: a}}]}}, script: {{image: a/b, {script}}}}}]\n"
        ));
        let (containers, _) = containers(&[&text]);
        let overlay = &containers[0].overlay;
        let words = [overlay.command.clone(), overlay.args.clone()];
        let words: Vec<String> = words.into_iter().flatten().flatten().collect();
        assert_eq!(words, expected, "{script}");
        let is_argument = words.iter().any(|it| it == "-c") && words != ["bash", "-c", path];
        assert_eq!(
            overlay.volumes.contains("/argo/staging"),
            !is_argument,
            "{script}"
        );
    }
}

/// Templates that others refer to, of which one runs another beside it.
const TEMPLATES: &str = r"
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: wt}
spec:
  entrypoint: train
  arguments: {parameters: [{name: image, value: a/default:1}, {name: tag, value: '2'}]}
  templates:
  - {name: both, inputs: {parameters: [{name: i}]}, steps: [[{name: s, template: train, arguments: {parameters: [{name: i, value: '{{inputs.parameters.i}}'}]}}]]}
  - {name: train, inputs: {parameters: [{name: i, default: 'a/own:1'}]}, container: {name: main, image: '{{inputs.parameters.i}}', resources: {limits: {nvidia.com/gpu: 1}}}}
  - {name: other, container: {name: main, image: '{{workflow.parameters.image}}:{{workflow.parameters.tag}}'}}
";

#[test]
fn argo_runs_templates_of_other_objects() {
    let step = |reference: &str| {
        format!(
            "  templates: [{{name: m, dag: {{tasks: [{{name: a, templateRef: {{{reference}}}, arguments: {{parameters: [{{name: i, value: 'a/b:1'}}]}}}}]}}}}]\n"
        )
    };
    let none = Vec::<String>::new();
    for (spec, containers, missing) in [
        (step("name: wt, template: train"), vec!["wt/train/main a/b:1"], none.clone()),
        (step("name: wt, template: both"), vec!["wt/train/main a/b:1"], none.clone()),
        (step("name: no, template: t"), vec![], vec!["5:WorkflowTemplate no".to_owned()]),
        (
            step("name: no, template: t, clusterScope: true"),
            vec![],
            vec!["5:ClusterWorkflowTemplate no".to_owned()],
        ),
        (step("name: wt, template: no"), vec![], vec!["5:template no of wt".to_owned()]),
        (
            "  {workflowTemplateRef: {name: wt}, arguments: {parameters: [{name: image, value: a/c}]}}\n".to_owned(),
            vec!["train/main a/own:1", "train/main ", "other/main a/c:2"],
            none.clone(),
        ),
        (
            "  {workflowTemplateRef: {name: no}}\n".to_owned(),
            vec![],
            vec!["5:WorkflowTemplate no".to_owned()],
        ),
    ] {
        let expected: Vec<String> = containers.into_iter().map(str::to_owned).collect();
        assert_eq!(
            beside(TEMPLATES, &argo(&spec)),
            (expected, missing),
            "{spec}"
        );
    }
}

/// Names of templates that are not there, as `line field value meant`.
fn undefined(text: &str) -> Vec<String> {
    let fields = containers(&[text])
        .0
        .into_iter()
        .flat_map(|it| it.refused_fields);
    let undefined = fields.filter(|it| it.problem == "undefined");
    let shown = undefined.map(|it| {
        format!(
            "{} {} {} {}",
            it.location.line, it.field, it.value, it.meant
        )
    });
    shown.collect()
}

#[test]
fn a_workflow_has_the_templates_that_it_names() {
    let templates = r"
  templates:
  - name: main
    steps:
    - - {name: a, template: trian}
      - {name: b, template: '{{item}}'}
      - {name: c, templateRef: {name: t, template: other}}
  - name: graph
    dag: {tasks: [{name: d, template: train}, {name: e, template: tset, inline: {}}]}
  - {name: train, container: {image: a}}
";
    let text = argo(&format!("\n  entrypoint: mian\n  onExit: main{templates}"));
    assert_eq!(
        undefined(&text),
        [
            "6 spec.entrypoint mian main",
            "11 spec.templates[0].steps[0][0].template trian train",
            "15 spec.templates[1].dag.tasks[1].template tset "
        ]
    );
    let cron = object(
        "argoproj.io/v1alpha1",
        "CronWorkflow",
        "  workflowSpec:\n    entrypoint: nosuch\n    templates: [{name: a, container: {image: a}}]\n",
    );
    assert_eq!(undefined(&cron), ["6 spec.workflowSpec.entrypoint nosuch "]);
    for spec in [
        "\n  entrypoint: x\n  workflowTemplateRef: {name: t}\n  templates: [{name: a, container: {image: a}}]\n",
        "\n  entrypoint: x\n  templates: [{name: '{{a}}', container: {image: a}}]\n",
        "\n  entrypoint: '{{a}}'\n  templates: [{name: a, container: {image: a}}]\n",
        "\n  entrypoint: ''\n  onExit: ''\n  templates: [{name: a, container: {image: a}}]\n",
    ] {
        assert_eq!(undefined(&argo(spec)), [""; 0], "{spec}");
    }
    // Nothing starts a container, so there is no finding, but it is no pass.
    let alone = argo(
        "\n  entrypoint: a\n  templates: [{name: a, steps: [[{name: s, template: nosuch}]]}]\n",
    );
    assert_eq!(containers(&[&alone]).1, ["template nosuch"]);
}
