//! Names that only some releases know, and what values name in an image.

use std::collections::BTreeMap;

use super::super::{Effect, Problem};
use super::{Image, faults, settings, torch, with_distributions};

/// What depends on the host, on files, or on rules of its own.
const NOT_OF_THE_TABLE: [&str; 9] = [
    "CC",                 // python-tool-missing
    "CUDA_FORCE_PTX_JIT", // gpu-ptx-forced
    "CUPY_CACHE_DIR",
    "NCCL_COMM_ID",
    "NCCL_NET",
    "NCCL_SOCKET_IFNAME",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "CUDA_VISIBLE_DEVICES",
];
/// What fails and is not judged: what another package may bring, and the values of flags.
const NOT_JUDGED_ON_A_GPU: [(&str, &str); 4] = [
    ("XLA_FLAGS", "--xla_gpu_autotune_level=x"),
    ("JAX_PLATFORMS", "nosuch"),
    ("JAX_PLATFORM_NAME", "nosuch"),
    ("XLA_FLAGS", "--nosuch"),
];

/// What happened with each value on an H100, by `testdata/recipes/gpu_settings.py`.
#[test]
fn what_fails_on_a_gpu_is_named_and_nothing_else() {
    let table = include_str!("../../../../../testdata/gpu-settings.csv");
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let mut failing: BTreeMap<(String, String), bool> = BTreeMap::new();
    for row in reader.records().map(Result::unwrap) {
        let fails = failing.entry((row[0].into(), row[1].into())).or_default();
        *fails |= !row[3].is_empty();
    }
    let image = Image {
        distributions: [
            ("triton", "3.6.0"),
            ("jax", "0.11.2"),
            ("jaxlib", "0.11.2"),
            ("jax-cuda13-plugin", "0.11.2"),
            ("cupy-cuda13x", "14.2.0"),
        ]
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .into(),
        modules: vec!["jax_plugins".to_owned()],
        ..torch("2.11.0+cu130")
    };
    let settings = settings();
    let mut wrong = Vec::new();
    for ((variable, value), fails) in &failing {
        let environment = [(variable.clone(), value.clone())].into();
        let found = settings.faults(&environment, &image);
        let is_named = found.iter().any(|it| it.effect == Effect::Fails);
        let is_left = NOT_OF_THE_TABLE.contains(&variable.as_str())
            || NOT_JUDGED_ON_A_GPU.contains(&(variable, value));
        if is_named != *fails && !is_left {
            wrong.push(format!(
                "{variable}={value}: fails {fails}, named {is_named}"
            ));
        }
    }
    assert!(failing.len() > 200);
    assert_eq!(wrong, Vec::<String>::new());
}

/// The words of `_registrations.py`: `dist_c10d` is one of 2.3 only.
#[test]
fn logs_are_those_of_the_release() {
    let named = |value: &str, image: &Image| {
        let found = faults("TORCH_LOGS", value, image);
        found
            .first()
            .map(|it| (it.part.clone(), it.fitting.clone()))
    };
    let unknown = |word: &str, near: &[&str]| {
        Some((
            word.to_owned(),
            near.iter().map(|it| (*it).to_owned()).collect(),
        ))
    };
    for valid in [
        "",
        "all",
        "+dynamo",
        "dynamo, -inductor,graph_breaks",
        "+some.module",
        "-all",
    ] {
        assert_eq!(named(valid, &torch("2.8.0")), None, "{valid}");
    }
    assert_eq!(
        named("+dynmo", &torch("2.8.0")),
        unknown("dynmo", &["dynamo"])
    );
    assert_eq!(named("dist_c10d", &torch("2.3.1")), None);
    assert_eq!(
        named("dist_c10d", &torch("2.4.1")),
        unknown("dist_c10d", &[])
    );
    assert_eq!(named("inductor_metrics", &torch("2.8.0")), None);
    assert!(named("inductor_metrics", &torch("2.7.1")).is_some());
    assert_eq!(named("help", &torch("2.8.0")), unknown("help", &[]));
    assert_eq!(named("dynamo,", &torch("2.8.0")), unknown("", &[]));
    assert_eq!(
        named("dynamo;guards", &torch("2.8.0")),
        unknown("dynamo;guards", &[])
    );
    // NVIDIA's builds are before a release: what some release knows is no fault.
    assert_eq!(
        named("dist_c10d", &torch("2.9.0a0+145a3a7bda.nv25.10")),
        None
    );
    let with_module = Image {
        modules: vec!["mymodel".to_owned()],
        ..torch("2.8.0")
    };
    assert_eq!(named("mymodel", &with_module), None);
    assert!(named("mymodel", &torch("2.8.0")).is_some());
}

/// As jaxlib 0.4.38, 0.6.2 and 0.10.2 answered.
#[test]
fn flags_of_xla_are_those_of_the_release() {
    let named = |value: &str, release: &str| {
        let image = with_distributions(&[("jax", release), ("jaxlib", release)]);
        faults("XLA_FLAGS", value, &image)
            .first()
            .map(|it| it.part.clone())
    };
    for release in ["0.4.38", "0.6.2", "0.10.2"] {
        assert_eq!(named("--xla_gpu_autotune_level=4", release), None);
        assert_eq!(named("flags.txt", release), None);
        let two = "--xla_force_host_platform_device_count=8 --xla_gpu_x=2";
        assert_eq!(named(two, release).as_deref(), Some("--xla_gpu_x"));
        let removed = "--xla_gpu_enable_async_all_reduce=true";
        assert!(named(removed, release).is_some());
    }
    let softmax = "--xla_gpu_enable_triton_softmax_fusion=true";
    assert_eq!(named(softmax, "0.4.38"), None);
    assert!(named(softmax, "0.6.2").is_some());
    assert!(named(softmax, "0.10.2").is_some());
}

#[test]
fn a_platform_needs_its_plugin() {
    let fails = |value: &str, distributions: &[(&str, &str)], modules: &[&str]| {
        let image = Image {
            modules: modules.iter().map(|it| (*it).to_owned()).collect(),
            ..with_distributions(distributions)
        };
        let found = faults("JAX_PLATFORMS", value, &image);
        found.iter().any(|it| it.effect == Effect::Fails)
    };
    let cpu = [("jax", "0.6.2")];
    assert!(fails("cuda", &cpu, &[]));
    assert!(fails("cpu,cuda", &cpu, &[]));
    assert!(!fails("cpu", &cpu, &[]));
    assert!(!fails("cuda", &cpu, &["jax_plugins"]));
    let gpu = [("jax", "0.6.2"), ("jax-cuda12-plugin", "0.6.2")];
    assert!(!fails("cuda", &gpu, &["jax_plugins"]));
    assert!(fails("tpu", &gpu, &["jax_plugins"]));
    assert!(!fails("tpu", &gpu, &["jax_plugins", "libtpu"]));
    assert!(fails("rocm,cuda", &gpu, &["jax_plugins"]));
    assert!(!fails(
        "rocm,cuda",
        &gpu,
        &["jax_plugins", "jax_rocm7_plugin"]
    ));
    assert!(!fails("rocm", &[("jax", "0.6.2")], &["jax_plugins"]));
}

/// In a Dockerfile, any module may be there.
#[test]
fn what_an_unknown_package_would_bring_is_no_fault() {
    let nothing = Image {
        modules: vec!["jax_plugins".to_owned(), "libtpu".to_owned()],
        ..Image::default()
    };
    for platform in ["cuda", "tpu"] {
        let found = settings().faults_of("JAX_PLATFORMS", platform, &nothing);
        assert_eq!(found, [], "{platform}");
    }
}

#[test]
fn a_file_is_no_directory_for_a_cache() {
    let mut image = with_distributions(&[("triton", "3.4.0"), ("cupy-cuda12x", "13.6.0")]);
    assert_eq!(faults("TRITON_CACHE_DIR", "/cache", &image), []);
    image.files_in_place = [("TRITON_CACHE_DIR".to_owned(), "/cache".to_owned())].into();
    let found = faults("TRITON_CACHE_DIR", "/cache/triton", &image);
    assert_eq!(
        (found[0].problem, found[0].part.as_str()),
        (Problem::File, "/cache")
    );
    assert_eq!(faults("CUPY_CACHE_DIR", "/cache", &image), []);
}

#[test]
fn limits_of_cupy_are_numbers() {
    let cupy = with_distributions(&[("cupy-cuda12x", "13.6.0")]);
    for valid in [
        "1073741824",
        "80%",
        "12.5%",
        " 1_000 ",
        "0%",
        "100.0%",
        "1e1%",
    ] {
        assert_eq!(faults("CUPY_GPU_MEMORY_LIMIT", valid, &cupy), [], "{valid}");
    }
    for wrong in ["", "8GB", "1.5", "200%", "101%", "80 percent", "x%"] {
        assert_eq!(
            faults("CUPY_GPU_MEMORY_LIMIT", wrong, &cupy).len(),
            1,
            "{wrong}"
        );
    }
    assert_eq!(
        faults("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM", "1", &cupy),
        []
    );
    assert_eq!(
        faults("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM", "true", &cupy).len(),
        1
    );
}
