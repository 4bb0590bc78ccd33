//! Slurm jobs: squash files instead of images, and the nodes that a job asks for.

use super::{Input, classes, containers, findings};

/// Classes of a cluster with two kinds of GPUs.
const CLUSTER: &str = "
clusters:
  slurm:
    nodes:
    - {name: hopper, gpu: h100, driver: '570.86.10'}
    - {name: a100, gpu: a100, driver: '570.86.10'}
";

fn job(lines: &str) -> Input {
    let input = Input::new(&format!("#!/bin/bash\n{lines}\n"));
    input.write("cluster.yaml", CLUSTER);
    input
}

#[test]
fn a_squash_file_is_not_a_reference() {
    for file in ["/images/train.sqsh", "./train.sqsh", "train.sqsh"] {
        for line in [
            format!("#SBATCH --container-image={file}"),
            format!("srun --container-image={file} python train.py"),
        ] {
            let (code, report) = job(&line).json(&["--strict"]);
            let container = containers(&report)[0];
            assert_eq!(container["image"], "", "{line}");
            assert_eq!(report["errors"].as_array().map_or(0, Vec::len), 0);
            let found = findings(container);
            assert!(
                found.len() == 1 && found[0].starts_with("deploy-image-unknown 2:"),
                "{found:?}"
            );
            let message = container["findings"][0]["message"].as_str().unwrap();
            assert!(message.contains("is a file on the nodes"), "{message}");
            assert!(message.ends_with(file), "{message}");
            assert_ne!(code, 0);
        }
    }
}

#[test]
fn the_images_file_says_what_a_squash_file_is() {
    let input = job("srun --container-image=/images/train.sqsh python -c 'import torch'");
    let sample = crate::program::repository(super::SAMPLE);
    let line = format!("/images/train.sqsh: {}\n", sample.display());
    input.write("images.yaml", &line);
    let (_, report) = input.json(&[]);
    let container = containers(&report)[0];
    assert_eq!(container["image"], "/images/train.sqsh");
    assert_eq!(report["errors"].as_array().map_or(0, Vec::len), 0);
    assert_eq!(container["verdict"], "pass", "{container:#}");
    let found = findings(container);
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_file_that_is_named_and_missing_gets_no_remark_about_its_tag() {
    let input = job("srun --container-image=/images/train.sqsh python train.py");
    input.write(
        "images.yaml",
        "/images/train.sqsh: docker-archive:none.tar\n",
    );
    let (code, report) = input.json(&[]);
    assert_eq!(code, 3);
    assert_eq!(findings(containers(&report)[0]), [""; 0]);
}

#[test]
fn features_select_node_classes_that_they_name() {
    let both = ["hopper pass", "a100 pass"];
    for (options, expected) in [
        ("--gpus=8", &both[..]),
        ("--gpus=8 --constraint=h100", &both[..1]),
        ("--gpus=8 -C hopper", &both[..1]),
        ("--gpus=8 --constraint='h100&nvlink'", &both[..1]),
        ("--gpus=8 --constraint=a100|h100", &both),
        ("--gpus=8 --constraint=rack1|h100", &both),
        ("--gpus=8 --constraint=nvlink", &both),
        ("--gpus=8 --constraint=[h100*2&a100*2]", &both),
        ("--gres=gpu:h100:8", &both[..1]),
        ("--gpus=a100:2", &both[1..]),
        ("--gpus-per-node=b200:2", &both),
    ] {
        let lines =
            format!("#SBATCH {options}\nsrun --container-image=IMAGE python -c 'import torch'");
        let (_, report) = job(&lines).json(&["--config", "cluster.yaml"]);
        assert_eq!(classes(containers(&report)[0]), expected, "{options}");
    }
}
