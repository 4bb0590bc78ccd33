//! Small made-up images, and what their processes do.

#![allow(clippy::unwrap_used)]

use oci_spec::image::ImageConfiguration;

use super::facts::{LoaderFacts, ProcessFacts};
use super::{Knowledge, Programs};
use crate::elf::ElfFacts;
use crate::elf::facts::{Bound, Identity, Import};
use crate::image::RootFilesystem;
use crate::launch::{Launch, Overlay};
use crate::layer::{Content, Entry, EntryKind, LayerFacts};
use crate::loader::Bounds;
use crate::stack::{self, Catalogue};

const SITE: &str = "usr/local/lib/python3.11/site-packages";

/// An image under construction.
#[derive(Default)]
struct Sample(LayerFacts);

fn elf(needed: &[&str]) -> ElfFacts {
    ElfFacts {
        class: 64,
        machine: 62,
        object_type: 3,
        needed: needed.iter().map(|name| (*name).to_owned()).collect(),
        ..ElfFacts::default()
    }
}

fn symbol(name: &str) -> Import {
    Import {
        name: name.to_owned(),
        version: None,
        weak: false,
        bound: Bound::default(),
    }
}

impl Sample {
    /// Python 3.11 with ctypes.
    fn python() -> Self {
        let program = ElfFacts {
            interpreter: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
            ..elf(&[])
        };
        Sample::default()
            .file("usr/local/bin/python3.11", program)
            .link("usr/local/bin/python3", "python3.11")
            .file("lib64/ld-linux-x86-64.so.2", elf(&[]))
            .library(
                "usr/local/lib/python3.11/lib-dynload",
                "_ctypes.cpython-311-x86_64-linux-gnu.so",
                &[],
            )
    }

    fn entry(mut self, path: &str, kind: EntryKind) -> Self {
        self.0.entries.push(Entry {
            path: path.to_owned(),
            kind,
            size: 4096,
            mode: 0o755,
        });
        self
    }

    fn file(self, path: &str, elf: ElfFacts) -> Self {
        self.entry(path, EntryKind::File(Content::Elf(Box::new(elf))))
    }

    fn library(self, directory: &str, name: &str, needed: &[&str]) -> Self {
        let soname = Some(name.to_owned());
        let elf = ElfFacts {
            soname,
            ..elf(needed)
        };
        self.file(&format!("{directory}/{name}"), elf)
    }

    fn link(self, path: &str, target: &str) -> Self {
        self.entry(path, EntryKind::Symlink(target.to_owned()))
    }

    fn text(self, path: &str, text: &str) -> Self {
        self.entry(path, EntryKind::File(Content::Text(text.to_owned())))
    }

    fn package(self, name: &str, version: &str) -> Self {
        let path = format!("{SITE}/{name}-{version}.dist-info/METADATA");
        self.text(&path, &format!("Name: {name}\nVersion: {version}\n\n"))
    }

    /// PyTorch 2.8 whose libraries look for CUDA in NVIDIA's wheels.
    fn torch(self) -> Self {
        let lib = format!("{SITE}/torch/lib");
        let rpath = |needed: &[&str]| ElfFacts {
            rpath: Some("$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN".to_owned()),
            ..elf(needed)
        };
        let module = ElfFacts {
            rpath: Some("$ORIGIN/lib".to_owned()),
            ..elf(&["libtorch_python.so"])
        };
        let version = "__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\n";
        self.package("torch", "2.8.0")
            .text(&format!("{SITE}/torch/version.py"), version)
            .file(
                &format!("{lib}/libtorch_global_deps.so"),
                rpath(&["libcudart.so.12"]),
            )
            .file(
                &format!("{lib}/libtorch_python.so"),
                rpath(&["libtorch_cuda.so"]),
            )
            .file(&format!("{lib}/libtorch_cuda.so"), rpath(&[]))
            .file(
                &format!("{SITE}/torch/_C.cpython-311-x86_64-linux-gnu.so"),
                module,
            )
    }

    fn wheel(self, folder: &str, name: &str) -> Self {
        self.library(&format!("{SITE}/nvidia/{folder}/lib"), name, &[])
    }

    fn facts(&self, config: &str) -> LoaderFacts {
        self.facts_with(config, &Overlay::default())
    }

    fn facts_with(&self, config: &str, overlay: &Overlay) -> LoaderFacts {
        let root = RootFilesystem::merge([&self.0]);
        let text = format!(
            r#"{{"architecture": "amd64", "os": "linux", "config": {config}, "rootfs": {{"type": "layers", "diff_ids": []}}}}"#
        );
        let config = ImageConfiguration::from_reader(text.as_bytes()).unwrap();
        let launch = Launch::of(&root, &config, overlay);
        let stack = stack::read(
            &root,
            &config,
            &launch,
            &Catalogue::builtin().unwrap(),
            &Bounds::default(),
        )
        .unwrap();
        let knowledge = Knowledge::builtin().unwrap();
        let programs = Programs::of(&root, &launch, &stack, &knowledge, &Bounds::default());
        programs.model().unwrap().facts()
    }
}

fn names(process: &ProcessFacts) -> Vec<&str> {
    let objects = process.objects.iter();
    objects
        .map(|object| object.path.rsplit('/').next().unwrap())
        .collect()
}

#[test]
fn torch_preloads_the_compilers_of_the_wheels() {
    let facts = Sample::python()
        .torch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .wheel("cuda_nvrtc", "libnvrtc.so.12")
        .wheel("nvjitlink", "libnvJitLink.so.12")
        .facts("{}");
    let process = &facts.processes[0];
    assert_eq!((process.name.as_str(), process.main), ("python", true));
    assert_eq!(
        names(process),
        [
            "python3.11",
            "ld-linux-x86-64.so.2",
            "_ctypes.cpython-311-x86_64-linux-gnu.so",
            "libtorch_global_deps.so",
            "libcudart.so.12",
            "libnvrtc.so.12",
            "libnvJitLink.so.12",
            "_C.cpython-311-x86_64-linux-gnu.so",
            "libtorch_python.so",
            "libtorch_cuda.so"
        ]
    );
    let cudart = &process.objects[4];
    assert_eq!(cudart.reason, "DT_RPATH of libtorch_global_deps.so");
    assert_eq!((cudart.found_by.as_str(), cudart.global), ("rpath", true));
    assert_eq!(
        (cudart.directory.as_str(), cudart.cuda.as_str()),
        ("nvidia/cuda_runtime", "12")
    );
    assert_eq!(process.objects[5].requested_by, "");
    assert!(process.imports[0].succeeds);
    assert!(
        facts
            .missing
            .iter()
            .all(|missing| missing.context.when == "use")
    );
}

#[test]
fn a_missing_library_is_told_once_and_as_the_program_shows_it() {
    let facts = Sample::python()
        .torch()
        .package("torchvision", "0.23.0")
        .library(&format!("{SITE}/torchvision"), "_C.so", &["libtorch.so"])
        .facts("{}");
    let [missing] = facts.missing.as_slice() else {
        panic!("{:?}", facts.missing);
    };
    assert_eq!(missing.library, "libcudart.so.12");
    assert_eq!(missing.context.package, "torch");
    assert!(missing.context.first && missing.context.main && !missing.context.optional);
    assert_eq!(
        missing.context.message,
        "libcudart.so.12: cannot open shared object file: No such file or directory"
    );
    // The fallback looks for all wheels, and misses the first of its list.
    assert_eq!(
        missing.context.shown,
        "ValueError: libcublas.so.*[0-9] not found in the system path"
    );
    let succeeds: Vec<bool> = facts.processes[0]
        .imports
        .iter()
        .map(|import| import.succeeds)
        .collect();
    assert_eq!(succeeds, [false, false]);
}

#[test]
fn a_failed_extension_is_told_in_the_words_of_its_package() {
    let extension = ElfFacts {
        imports: vec![symbol("_ZN3c104cuda9SetDeviceEa")],
        ..elf(&[])
    };
    let facts = Sample::python()
        .torch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .package("torchvision", "0.22.1")
        .file(&format!("{SITE}/torchvision/_C.so"), extension)
        .facts("{}");
    let undefined = &facts.undefined_symbols[0];
    assert_eq!(
        undefined.context.shown,
        "RuntimeError: operator torchvision::nms does not exist"
    );
    assert_eq!(
        undefined.symbols[0].demangled,
        "c10::cuda::SetDevice(signed char)"
    );
    assert_eq!(undefined.object.directory, "torchvision");
}

#[test]
fn what_needs_the_driver_loads_without_it() {
    let extension = ElfFacts {
        imports: vec![symbol("cuInit")],
        ..elf(&["libcuda.so.1"])
    };
    let facts = Sample::python()
        .torch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .package("flash-attn", "2.8.0")
        .text(&format!("{SITE}/flash_attn/__init__.py"), "")
        .file(&format!("{SITE}/flash_attn_2_cuda.abi3.so"), extension)
        .facts("{}");
    let imports = &facts.processes[0].imports;
    assert!(imports.len() == 2 && imports.iter().all(|import| import.succeeds));
    assert!(facts.missing.is_empty() && facts.undefined_symbols.is_empty());
}

/// The wheels of TensorFlow serve CPUs and GPUs alike; on an image for CPUs no GPU library is missing.
#[test]
fn first_uses_of_a_gpu_count_only_where_there_is_cuda() {
    let sample = Sample::python()
        .torch()
        .wheel("cuda_runtime", "libcudart.so.12");
    let misses = |facts: LoaderFacts| {
        let mut missing = facts.missing.iter();
        missing.any(|it| it.library == "libtorch_cuda_linalg.so")
    };
    let asks = |devices: &str| format!(r#"{{"Env": ["NVIDIA_VISIBLE_DEVICES={devices}"]}}"#);
    assert!(sample.facts("{}").missing.is_empty());
    assert!(!misses(sample.facts(&asks("void"))));
    assert!(misses(sample.facts(&asks("all"))));
    for library in ["cublas", "cudnn"] {
        let gpu = ElfFacts {
            identity: Some(Identity {
                library: library.to_owned(),
                ..Identity::default()
            }),
            ..elf(&[])
        };
        let sample = Sample::python()
            .torch()
            .wheel("cuda_runtime", "libcudart.so.12");
        let path = format!("/usr/lib/lib{library}.so");
        assert!(misses(sample.file(&path, gpu).facts("{}")), "{library}");
    }
}

/// Two Pythons in one prefix, each with its own PyTorch, of which that of 3.13 is broken.
#[test]
fn the_process_is_that_of_the_python_that_is_named() {
    let program = ElfFacts {
        interpreter: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
        ..elf(&[])
    };
    let site = SITE.replace("3.11", "3.13");
    let sample = Sample::python()
        .torch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .file("usr/local/bin/python3.13", program)
        .text(
            &format!("{site}/torch-2.9.0.dist-info/METADATA"),
            "Name: torch
Version: 2.9.0

",
        )
        .library(
            &format!("{site}/torch"),
            "_C.cpython-313-x86_64-linux-gnu.so",
            &["libgone.so"],
        );
    let of = |command: &str| sample.facts(&format!(r#"{{"Cmd": ["{command}", "app.py"]}}"#));
    for command in ["python3", "python3.11", "/usr/local/bin/python3.11"] {
        let facts = of(command);
        assert_eq!(facts.processes[0].executable, "/usr/local/bin/python3.11");
        assert_eq!(facts.missing.len(), 1, "{command}");
        let context = &facts.missing[0].context;
        assert_eq!(context.process, "python (/usr/local with Python 3.13)");
        assert!(!context.main);
    }
    let facts = of("python3.13");
    assert_eq!(facts.processes[0].executable, "/usr/local/bin/python3.13");
    assert_eq!(facts.missing[0].library, "libgone.so");
    assert!(facts.missing[0].context.main);
}

#[test]
fn nothing_is_said_of_a_package_whose_pytorch_is_not_modelled() {
    let facts = Sample::python()
        .package("torchvision", "0.13.0")
        .file(
            &format!("{SITE}/torchvision/_C.so"),
            elf(&["libc10.so", "libtorch.so"]),
        )
        .facts("{}");
    assert!(facts.missing.is_empty(), "{:?}", facts.missing);
    assert!(facts.processes.iter().all(|it| it.imports.is_empty()));
}

#[test]
fn a_script_sets_the_library_path_and_shadows_a_wheel() {
    let facts = Sample::python()
        .torch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .library("opt/old", "libtorch_cuda.so", &[])
        .text(
            "entrypoint.sh",
            "#!/bin/sh\nexport LD_LIBRARY_PATH=/opt/old:$LD_LIBRARY_PATH\nexec \"$@\"\n",
        )
        .facts(r#"{"Entrypoint": ["/entrypoint.sh"]}"#);
    assert_eq!(facts.processes[0].library_path_from, "/entrypoint.sh");
    // DT_RPATH comes before it.
    assert!(facts.shadowed.is_empty());
}

#[test]
fn an_overlay_changes_what_is_loaded() {
    let torch_cuda = ElfFacts {
        runpath: Some("$ORIGIN/../../nvidia/cudnn/lib".to_owned()),
        ..elf(&["libcudnn.so.9"])
    };
    let sample = Sample::python()
        .torch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .wheel("cudnn", "libcudnn.so.9")
        .file(&format!("{SITE}/torch/lib/libcudnn_user.so"), torch_cuda)
        .package("torchvision", "0.23.0")
        .file(
            &format!("{SITE}/torchvision/_C.so"),
            ElfFacts {
                runpath: Some("$ORIGIN/../torch/lib".to_owned()),
                ..elf(&["libcudnn_user.so"])
            },
        )
        .library("opt/cudnn-9.1", "libcudnn.so.9", &[]);
    assert!(sample.facts("{}").shadowed.is_empty());
    let overlay = Overlay {
        env: [("LD_LIBRARY_PATH".to_owned(), "/opt/cudnn-9.1".to_owned())].into(),
        ..Overlay::default()
    };
    let facts = sample.facts_with("{}", &overlay);
    let [shadowed] = facts.shadowed.as_slice() else {
        panic!("{:?}", facts.shadowed);
    };
    assert_eq!(shadowed.loaded.path, "/opt/cudnn-9.1/libcudnn.so.9");
    assert_eq!(shadowed.reason, "LD_LIBRARY_PATH");
    assert_eq!(facts.processes[0].library_path_from, "overlay");
}

#[test]
fn programs_of_gpu_libraries_are_processes_and_tools_are_not() {
    let program = |needed: &[&str]| ElfFacts {
        interpreter: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
        ..elf(needed)
    };
    let facts = Sample::python()
        .file("opt/server/bin/server", program(&["libserver.so"]))
        .library("opt/server/lib", "libserver.so", &["libcudart.so.12"])
        .file("usr/local/bin/nvcc", program(&["libcudart.so.12"]))
        .file("usr/bin/other", program(&["libc.so.6"]))
        .facts(r#"{"Cmd": ["/opt/server/bin/server"]}"#);
    let [process] = facts.processes.as_slice() else {
        panic!("{:?}", facts.processes);
    };
    assert_eq!(process.name, "/opt/server/bin/server");
    assert!(process.main);
    assert_eq!(facts.missing[0].library, "libserver.so");
    assert_eq!(facts.missing[0].context.when, "start");
    assert_eq!(facts.missing[0].elsewhere, ["/opt/server/lib/libserver.so"]);
}

#[test]
fn frameworks_that_are_used_alone_have_a_process_of_their_own() {
    let facts = Sample::python()
        .torch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .package("jaxlib", "0.6.2")
        .library(&format!("{SITE}/jaxlib"), "_jax.so", &[])
        .facts("{}");
    let names: Vec<&str> = facts
        .processes
        .iter()
        .map(|process| process.name.as_str())
        .collect();
    assert_eq!(names, ["python", "python (jax)"]);
}
