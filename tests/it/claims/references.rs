//! Claims of references.

use super::*;

/// What is wrong with the claims of one row: `-` what is missed, `+` what is too much.
fn faults(grammar: &Grammar, row: &Row<'_>) -> Vec<String> {
    let mut unexpected = read(grammar, row.reference);
    let mut faults = Vec::new();
    for expected in &row.expected {
        match unexpected.iter().position(|claim| claim == expected) {
            Some(position) => drop(unexpected.remove(position)),
            None => faults.push(format!("-{expected}")),
        }
    }
    let mut used: Vec<&str> = Vec::new();
    for claim in &unexpected {
        let subject = claim.split('=').next().unwrap_or_default();
        if row.allowed.contains(&claim.as_str()) && !used.contains(&subject) {
            used.push(subject);
        } else {
            faults.push(format!("+{claim}"));
        }
    }
    faults
}

/// The number of rows that pass, and a line for each that does not.
fn score(rows: &[Row<'_>]) -> (usize, Vec<String>) {
    let grammar = imgcheck_model::knowledge::grammar().unwrap();
    let failing: Vec<String> = rows
        .iter()
        .map(|row| (row.reference, faults(&grammar, row)))
        .filter(|(_, faults)| !faults.is_empty())
        .map(|(reference, faults)| format!("{reference}: {}", faults.join(" ")))
        .collect();
    (rows.len() - failing.len(), failing)
}

#[test]
fn references_of_public_files_are_read_as_people_read_them() {
    let rows = corpus(include_str!("../../../testdata/tags.tsv"));
    let (passed, failing) = score(&rows);
    assert_eq!(rows.len(), 805);
    assert!(
        passed * 100 >= rows.len() * 99,
        "{passed} of {} pass; these do not:\n{}",
        rows.len(),
        failing.join("\n")
    );
}

#[test]
fn further_references_are_all_read_right() {
    let rows = corpus(include_str!("../../../testdata/tags-more.tsv"));
    assert!(rows.len() >= 150);
    assert_eq!(score(&rows).1, Vec::<String>::new());
}

fn assert_reads(cases: &[(&str, &str)]) {
    let grammar = imgcheck_model::knowledge::grammar().unwrap();
    for (reference, expected) in cases {
        assert_eq!(
            read(&grammar, reference).join(" "),
            *expected,
            "{reference}"
        );
    }
}

#[test]
fn the_version_of_another_product_is_not_read_as_pytorch() {
    assert_reads(&[
        ("kubeflownotebookswg/jupyter-pytorch-cuda:v1.8.0", ""),
        ("pytorch/torchserve:0.7.1-gpu", "device=gpu"),
        ("intel/intel-extension-for-pytorch:2.8.10-xpu", ""),
        ("huggingface/transformers-pytorch-gpu:4.29.2", "device=gpu"),
        ("mlbench/pytorch-cifar10-resnet-scaling:2.3.0", ""),
        ("rocm/pytorch-training:v25.4", ""),
        ("acme/pytorch-training:1.2.0", ""),
        (
            "123456789012.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.2.0",
            "",
        ),
        ("pytorch/manylinux2_28-builder:cuda12.6", "cuda=12.6"),
        ("tensorflow/serving:2.15.1", ""),
        ("kserve/paddleserver:v0.12.0", ""),
        ("milvusdb/milvus:v2.3.0", ""),
    ]);
}

#[test]
fn the_release_of_an_image_is_not_the_version_of_its_product() {
    assert_reads(&[
        (
            "runpod/pytorch:1.0.2-cu1281-torch271-ubuntu2204",
            "cuda=12.8.1 torch=2.7.1 os=ubuntu22.04",
        ),
        (
            "runpod/pytorch:1.0.2-cu1281-torch210-ubuntu2204",
            "cuda=12.8.1 os=ubuntu22.04",
        ),
        ("runpod/base:0.4.0-cuda11.8.0", "cuda=11.8.0"),
        (
            "bitnami/pytorch:1.13.1-debian-11-r33",
            "torch=1.13.1 os=debian11",
        ),
        ("acme/pytorch:2.1.0-torch210", ""),
    ]);
}

#[test]
fn a_year_and_month_is_an_ngc_release_only_at_ngc() {
    assert_reads(&[
        ("nvcr.io/nvidia/pytorch:25.03-py3", "ngc=25.03 python=3"),
        ("192.168.108.1:5000/pytorch/pytorch:21.10-py3", "python=3"),
        (
            "registry.example:5000/nvcr.io/nvidia/pytorch:24.05-py3",
            "ngc=24.05 python=3",
        ),
        (
            "registry.example/pytorch-cuda:26.06-py3-alps7-dev",
            "python=3",
        ),
        ("rapidsai/base:25.12-cuda13-py3.12", "cuda=13 python=3.12"),
        ("nvcr.io/nvidia/nemo:25.02", ""),
        ("teddysun/xray:24.11.30", ""),
    ]);
}

#[test]
fn digit_runs_are_read_only_where_the_split_is_certain() {
    assert_reads(&[
        (
            "a/b:torch251-cu118-py310",
            "torch=2.5.1 cuda=11.8 python=3.10",
        ),
        (
            "a/b:torch1131-cu1281-rocm644",
            "torch=1.13.1 cuda=12.8.1 rocm=6.4.4",
        ),
        ("a/b:torch210", ""),
        ("a/b:torch112-cu117", "cuda=11.7"),
        ("verlai/verl:vllm017.latest", ""),
        ("verlai/verl:sgl055.latest", ""),
        ("a/b:cu90-ubuntu1604", "cuda=9.0 os=ubuntu16.04"),
    ]);
}

#[test]
fn a_number_is_read_to_its_end_or_not_at_all() {
    assert_reads(&[
        ("a/b:cuda11.8cudnn8", "cuda=11.8 cudnn=8"),
        ("a/b:cu121cudnn8", "cuda=12.1 cudnn=8"),
        (
            "a/b:torch2.3.0cu121py310",
            "torch=2.3.0 cuda=12.1 python=3.10",
        ),
        ("a/b:py3.10torch2.1", "python=3.10 torch=2.1"),
        ("pytorch/pytorch:2.3.0cu121", "torch=2.3.0 cuda=12.1"),
        ("a/b:rocm6.3.4ub20", ""),
        ("a/b:cuda12.4.1x", ""),
        ("a/b:cuda11.8runtime", "cuda=11.8 flavour=runtime"),
        ("a/b:cuda11.8cudnn8devel", "cuda=11.8 cudnn=8 flavour=devel"),
        ("a/b:tf1.15gpu-py3", "tensorflow=1.15 device=gpu python=3"),
        ("a/b:cuda12.1gpux", ""),
        ("nvidia/cuda:11.0rc-devel", "flavour=devel"),
        ("a/b:cuda11.8.0.1.2", ""),
        ("a/b:python3.11.4rc1", "python=3.11.4rc1"),
        ("a/b:py3.13t", "python=3.13"),
        ("rayproject/ray:2.46.0.0e19ea", "ray=2.46.0"),
        ("a/b:cuda12.20250818", "cuda=12"),
        ("a/b:cuda-12-4", "cuda=12.4"),
        ("a/b:cuda-12-2025-08-18", "cuda=12"),
    ]);
}

#[test]
fn a_product_that_an_image_is_without_is_not_claimed() {
    assert_reads(&[
        ("a/b:no-gpu", ""),
        ("a/b:non-cuda-12-py310", "python=3.10"),
        ("a/b:without_torch_2.1", ""),
    ]);
}

#[test]
fn a_mirror_may_put_the_owner_before_the_name() {
    assert_reads(&[
        (
            "mirror.example/x/nvidia_cuda:12.4.1-base",
            "cuda=12.4.1 flavour=base",
        ),
        (
            "mirror.example/x/pytorch_pytorch:2.1.0-cuda12.1-cudnn8-runtime",
            "torch=2.1.0 cuda=12.1 cudnn=8 flavour=runtime",
        ),
        ("mirror.example/x/my_pytorch:2.1.0", ""),
    ]);
}

#[test]
fn similar_words_claim_nothing() {
    assert_reads(&[
        ("nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc11", ""),
        ("acme/barracuda:12.1", ""),
        ("acme/array-service:2.3.0", ""),
        ("acme/stingray:2.9.0", ""),
        (
            "anibali/pytorch:1.13.1-nocuda-ubuntu22.04",
            "torch=1.13.1 os=ubuntu22.04",
        ),
        ("acme/driver:r570", ""),
        ("acme/api:r35.4.1", ""),
        ("acme/copy3:1.0", ""),
        ("acme/api:sha-cu128af3", ""),
        ("acme/api:runtime-config-3", ""),
        ("dustynv/ros:humble-ros-base-l4t-r35.4.1", "l4t=35.4.1"),
        ("nvcr.io/nvidia/gpu-operator:v23.9.0", ""),
        ("localhost:5000/pytorch", ""),
    ]);
}

#[test]
fn an_invalid_reference_is_an_error() {
    let grammar = imgcheck_model::knowledge::grammar().unwrap();
    for reference in [
        "PyTorch/PyTorch:2.1.0-cuda12.1-cudnn8-devel",
        "nvidia/cuda:${CUDA_VERSION}-base",
        "nvcr.io/nvidia/jax:YY.MM-maxtext-py3",
        "cr.backend.ai/stable/python:3.9-ubuntu20.04@x86_64",
        "vastai/pytorch@vastai-automatic-tag",
        "acme/api:2.9:3",
    ] {
        assert!(grammar.claims(reference).is_err(), "{reference}");
    }
}

#[test]
fn a_claim_has_the_text_that_it_was_read_from() {
    let grammar = imgcheck_model::knowledge::grammar().unwrap();
    let pieces = |reference: &str| -> Vec<(String, String)> {
        let claims = grammar.claims(reference).unwrap();
        claims
            .into_iter()
            .map(|claim| (claim.origin, claim.text))
            .collect()
    };
    let tag = |text: &str| ("tag".to_owned(), text.to_owned());
    let repository = |text: &str| ("repository".to_owned(), text.to_owned());
    assert_eq!(pieces("pytorch-cuda:v2.9"), [tag("v2.9")]);
    assert_eq!(
        pieces("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime"),
        [tag("2.8.0"), tag("cuda12.8"), tag("cudnn9"), tag("runtime")]
    );
    assert_eq!(
        pieces("gcr.io/deeplearning-platform-release/pytorch-gpu.1-13.py310:m102"),
        [repository("gpu"), repository("1-13"), repository("py310")]
    );
    assert_eq!(
        pieces("a/b:Torch2.8.0-CU128"),
        [tag("Torch2.8.0"), tag("CU128")]
    );
    assert_eq!(
        pieces("pytorch-inference:2.1-transformers4.36-gpu-py310"),
        [tag("2.1"), tag("gpu"), tag("py310")]
    );
}
