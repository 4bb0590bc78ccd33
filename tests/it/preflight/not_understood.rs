//! Documents that hold an image or a GPU request in no container that is understood are named, and no others.

use std::fs;

use serde_json::Value;

use super::{IMAGE, Input, containers};
use crate::program::repository;

/// Invented kinds with an image or a GPU request, each in another form. The first line of a document is what its gap names.
const INVENTED: &str = include_str!("../../../testdata/preflight/invented.yaml");
/// Documents that start nothing, or whose containers are all understood.
const ORDINARY: &str = include_str!("../../../testdata/preflight/ordinary.yaml");

/// An object of an invented kind.
fn invented(spec: &str) -> String {
    format!(
        "apiVersion: invented.example/v1\nkind: Invented\nmetadata: {{name: x}}\nspec: {spec}\n"
    )
}

/// The messages of the gaps of each workload, by its kind.
fn gaps(report: &Value) -> Vec<(String, String)> {
    let workloads = report["workloads"].as_array().unwrap().iter();
    let gaps = workloads.flat_map(|it| {
        let gaps = it["gaps"].as_array().unwrap().iter();
        gaps.map(move |gap| {
            assert_eq!(gap["code"], "workload-not-understood");
            assert_eq!(gap["path"], it["file"]);
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&it["kind"]), text(&gap["message"]))
        })
    });
    gaps.collect()
}

#[test]
fn a_hundred_invented_kinds_are_named() {
    let documents: Vec<&str> = INVENTED.split("\n---\n").collect();
    assert!(documents.len() >= 100, "{}", documents.len());
    let (code, report) = Input::new(INVENTED).json(&[]);
    assert_eq!((code, containers(&report).len()), (0, 0), "{report}");
    let gaps = gaps(&report);
    assert_eq!(gaps.len(), documents.len());
    for (at, document) in documents.iter().enumerate() {
        let words = document.lines().next().unwrap().trim_start_matches("# ");
        let kind = format!("Invented{at}");
        let mut own = gaps.iter().filter(|(it, _)| *it == kind);
        let message = own.next().map_or("", |(_, message)| message);
        assert!(message.contains(words), "{document}\n{message:?}");
    }
}

#[test]
fn one_of_them_alone_is_shown_and_incomplete_if_strict() {
    for spec in [
        "{image: nginx}",
        "{image: {repository: ml/a, tag: v1}}",
        "{gpu: 1}",
    ] {
        let input = Input::new(&invented(spec));
        let (code, text, error) = input.run(&["deploy.yaml"]);
        assert_eq!((code, error.as_str()), (0, ""), "{spec}");
        assert!(text.starts_with("Invented x (deploy.yaml)"), "{text}");
        assert!(
            text.contains("NOT JUDGED[workload-not-understood]"),
            "{text}"
        );
        assert!(text.contains("line 4"), "{text}");
        let (code, text, _) = input.run(&["--strict", "-q", "deploy.yaml"]);
        assert_eq!(code, 3, "{spec}");
        assert!(text.contains("workload-not-understood"), "{text}");
    }
}

#[test]
fn ordinary_documents_are_silent_even_if_strict() {
    let input = Input::new(ORDINARY);
    let (code, report) = input.json(&["--strict"]);
    assert_eq!(gaps(&report), [], "{report}");
    assert_eq!((code, containers(&report).len()), (0, 1), "{report}");
    // The manifests of this repository.
    for file in ["deployment.yaml", "images.yaml"] {
        let text = fs::read_to_string(repository("testdata/preflight").join(file)).unwrap();
        let (_, _, error) = Input::new(&text).run(&["deploy.yaml"]);
        assert!(!error.contains("not-understood"), "{error}");
    }
}

#[test]
fn known_projects_that_the_table_cannot_describe_are_named() {
    let cache = "apiVersion: apps.nvidia.com/v1alpha1\nkind: NIMCache\nmetadata: {name: llama, namespace: nim}\nspec:\n  source:\n    ngc:\n      modelPuller: nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.4\n      model: {profiles: [all], gpus: [{product: h100}]}\n  storage: {pvc: {create: true, size: 50Gi}}\n";
    let customizer = "apiVersion: apps.nvidia.com/v1alpha1\nkind: NemoCustomizer\nmetadata: {name: tune, namespace: nim}\nspec:\n  image: {repository: nvcr.io/nvidia/nemo-microservices/customizer-api, tag: 25.06}\n  training: {image: {repository: nvcr.io/nvidia/nemo-microservices/customizer, tag: 25.06}}\n  resources: {limits: {nvidia.com/gpu: 1}}\n";
    for (text, words) in [
        (
            cache,
            [
                "image `nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.4` in line 7",
                "GPU request `gpus` in line 8",
            ],
        ),
        (
            customizer,
            [
                "image `nvcr.io/nvidia/nemo-microservices/customizer:25.06` in line 6",
                "GPU request `nvidia.com/gpu: 1` in line 7",
            ],
        ),
    ] {
        let input = Input::new(text);
        let (code, report) = input.json(&[]);
        let gaps = gaps(&report);
        assert_eq!((code, gaps.len()), (0, 1), "{report}");
        let message = &gaps[0].1;
        assert!(words.iter().all(|it| message.contains(it)), "{message}");
        assert_eq!(input.json(&["--strict"]).0, 3);
    }
}

/// What is rendered elsewhere, with an image that nobody has judged.
#[test]
fn overlays_and_releases_that_choose_images_are_named() {
    let object = |api: &str, kind: &str, rest: &str| {
        format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x}}\n{rest}\n")
    };
    for (text, words) in [
        (
            object(
                "kustomize.config.k8s.io/v1beta1",
                "Kustomization",
                "images: [{name: ml/train, newName: registry.example/ml/train, newTag: v2}]",
            ),
            "registry.example/ml/train:v2",
        ),
        (
            object(
                "argoproj.io/v1alpha1",
                "Application",
                "spec: {source: {helm: {values: \"image: {repository: ml/serve, tag: v3}\"}}}",
            ),
            "ml/serve:v3",
        ),
        (
            object(
                "helm.toolkit.fluxcd.io/v2",
                "HelmRelease",
                "spec: {values: {image: {registry: 'https://quay.io/', repository: ml/serve, tag: v4}}}",
            ),
            "quay.io/ml/serve:v4",
        ),
        (
            object(
                "v1",
                "ConfigMap",
                "data: {job.yaml: '{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {containers: [{image: ml/job}]}}}}'}",
            ),
            "ml/job",
        ),
    ] {
        let (code, report) = Input::new(&text).json(&[]);
        let gaps = gaps(&report);
        assert_eq!((code, gaps.len()), (0, 1), "{text}");
        assert!(gaps[0].1.contains(words), "{gaps:?}");
    }
}

#[test]
fn what_is_beside_understood_containers_is_named() {
    let pod = "{containers: [{name: c, image: 'IMAGE', env: [{name: RELATED_IMAGE, value: 'registry.example/a/b:1'}], args: ['--image=registry.example/a/c:1']}]}";
    let object = |api: &str, kind: &str, spec: &str| {
        format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {spec}\n")
    };
    let template = format!("{{template: {{spec: {pod}}}}}");
    let argo = "\n  templates:\n    - {name: train, container: {image: 'IMAGE'}}\n    - name: create\n      resource:\n        action: create\n        manifest: |\n          apiVersion: kubeflow.org/v1\n          kind: PyTorchJob\n          spec: {pytorchReplicaSpecs: {Master: {template: {spec: {containers: [{name: m, image: ml/inner}]}}}}}\n";
    for (text, expected) in [
        // What a program is told is its own business, and so is a copy of the same object.
        (object("apps/v1", "Deployment", &template), None),
        (
            object("apps/v1", "Deployment", &template).replace(
                "{name: x}",
                "{name: x, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"apiVersion\": \"apps/v1\", \"kind\": \"Deployment\", \"spec\": {\"template\": {\"spec\": {\"containers\": [{\"image\": \"ml/before\"}]}}}}'}}",
            ),
            None,
        ),
        // A Pod of an unknown kind is understood; what is beside it is not.
        (object("invented.example/v1", "Invented", &template), None),
        (
            object(
                "invented.example/v1",
                "Invented",
                &format!("{{template: {{spec: {pod}}}, sidecarImage: 'ml/sidecar:1'}}"),
            ),
            Some("ml/sidecar:1"),
        ),
        (
            object(
                "invented.example/v1",
                "Invented",
                &format!("{{template: {{spec: {pod}}}, gpus: 2}}"),
            ),
            Some("gpus: 2"),
        ),
        (
            object(
                "invented.example/v1",
                "Invented",
                &format!("{{template: {{spec: {pod}}}, gpus: 2}}")
                    .replace("name: c,", "name: c, resources: {limits: {nvidia.com/gpu: 2}},"),
            ),
            None,
        ),
        (
            object("argoproj.io/v1alpha1", "Workflow", argo),
            Some("ml/inner"),
        ),
    ] {
        let (_, report) = Input::new(&text).json(&[]);
        assert_eq!(containers(&report)[0]["image"], IMAGE, "{report}");
        let gaps = gaps(&report);
        match expected {
            Some(words) => assert!(gaps[0].1.contains(words), "{gaps:?}"),
            None => assert_eq!(gaps, [], "{text}"),
        }
    }
}

#[test]
fn scripts_and_compose_files_name_what_is_not_followed() {
    let script = |rest: &str| format!("#!/bin/bash\n{rest}\n");
    let known = "docker run --rm --gpus all IMAGE python -V";
    let image = "registry.example/a/b:1";
    for (text, expected) in [
        (script(known), None),
        (script(&format!("sudo {known}")), None),
        (script(&format!("exec /usr/bin/{known}")), None),
        (script(&format!("X=1 time {known}")), None),
        (script(&format!("sudo -E {known}")), Some("docker run")),
        (script(&format!("ssh host '{known}'")), Some("docker run")),
        (script(&format!("out=$({known})")), Some("docker run")),
        (script(&format!("nerdctl run --gpus all {image}")), Some("nerdctl run")),
        (script("apptainer exec --nv train.sif python train.py"), Some("apptainer exec --nv train.sif")),
        (script("singularity shell --nv /images/train.sif"), Some("singularity shell")),
        (script("enroot start --rw train python"), Some("enroot start")),
        (script(&format!("kubectl run x --image={image}")), Some("kubectl run")),
        (script(&format!("submit --container {image}")), Some(image)),
        (script("#SBATCH --gres=gpu:8\nsrun python train.py"), Some("--gres=gpu:8")),
        (script("#PBS -l select=1:ngpus=4\npython train.py"), Some("ngpus=4")),
        (script("#BSUB -gpu num=4\npython train.py"), Some("-gpu num=4")),
        (
            script("cat <<EOF | kubectl apply -f -\nspec: {containers: [{image: registry.example/a/b:1}]}\nEOF"),
            Some(image),
        ),
        // What only names an image, or says something.
        (
            script("export NAME=registry.example/ml/pytorch:2.8.0-cuda12.8\ndocker run $NAME python -V"),
            None,
        ),
        (script(&format!("docker pull {image}")), None),
        (script(&format!("sudo docker push {image}")), None),
        (script(&format!("docker build -t {image} .\ncosign sign {image}")), None),
        (script(&format!("echo docker run {image}")), None),
        (script("docker exec train nvidia-smi\ndocker logs train\ndocker compose up -d"), None),
        (script("#SBATCH --job-name=gpu-test --partition=gpu\nsrun hostname"), None),
        (script("cd /srv\npip install torch==2.8.0\ncurl https://registry.example/v2/"), None),
        ("services: {a: {image: 'IMAGE', environment: {NUM_GPUS: 2}, ports: ['8080:80']}}\n".to_owned(), None),
        ("services: {a: {image: 'IMAGE', gpus: all}}\n".to_owned(), None),
        ("services: {a: {image: 'IMAGE', devices: ['nvidia.com/gpu=all']}}\n".to_owned(), Some("nvidia.com/gpu=all")),
        (
            "services: {a: {image: 'IMAGE', deploy: {resources: {reservations: {generic_resources: [{discrete_resource_spec: {kind: gpu, value: 1}}]}}}}}\n".to_owned(),
            Some("kind: gpu"),
        ),
    ] {
        let (_, report) = Input::new(&text).json(&[]);
        let gaps = gaps(&report);
        match expected {
            Some(words) => assert!(gaps.iter().any(|it| it.1.contains(words)), "{text}: {gaps:?}"),
            None => assert_eq!(gaps, [], "{text}"),
        }
    }
}

/// Files in formats that are not read are errors, not silence.
#[test]
fn files_of_no_known_format_are_errors() {
    for text in [
        "jobs: {build: {runs-on: ubuntu-latest, container: {image: 'ml/ci:1'}}}\n",
        "train:\n  image: ml/ci:1\n  script: [python train.py]\n",
        "resources: {accelerators: 'H100:8', image_id: 'docker:ml/sky'}\nrun: python train.py\n",
        "{\"image\": \"ml/devcontainer\", \"runArgs\": [\"--gpus\", \"all\"]}\n",
        "image: {repository: ml/values, tag: v1}\nresources: {limits: {nvidia.com/gpu: 1}}\n",
        "#!/usr/bin/env python3\nimport docker\ndocker.from_env().containers.run('ml/py')\n",
        "FROM ml/base\nRUN true\n",
    ] {
        let (code, _, error) = Input::new(text).run(&["deploy.yaml"]);
        assert_eq!(code, 2, "{text}: {error}");
        assert!(error.contains("deploy.yaml"), "{error}");
    }
}

#[test]
fn a_gap_is_in_every_format_and_can_be_acknowledged() {
    let input = Input::new(&invented("{image: ml/train, gpu: 1}"));
    for format in ["github", "gitlab", "junit", "sarif", "markdown", "html"] {
        let (code, text, _) = input.run(&["-f", format, "deploy.yaml"]);
        assert_eq!(code, 0, "{format}");
        assert!(
            text.contains("workload-not-understood") && text.contains("Invented x"),
            "{format}: {text}"
        );
    }
    let ignore = "ignore: [{gap: workload-not-understood, path: deploy.yaml, reason: its Pods are judged}]\n";
    input.write("config.yaml", ignore);
    let (code, report) = input.json(&["--strict", "--config", "config.yaml"]);
    assert_eq!((code, gaps(&report)), (0, vec![]), "{report}");
    assert_eq!(report["findings"], Value::Null, "{report}");
}

/// A kind whose name ends with `List` is one, if its items are objects.
#[test]
fn a_kind_that_only_sounds_like_a_list_is_an_object() {
    let list = |items: &str| {
        format!(
            "apiVersion: invented.example/v1\nkind: AllowList\nmetadata: {{name: x}}\nitems: {items}\n"
        )
    };
    let (code, report) = Input::new(&list("[a, b]")).json(&[]);
    assert_eq!((code, gaps(&report)), (0, vec![]));
    let (_, report) = Input::new(&list("[{image: ml/listed}]")).json(&[]);
    assert!(gaps(&report)[0].1.contains("ml/listed"), "{report}");
    let pod = "[{metadata: {name: p}, spec: {containers: [{name: c, image: 'IMAGE'}]}}]";
    let (_, report) = Input::new(&list(pod)).json(&[]);
    assert_eq!(containers(&report)[0]["image"], IMAGE, "{report}");
}

/// Aliases in a text cannot make it larger than the file, and texts in texts end.
#[test]
fn texts_in_texts_are_bounded() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
    }
    bomb.push_str("image: ml/after\n");
    let bomb = bomb.replace('\n', "\n    ");
    let spec: String = (0..500)
        .map(|at| format!("  t{at}: |\n    {bomb}\n"))
        .collect();
    let (code, report) = Input::new(&invented(&format!("\n{spec}"))).json(&[]);
    assert_eq!((code, gaps(&report).len()), (0, 1));
    assert!(gaps(&report)[0].1.contains("ml/after"), "{report}");
}

#[test]
fn a_kustomization_alone_is_rendered_first() {
    let text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [deploy.yaml]\n";
    let (code, _, error) = Input::new(text).run(&["deploy.yaml"]);
    assert_eq!(code, 2, "{error}");
    assert!(
        error.contains("kubectl kustomize DIRECTORY | imgcheck preflight -"),
        "{error}"
    );
}
