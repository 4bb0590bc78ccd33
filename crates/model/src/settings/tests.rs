#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::{Effect, Fault, Installed, Problem, Settings};
use crate::knowledge;

/// An image with one package.
#[derive(Default)]
struct Image {
    component: (String, String, String),
    distributions: BTreeMap<String, String>,
    modules: Vec<String>,
    files_in_place: BTreeMap<String, String>,
}

impl Installed for Image {
    fn component(&self, name: &str) -> Option<(&str, Option<&str>)> {
        let (component, version, build) = &self.component;
        (name == component).then_some((version, Some(build)))
    }

    fn distribution(&self, name: &str) -> Option<&str> {
        self.distributions.get(name).map(String::as_str)
    }

    fn may_be_module(&self, _: &str, word: &str) -> bool {
        self.modules.iter().any(|it| it == word)
    }

    fn file_in_place(&self, variable: &str) -> Option<&str> {
        self.files_in_place.get(variable).map(String::as_str)
    }
}

fn torch(version: &str) -> Image {
    Image {
        component: ("torch".into(), version.into(), "cuda".into()),
        ..Image::default()
    }
}

fn with_distributions(distributions: &[(&str, &str)]) -> Image {
    let pairs = distributions.iter();
    Image {
        distributions: pairs
            .map(|(name, version)| ((*name).into(), (*version).into()))
            .collect(),
        ..Image::default()
    }
}

fn settings() -> Settings {
    knowledge::settings().unwrap()
}

fn faults(variable: &str, value: &str, image: &Image) -> Vec<Fault> {
    let environment = [(variable.to_owned(), value.to_owned())].into();
    settings().faults(&environment, image)
}

/// What some releases refuse and the table does not say: a number above 2^31, a colon at the end, and two sizes that contradict each other.
const NOT_JUDGED: [&str; 4] = [
    "max_split_size_mb:99999999999999",
    "max_split_size_mb:128:",
    "large_segment_size_mb:64,max_split_size_mb:32",
    "max_split_size_mb:32,large_segment_size_mb:64",
];

/// What the allocators of twenty releases did, by `testdata/recipes/allocator_settings.py`.
#[test]
fn the_allocator_refuses_what_its_library_refuses() {
    let table = include_str!("../../../../testdata/allocator-settings.csv");
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let releases = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let settings = settings();
    let mut wrong = Vec::new();
    for row in &rows {
        let value = &row[0];
        for (release, outcome) in releases.iter().zip(row).skip(1) {
            let environment = [("PYTORCH_CUDA_ALLOC_CONF".to_owned(), value.to_owned())].into();
            let found = settings.faults(&environment, &torch(release));
            let said = match found.first() {
                None => "ok",
                Some(fault) if fault.when.contains("import") => "aborts",
                Some(_) => "fails",
            };
            let expected = if outcome == "crashes" {
                "fails"
            } else {
                outcome
            };
            let is_missed = said == "ok" && NOT_JUDGED.contains(&value);
            if said != expected && !is_missed {
                wrong.push(format!("{value} {release}: {said}, not {outcome}"));
            }
        }
    }
    assert!(rows.len() > 100);
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn what_broke_on_an_h100_is_named() {
    let cupy = with_distributions(&[("cupy-cuda13x", "14.2.0")]);
    let jax = with_distributions(&[("jax", "0.11.2"), ("jax-cuda13-plugin", "0.11.2")]);
    let torch = torch("2.11.0+cu130");
    for (variable, value, image, when) in [
        ("CUDA_DEVICE_ORDER", "PCI", &torch, "the first use of CUDA"),
        ("CUDA_DEVICE_ORDER", "", &torch, "the first use of CUDA"),
        (
            "CUDA_DEVICE_ORDER",
            " PCI_BUS_ID",
            &cupy,
            "the first use of a GPU",
        ),
        (
            "CUDA_VISIBLE_DEVICES",
            "0,0",
            &torch,
            "the first use of CUDA",
        ),
        ("TORCH_DISTRIBUTED_DEBUG", "foo", &torch, "`import torch`"),
        (
            "TORCH_NCCL_BLOCKING_WAIT",
            "x",
            &torch,
            "`init_process_group` with NCCL",
        ),
        (
            "TORCH_NCCL_ASYNC_ERROR_HANDLING",
            "x",
            &torch,
            "`init_process_group` with NCCL",
        ),
        (
            "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC",
            "x",
            &torch,
            "`init_process_group` with NCCL",
        ),
        (
            "TORCHINDUCTOR_COMPILE_THREADS",
            "x",
            &torch,
            "the first `torch.compile`",
        ),
        (
            "TORCHINDUCTOR_WORKER_START",
            "foo",
            &torch,
            "the first `torch.compile`",
        ),
        ("JAX_ENABLE_X64", "maybe", &jax, "`import jax`"),
        ("JAX_DEFAULT_MATMUL_PRECISION", "foo", &jax, "`import jax`"),
        ("JAX_PLATFORMS", "gpu", &jax, "the first operation"),
        ("CUPY_ACCELERATORS", "foo", &cupy, "`import cupy`"),
    ] {
        let found = faults(variable, value, image);
        let found: Vec<(Effect, &str)> = found
            .iter()
            .map(|it| (it.effect, it.when.as_str()))
            .collect();
        assert_eq!(found, [(Effect::Fails, when)], "{variable}={value}");
    }
    for (variable, value) in [
        ("CUDA_DEVICE_ORDER", "pci_bus_id"),
        ("JAX_PLATFORMS", "cpu"),
        ("CUDA_VISIBLE_DEVICES", "0,0"),
    ] {
        assert_eq!(
            faults(variable, value, &jax)[0].effect,
            Effect::Cpu,
            "{variable}={value}"
        );
    }
}

/// What ran on the same H100.
#[test]
fn what_broke_nothing_is_silent() {
    let cupy = with_distributions(&[("cupy-cuda13x", "14.2.0")]);
    let jax = with_distributions(&[("jax", "0.11.2"), ("jax-cuda13-plugin", "0.11.2")]);
    let torch = torch("2.11.0+cu130");
    for (variable, value, image) in [
        ("CUDA_DEVICE_ORDER", "PCI_BUS_ID", &torch),
        ("CUDA_DEVICE_ORDER", "FASTEST_FIRST", &jax),
        ("CUDA_VISIBLE_DEVICES", "0,1", &torch),
        ("CUDA_VISIBLE_DEVICES", "0,a", &torch),
        ("TORCH_DISTRIBUTED_DEBUG", "info", &torch),
        ("CUDA_MODULE_LOADING", "FOO", &torch),
        ("NCCL_ALGO", "foo", &torch),
        ("CUBLAS_WORKSPACE_CONFIG", "foo", &torch),
        ("JAX_ENABLE_X64", "1", &jax),
        ("JAX_PLATFORMS", "cuda,cpu", &jax),
        ("JAX_PLATFORMS", "", &jax),
        ("CUPY_ACCELERATORS", "cub,cutensor", &cupy),
    ] {
        assert_eq!(faults(variable, value, image), [], "{variable}={value}");
    }
}

#[test]
fn a_fault_says_what_to_write() {
    let fitting = |value: &str, version: &str| {
        let fault = faults("PYTORCH_CUDA_ALLOC_CONF", value, &torch(version)).remove(0);
        (
            fault.problem,
            fault.part,
            fault.option,
            fault.fitting.join(", "),
        )
    };
    let expected = |problem, part: &str, option: &str, fitting: &str| {
        (
            problem,
            part.to_owned(),
            option.to_owned(),
            fitting.to_owned(),
        )
    };
    assert_eq!(
        fitting("expandable_segment:True", "2.8.0"),
        expected(
            Problem::UnknownOption,
            "expandable_segment",
            "",
            "expandable_segments"
        )
    );
    assert_eq!(
        fitting("expandable_segments:true", "2.8.0"),
        expected(Problem::OptionValue, "true", "expandable_segments", "True")
    );
    assert_eq!(
        fitting("expandable_segments:0", "2.8.0"),
        expected(Problem::OptionValue, "0", "expandable_segments", "False")
    );
    assert_eq!(
        fitting("max_split_size_mb:16", "2.8.0"),
        expected(
            Problem::OptionValue,
            "16",
            "max_split_size_mb",
            "21 or more"
        )
    );
    assert_eq!(
        fitting("garbage_collection_threshold:80", "2.8.0"),
        expected(
            Problem::OptionValue,
            "80",
            "garbage_collection_threshold",
            "a number between 0 and 1"
        )
    );
    assert_eq!(
        fitting("max_split_size_mb=128", "2.11.0"),
        expected(Problem::Malformed, "max_split_size_mb=128", "", "")
    );
}

/// A key that only some releases know, for a version before a release, one after all that were tried, and an unknown one.
#[test]
fn other_versions_are_judged_by_all_releases() {
    let found = |value: &str, version: &str| {
        let found = faults("PYTORCH_CUDA_ALLOC_CONF", value, &torch(version));
        found.first().map(|fault| fault.certain)
    };
    assert_eq!(found("throw_on_cudamalloc_oom:True", "2.11.0"), Some(true));
    assert_eq!(found("throw_on_cudamalloc_oom:True", "2.11.0a0+git"), None);
    assert_eq!(found("throw_on_cudamalloc_oom:True", ""), None);
    assert_eq!(found("expandable_segment:True", "2.11.0a0+git"), Some(true));
    assert_eq!(found("expandable_segment:True", "2.99.0"), Some(false));
    assert_eq!(found("expandable_segment:True", "1.13.1"), None);
    let of_any = |value: &str, image: &Image| {
        settings()
            .faults_of("PYTORCH_CUDA_ALLOC_CONF", value, image)
            .len()
    };
    assert_eq!(
        of_any("expandable_segments:True", &with_distributions(&[])),
        0
    );
    assert_eq!(of_any("expandable_segments:True", &torch("2.0.1")), 1);
    assert_eq!(
        of_any("expandable_segments:true", &with_distributions(&[])),
        1
    );
    assert_eq!(
        settings()
            .faults_of("CUDA_DEVICE_ORDER", "PCI", &with_distributions(&[]))
            .len(),
        3
    );
}

/// What the libraries of 2.11.0 and 2.15.0 read if both are set.
#[test]
fn the_older_name_of_a_variable_counts() {
    let found = |old: &str, new: &str| {
        let environment = [
            ("PYTORCH_CUDA_ALLOC_CONF", old),
            ("PYTORCH_ALLOC_CONF", new),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        settings()
            .faults(&environment.into(), &torch("2.11.0"))
            .len()
    };
    assert_eq!(found("max_split_size_mb:128", "True"), 0);
    assert_eq!(found("foo:1", "max_split_size_mb:128"), 1);
}

#[test]
fn a_package_that_is_not_installed_is_silent() {
    let cpu = Image {
        component: ("torch".into(), "2.8.0+cpu".into(), "cpu".into()),
        ..Image::default()
    };
    assert_eq!(faults("CUDA_DEVICE_ORDER", "PCI", &cpu), []);
    let without_plugin = with_distributions(&[("jax", "0.11.2")]);
    assert_eq!(faults("JAX_PLATFORMS", "cpu", &without_plugin), []);
}

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
const NOT_JUDGED_ON_A_GPU: [(&str, &str); 5] = [
    ("XLA_FLAGS", "--xla_gpu_autotune_level=x"),
    ("JAX_PLATFORMS", "nosuch"),
    ("JAX_PLATFORMS", "rocm"),
    ("JAX_PLATFORM_NAME", "nosuch"),
    ("XLA_FLAGS", "--nosuch"),
];

/// What happened with each value on an H100, by `testdata/recipes/gpu_settings.py`.
#[test]
fn what_fails_on_a_gpu_is_named_and_nothing_else() {
    let table = include_str!("../../../../testdata/gpu-settings.csv");
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
    let cpu = with_distributions(&[("jax", "0.6.2")]);
    let gpu = with_distributions(&[("jax", "0.6.2"), ("jax-cuda12-plugin", "0.6.2")]);
    let fails = |value: &str, image: &Image| {
        let found = faults("JAX_PLATFORMS", value, image);
        found.iter().any(|it| it.effect == Effect::Fails)
    };
    assert!(fails("cuda", &cpu));
    assert!(fails("cpu,cuda", &cpu));
    assert!(!fails("cuda", &gpu));
    assert!(!fails("cpu", &cpu));
    assert!(fails("tpu", &gpu));
    let tpu = with_distributions(&[("jax", "0.6.2"), ("libtpu", "0.0.17")]);
    assert!(!fails("tpu", &tpu));
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

proptest::proptest! {
    #[test]
    fn any_value_is_judged(value in "[a-z_0-9:,\\[\\]> .+-]{0,40}") {
        settings().faults_of("PYTORCH_ALLOC_CONF", &value, &with_distributions(&[]));
        settings().faults_of("TORCH_LOGS", &value, &with_distributions(&[]));
        settings().faults_of("XLA_FLAGS", &format!("-{value}"), &with_distributions(&[]));
    }
}
