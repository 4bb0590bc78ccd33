//! The stack of a real image: the wheels of torch 2.8.0+cu128 over a Debian root.
//!
//! `IMGCHECK_REAL_SITE` names a directory that `pip install --target` made of torch 2.8.0 with all it requires, and
//! `IMGCHECK_REAL_ROOT` a Debian bookworm root with python3. Without them the test is skipped, unless
//! `IMGCHECK_REQUIRE_REAL=1` makes that a failure.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use imgcheck::elf::Depth;
use imgcheck::image::RootFilesystem;
use imgcheck::layer::{self, EntryKind, LayerFacts, Wanted};
use imgcheck::source::{LayerBlob, LayerData};
use imgcheck::stack::{self, Catalogue, Component, EvidenceKind, Stack};
use oci_spec::image::ImageConfiguration;

const SITE: &str = "usr/local/lib/python3.11/site-packages";

fn directory(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_dir());
    if found.is_none() {
        let required = std::env::var("IMGCHECK_REQUIRE_REAL").is_ok_and(|value| value == "1");
        assert!(
            !required,
            "{variable} must name a directory (see the top of this file)"
        );
        eprintln!("skipped: {variable} names no directory (see the top of this file)");
    }
    found
}

fn scan(path: PathBuf) -> LayerFacts {
    let blob = LayerBlob {
        diff_id: String::new(),
        digest: None,
        size: 0,
        data: LayerData::Directory(path),
    };
    layer::scan(&blob, &Wanted::builtin(Depth::Default).unwrap(), &|_| {}).unwrap()
}

/// The facts of a directory as those of a layer that has it at another place.
fn placed(mut facts: LayerFacts, prefix: &str) -> LayerFacts {
    for entry in &mut facts.entries {
        entry.path = format!("{prefix}/{}", entry.path);
        if let EntryKind::HardLink(target) = &mut entry.kind {
            *target = format!("{prefix}/{target}");
        }
    }
    facts
}

fn loaded<'s>(stack: &'s Stack, name: &str) -> &'s Component {
    let mut found = stack
        .components
        .iter()
        .filter(|component| component.name == name);
    let first = found.find(|component| component.loaded);
    first.unwrap_or_else(|| panic!("no {name} is loaded"))
}

/// The result of a computation, and the shortest of ten times it took.
fn fastest<T>(compute: impl Fn() -> T) -> (T, Duration) {
    let mut times = (0..10).map(|_| {
        let start = Instant::now();
        (compute(), start.elapsed())
    });
    let first = times.next().unwrap();
    times.fold(
        first,
        |best, next| if next.1 < best.1 { next } else { best },
    )
}

/// Shows the stack to whoever runs the test with `--nocapture`.
fn print(stack: &Stack) {
    for component in &stack.components {
        eprintln!(
            "{} {:14} {:22} {:?} {}\n    {:?}",
            if component.loaded { "*" } else { " " },
            component.name,
            component.version,
            component.layer,
            component.path,
            component.details,
        );
        for evidence in &component.evidence {
            eprintln!(
                "      {:?} {} {} ({})",
                evidence.kind, evidence.value, evidence.path, evidence.detail
            );
        }
    }
    eprintln!("{:?} {:?}", stack.machines, stack.gpu.torch);
}

#[test]
fn torch_2_8_over_debian() {
    let (Some(site), Some(root)) = (
        directory("IMGCHECK_REAL_SITE"),
        directory("IMGCHECK_REAL_ROOT"),
    ) else {
        return;
    };
    let layers = [scan(root), placed(scan(site), SITE)];
    let catalogue = Catalogue::builtin().unwrap();
    let (filesystem, merging) = fastest(|| RootFilesystem::merge(&layers));
    let (stack, reading) =
        fastest(|| stack::read(&filesystem, &ImageConfiguration::default(), &catalogue));
    let entries: usize = layers.iter().map(|layer| layer.entries.len()).sum();
    eprintln!("{entries} entries: merge {merging:?}, stack {reading:?} (best of 10)");
    print(&stack);

    // By the names of the wheels that were installed.
    for (name, version) in [
        ("torch", "2.8.0+cu128"),
        ("triton", "3.4.0"),
        ("cuda-runtime", "12.8"),
        ("cudnn", "9.10.2.21"),
        ("nccl", "2.27.3"),
        ("cublas", "12.8.4.1"),
        ("cublaslt", "12.8.4.1"),
        ("cufft", "11.3.3.83"),
        ("curand", "10.3.9.90"),
        ("cusolver", "11.7.3.90"),
        ("cusparse", "12.5.8.93"),
        ("cusparselt", "0.7.1"),
        ("nvrtc", "12.8.93"),
        ("nvjitlink", "12.8.93"),
        ("cupti", "12.8.90"),
        ("nvtx", "12.8.90"),
        ("python", "3.11.2"),
        ("glibc", "2.36"),
        ("libstdc++", "3.4.30"),
        ("os", "debian12"),
    ] {
        assert_eq!(loaded(&stack, name).version, version, "{name}");
    }
    let torch = &loaded(&stack, "torch").details;
    for (detail, value) in [
        ("build", "cuda"),
        ("cuda", "12.8"),
        ("compiled-cuda", "12.8"),
        ("compiled-cudnn", "9.8.0"),
        ("compiled-nccl", "2.27.3"),
    ] {
        assert_eq!(torch[detail], value, "{detail}");
    }
    let strongest = &loaded(&stack, "cudnn").evidence[0];
    assert_eq!(
        (strongest.kind, strongest.value.as_str()),
        (EvidenceKind::Code, "9.10.2")
    );
    let coverage = stack.gpu.torch.as_ref().unwrap();
    assert_eq!(
        coverage.sass,
        [
            "sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"
        ]
    );
    assert!(coverage.ptx.is_empty());
    for name in ["python", "glibc"] {
        let kind = loaded(&stack, name).evidence[0].kind;
        assert_eq!(kind, EvidenceKind::String, "{name}");
    }
    assert_eq!(stack.machines.len(), 1);
    assert!(
        stack
            .components
            .iter()
            .all(|component| !component.version.is_empty())
    );
}
