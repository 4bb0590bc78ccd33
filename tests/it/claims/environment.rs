//! Claims of labels and the environment.

use super::*;

#[test]
fn the_environment_claims_versions_without_packaging_suffixes() {
    let env = pairs(&[
        ("PYTORCH_VERSION", "2.8.0a0+34c6371d24.nv25.08"),
        ("CUDA_VERSION", "12.8.1.012"),
        ("NV_CUDA_CUDART_VERSION", "12.4.127-1"),
        ("NV_CUDNN_VERSION", "9.10.2.21-1"),
        ("NCCL_VERSION", "2.21.5-1"),
        ("TRT_VERSION", "10.9.0.34+cuda12.8"),
        ("PYTHON_VERSION", "3.11.9"),
        ("NVIDIA_PYTORCH_VERSION", "25.08"),
        ("NVIDIA_TENSORFLOW_VERSION", "21.03-tf2"),
        ("TRITON_SERVER_VERSION", "2.45.0"),
    ]);
    let grammar = imgcheck_model::knowledge::grammar().unwrap();
    let claims = grammar.image_claims(None, &BTreeMap::new(), named(&env));
    let written: Vec<String> = claims.iter().map(written).collect();
    assert_eq!(
        written,
        [
            "torch=2.8.0a0+34c6371d24.nv25.08",
            "cuda=12.8.1.012",
            "cuda=12.4",
            "cudnn=9.10.2.21",
            "nccl=2.21.5",
            "tensorrt=10.9.0.34",
            "python=3.11.9",
            "ngc=25.08",
            "ngc=21.03",
            "triton-server=2.45.0",
        ]
    );
    assert!(claims.iter().all(|claim| claim.origin == "env"));
    assert_eq!(claims[1].text, "CUDA_VERSION=12.8.1.012");
}

#[test]
fn an_unknown_or_unrelated_variable_claims_nothing() {
    let env = pairs(&[
        ("PYTORCH_VERSION", "unknown"),
        ("CUDA_VERSION", ""),
        ("PYTHON_VERSION", "${PYTHON}"),
        (
            "NVIDIA_REQUIRE_CUDA",
            "cuda>=12.4 brand=tesla,driver>=470,driver<471",
        ),
        ("NODE_VERSION", "20.1.0"),
        ("LIBRARY_CUDA_VERSION_NOTE", "12.4"),
    ]);
    let grammar = imgcheck_model::knowledge::grammar().unwrap();
    assert_eq!(
        grammar.image_claims(None, &BTreeMap::new(), named(&env)),
        []
    );
}

#[test]
fn labels_claim_what_they_name() {
    let grammar = imgcheck_model::knowledge::grammar().unwrap();
    let read = |labels: &[(&str, &str)]| -> Vec<String> {
        let labels = pairs(labels).into_iter().collect();
        let claims = grammar.image_claims(None, &labels, []);
        assert!(claims.iter().all(|claim| claim.origin == "label"));
        claims.iter().map(written).collect()
    };
    let version = "org.opencontainers.image.version";
    let title = "org.opencontainers.image.title";
    assert_eq!(
        read(&[("com.nvidia.cudnn.version", "8.9.7.29-1")]),
        ["cudnn=8.9.7.29"]
    );
    assert_eq!(
        read(&[("com.nvidia.pytorch.version", "2.1.0a0+29c30b1")]),
        ["torch=2.1.0a0+29c30b1"]
    );
    assert_eq!(
        read(&[("com.nvidia.volumes.needed", "nvidia_driver")]),
        [""; 0]
    );
    assert_eq!(read(&[(version, "22.04"), (title, "ubuntu")]), [""; 0]);
    assert_eq!(read(&[(version, "2.8.0")]), [""; 0]);
    assert_eq!(
        read(&[(version, "2.8.0"), (title, "PyTorch")]),
        ["torch=2.8.0"]
    );
    assert_eq!(
        read(&[(version, "torch2.8.0-cu128")]),
        ["torch=2.8.0", "cuda=12.8"]
    );
}

/// The configuration of an image may have megabytes of them, and each claim quotes all of its text.
#[test]
fn a_long_text_is_not_a_version() {
    let grammar = imgcheck_model::knowledge::grammar().unwrap();
    let name = "org.opencontainers.image.version";
    let versions = |count: u32| -> String {
        let versions = (0..count).map(|at| format!("torch2.{}.{}", at % 50, at / 50));
        versions.collect::<Vec<_>>().join("-")
    };
    let claims = |text: String| {
        let labels = pairs(&[(name, text.as_str())]).into_iter().collect();
        grammar.image_claims(None, &labels, [])
    };
    assert_eq!(claims(versions(50)).len(), 50);
    assert_eq!(claims(versions(100_000)), []);
}

#[test]
fn tag_label_and_environment_each_make_their_claim() {
    let labels = pairs(&[("com.nvidia.cuda.version", "12.8")])
        .into_iter()
        .collect();
    let env = pairs(&[("CUDA_VERSION", "12.8")]);
    let grammar = imgcheck_model::knowledge::grammar().unwrap();
    let claims = grammar.image_claims(Some("a/cuda12.8:cuda12.8"), &labels, named(&env));
    let origins: Vec<&str> = claims.iter().map(|claim| claim.origin.as_str()).collect();
    assert_eq!(origins, ["repository", "label", "env"]);
    assert!(claims.iter().all(|claim| written(claim) == "cuda=12.8"));
}
