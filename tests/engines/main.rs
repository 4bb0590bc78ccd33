//! Tests that need container engines, registries of other makers, or real images. Each is skipped, and says so, where what it needs is missing,
//! and fails there if `IMGCHECK_REQUIRE_TOOLS=1` or `IMGCHECK_REQUIRE_REAL=1`.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

mod attest;
mod charts;
mod containerd;
mod daemon;
mod gate;
mod groundtruth;
mod healthy_formats;
mod hpc;
#[cfg(feature = "kube")]
mod kubernetes;
mod loader_real;
mod overlay;
mod real_images;
mod registry;
mod requirements;
mod slurm_cluster;
mod source_docker;
mod sweep;
mod threads;

#[path = "../support/formats.rs"]
mod formats;
#[cfg(feature = "gate")]
#[allow(dead_code)] // each module uses its part
#[path = "../it/gate/server.rs"]
mod gate_server;
#[path = "../support/layers.rs"]
mod layers;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/sample_image.rs"]
mod sample_image;
#[path = "../support/samples.rs"]
mod samples;
#[path = "../support/sweep_case.rs"]
mod sweep_case;
