//! Packages that pip builds from source: what their build sees, and what it needs.

use super::*;

/// Without isolation, a build imports the PyTorch of the base image.
#[test]
fn a_base_image_brings_the_pytorch_that_a_build_imports() {
    let command = "RUN pip install torch==2.6.0 flash-attn==2.7.4.post1";
    for (base, flag, expected) in [
        (
            "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel",
            " --no-build-isolation",
            false,
        ),
        ("vllm/vllm-openai:v0.9.0", " --no-build-isolation", false),
        ("pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel", "", true),
        (
            "nvidia/cuda:12.4.1-devel-ubuntu22.04",
            " --no-build-isolation",
            true,
        ),
    ] {
        let text = format!("FROM {base}\n{command}{flag}\n");
        let found = found_in(&[("Dockerfile", &text)], "Dockerfile");
        assert_eq!(
            found.contains("lint-build-isolation"),
            expected,
            "{text}{found}"
        );
    }
}

/// flash-attn without its CUDA part needs no compiler: a wheel of its releases, or nothing.
#[test]
fn a_build_may_leave_its_cuda_part_out() {
    let image = "nvidia/cuda:12.4.1-runtime-ubuntu22.04";
    let skips = "FLASH_ATTENTION_SKIP_CUDA_BUILD=TRUE";
    for (variables, version, expected) in [
        ("", "2.7.3", true),
        (skips, "2.7.3", false),
        (skips, "2.0.6", false),
        (skips, "2.0.5", true),
        ("FLASH_ATTENTION_SKIP_CUDA_BUILD=1", "2.7.3", true),
        ("MAMBA_SKIP_CUDA_BUILD=TRUE", "2.7.3", true),
    ] {
        let text = format!(
            "FROM {image}\nRUN pip install torch==2.6.0\nRUN {variables} pip install --no-build-isolation flash-attn=={version}\n"
        );
        let found = found_in(&[("Dockerfile", &text)], "Dockerfile");
        assert_eq!(
            found.contains("lint-no-compiler"),
            expected,
            "{variables} {version} {found}"
        );
    }
}

/// The program of uv brings no compiler.
#[test]
fn an_image_that_uv_is_copied_from_brings_no_compiler() {
    for (copied, expected) in [
        ("COPY --from=ghcr.io/astral-sh/uv:0.7 /uv /bin/uv", true),
        (
            "COPY --from=nvidia/cuda:12.4.1-devel-ubuntu22.04 /usr/local/cuda /usr/local/cuda",
            false,
        ),
    ] {
        let text = format!(
            "FROM python:3.12-slim\n{copied}\nRUN pip install torch==2.6.0\nRUN pip install --no-build-isolation flash-attn==2.7.4.post1\n"
        );
        let found = found_in(&[("Dockerfile", &text)], "Dockerfile");
        assert_eq!(
            found.contains("lint-no-compiler"),
            expected,
            "{copied} {found}"
        );
    }
}

/// A repository has the same name with and without a slash at its end.
#[test]
fn an_address_may_end_with_a_slash() {
    for end in ["", "/", ".git", ".git/"] {
        let text = format!(
            "FROM pytorch/pytorch:2.1.0-cuda11.8-cudnn8-devel\nRUN pip install -U pip && pip install git+https://github.com/NVlabs/nvdiffrast{end}\n"
        );
        let found = found_in(&[("Dockerfile", &text)], "Dockerfile");
        assert!(found.contains("lint-build-isolation"), "{end} {found}");
    }
}
