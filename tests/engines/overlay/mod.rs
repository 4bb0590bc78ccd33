//! Layers against container engines: what a merge gives is what an engine unpacks and the kernel's overlay shows.
//!
//! Layers are real archives, which imgcheck reads as it reads any other. The engines are Docker, containerd and Podman, which mount
//! an overlay, and umoci, which unpacks all layers into one directory. Each is left out where it is missing or cannot run. The number of
//! random cases is small and fixed, unless `PROPTEST_CASES` says how many.

mod built;
mod disagreements;
mod engines;
mod layer;
mod listing;
mod wild;

use layer::Member;
use proptest::test_runner::{Config, TestRunner};

/// Runs a property with a number of cases that suits every test run, or with as many as the environment says.
fn runner(cases: u32) -> TestRunner {
    let configuration = |cases| Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    match std::env::var("PROPTEST_CASES").map(|cases| cases.parse()) {
        Ok(Ok(cases)) => TestRunner::new(configuration(cases)),
        _ => TestRunner::new_with_rng(
            configuration(cases),
            proptest::test_runner::TestRng::deterministic_rng(
                proptest::test_runner::RngAlgorithm::ChaCha,
            ),
        ),
    }
}

/// The archives of an image's layers.
fn archives(layers: &[Vec<Member>]) -> Vec<Vec<u8>> {
    layers
        .iter()
        .map(|members| layer::archive(members))
        .collect()
}
