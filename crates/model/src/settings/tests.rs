#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::{Effect, Fault, Installed, Problem, Settings};
use crate::knowledge;

mod names;

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
    let has_plugin = pairs.clone().any(|(name, _)| name.starts_with("jax-cuda"));
    let plugins = has_plugin.then(|| "jax_plugins".to_owned());
    Image {
        modules: plugins.into_iter().collect(),
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
        ("JAX_PLATFORMS", "CUDA", &jax, "the first operation"),
        ("JAX_PLATFORMS", "cuda, cpu", &jax, "the first operation"),
        ("JAX_PLATFORMS", "cuda13", &jax, "the first operation"),
        ("JAX_PLATFORM_NAME", "cuda:0", &jax, "the first operation"),
        ("JAX_PLATFORM_NAME", "gpu,cpu", &jax, "the first operation"),
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
        ("JAX_PLATFORMS", "xpu", &jax),
        ("JAX_PLATFORM_NAME", "GPU", &jax),
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

proptest::proptest! {
    #[test]
    fn any_value_is_judged(value in "[a-z_0-9:,\\[\\]> .+-]{0,40}") {
        settings().faults_of("PYTORCH_ALLOC_CONF", &value, &with_distributions(&[]));
        settings().faults_of("TORCH_LOGS", &value, &with_distributions(&[]));
        settings().faults_of("XLA_FLAGS", &format!("-{value}"), &with_distributions(&[]));
    }
}
