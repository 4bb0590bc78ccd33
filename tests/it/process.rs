//! What the processes of small images load.

use imgcheck::Overlay;
use imgcheck::internals::elf::ElfFacts;
use imgcheck::internals::elf::facts::{Bound, GpuCode, Import};
use imgcheck::internals::layer::{Content, EntryKind};
use imgcheck::internals::process::LoaderFacts;
use imgcheck::internals::process::facts::ProcessFacts;
use serde_json::json;
use testkit::ld_so_cache::old_format;

use crate::sample::{Image, LOADER, SITE, elf, identified, program};

fn symbol(name: &str) -> Import<'_> {
    Import {
        name: name.into(),
        version: None,
        weak: false,
        bound: Bound::default(),
    }
}

/// Python 3.11 with PyTorch 2.8.
fn pytorch() -> Image {
    Image::python().torch().package("torch", "2.8.0")
}

fn names(process: &ProcessFacts) -> Vec<&str> {
    let objects = process.objects.iter();
    objects
        .map(|object| object.path.rsplit('/').next().unwrap())
        .collect()
}

#[test]
fn torch_preloads_the_compilers_of_the_wheels() {
    let facts = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .wheel("cuda_nvrtc", "libnvrtc.so.12")
        .wheel("nvjitlink", "libnvJitLink.so.12")
        .loader();
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
fn a_missing_library_is_reported_once_with_the_message_of_the_program() {
    let facts = pytorch()
        .package("torchvision", "0.23.0")
        .library(&format!("{SITE}/torchvision"), "_C.so", &["libtorch.so"])
        .loader();
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
fn a_library_that_a_layer_removed_is_named_with_that_layer() {
    let cudart = format!("{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12");
    let facts = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .layer()
        .entry(&cudart, EntryKind::Whiteout)
        .loader();
    let missing = &facts.missing[0];
    let removed = missing.removed.as_ref().unwrap();
    assert!(removed.path.ends_with(&cudart), "{}", removed.path);
    assert_eq!(removed.layer, 1);
    assert_eq!(facts.layer_of(&removed.path), Some(1));
    assert!(!missing.needed_by.contains(".."), "{}", missing.needed_by);
}

#[test]
fn the_tree_keeps_what_a_failed_load_had_mapped() {
    let tree = pytorch().derive(&Overlay::default()).unwrap().tree;
    let process = &tree.processes[0];
    let mut unmapped = process.objects.iter().filter(|object| object.unmapped);
    let object = &unmapped.next().unwrap().facts;
    assert!(object.path.ends_with("/libtorch_global_deps.so"));
    assert_eq!(
        (object.package.as_str(), object.when.as_str()),
        ("torch", "import")
    );
    assert!(!process.objects[0].unmapped);
}

#[test]
fn a_failed_extension_is_reported_with_the_message_of_its_package() {
    let extension = ElfFacts {
        imports: [symbol("_ZN3c104cuda9SetDeviceEa")].into_iter().collect(),
        ..elf(&[])
    };
    let facts = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .package("torchvision", "0.22.1")
        .elf(&format!("{SITE}/torchvision/_C.so"), extension)
        .loader();
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
fn libraries_that_need_the_driver_load_without_it() {
    let extension = ElfFacts {
        imports: [symbol("cuInit")].into_iter().collect(),
        ..elf(&["libcuda.so.1"])
    };
    let facts = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .package("flash-attn", "2.8.0")
        .text(&format!("{SITE}/flash_attn/__init__.py"), "")
        .elf(&format!("{SITE}/flash_attn_2_cuda.abi3.so"), extension)
        .loader();
    let imports = &facts.processes[0].imports;
    assert!(imports.len() == 2 && imports.iter().all(|import| import.succeeds));
    assert!(facts.missing.is_empty() && facts.undefined_symbols.is_empty());
}

/// The wheels of TensorFlow serve CPUs and GPUs alike; on an image for CPUs no GPU library is missing.
#[test]
fn first_uses_of_a_gpu_count_only_where_there_is_cuda() {
    let sample = pytorch().wheel("cuda_runtime", "libcudart.so.12");
    let misses = |facts: LoaderFacts| {
        let mut missing = facts.missing.iter();
        missing.any(|it| it.library == "libtorch_cuda_linalg.so")
    };
    let with = |devices: &str| {
        let variable = format!("NVIDIA_VISIBLE_DEVICES={devices}");
        sample.clone().process(&[&variable], &[]).loader()
    };
    assert!(sample.loader().missing.is_empty());
    assert!(!misses(with("void")));
    assert!(misses(with("all")));
    for library in ["cublas", "cudnn"] {
        let gpu = identified(library, "", &[]);
        let sample = pytorch().wheel("cuda_runtime", "libcudart.so.12");
        let path = format!("/usr/lib/lib{library}.so");
        assert!(misses(sample.elf(&path, gpu).loader()), "{library}");
    }
}

/// Two Pythons in one prefix, each with its own PyTorch, of which that of 3.13 is broken.
#[test]
fn the_named_python_is_the_main_process() {
    let site = SITE.replace("3.11", "3.13");
    let sample = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .elf("usr/local/bin/python3.13", program(&[]))
        .distribution(&site, "torch", "2.9.0")
        .library(
            &format!("{site}/torch"),
            "_C.cpython-313-x86_64-linux-gnu.so",
            &["libgone.so"],
        );
    let of = |command: &str| sample.clone().command(&[command, "app.py"]).loader();
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
fn a_package_whose_pytorch_is_not_modeled_is_not_judged() {
    let facts = Image::python()
        .package("torchvision", "0.13.0")
        .elf(
            &format!("{SITE}/torchvision/_C.so"),
            elf(&["libc10.so", "libtorch.so"]),
        )
        .loader();
    assert!(facts.missing.is_empty(), "{:?}", facts.missing);
    assert!(facts.processes.iter().all(|it| it.imports.is_empty()));
}

#[test]
fn a_script_sets_the_library_path_and_shadows_a_wheel() {
    let facts = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .library("opt/old", "libtorch_cuda.so", &[])
        .text(
            "entrypoint.sh",
            "#!/bin/sh\nexport LD_LIBRARY_PATH=/opt/old:$LD_LIBRARY_PATH\nexec \"$@\"\n",
        )
        .config(json!({"Entrypoint": ["/entrypoint.sh"]}))
        .loader();
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
    let sample = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .wheel("cudnn", "libcudnn.so.9")
        .elf(&format!("{SITE}/torch/lib/libcudnn_user.so"), torch_cuda)
        .package("torchvision", "0.23.0")
        .elf(
            &format!("{SITE}/torchvision/_C.so"),
            ElfFacts {
                runpath: Some("$ORIGIN/../torch/lib".to_owned()),
                ..elf(&["libcudnn_user.so"])
            },
        )
        .library("opt/cudnn-9.1", "libcudnn.so.9", &[]);
    assert!(sample.loader().shadowed.is_empty());
    let overlay = Overlay {
        env: [("LD_LIBRARY_PATH".to_owned(), "/opt/cudnn-9.1".to_owned())].into(),
        ..Overlay::default()
    };
    let facts = sample.derive(&overlay).unwrap().loader;
    let [shadowed] = facts.shadowed.as_slice() else {
        panic!("{:?}", facts.shadowed);
    };
    assert_eq!(shadowed.loaded.path, "/opt/cudnn-9.1/libcudnn.so.9");
    assert_eq!(shadowed.reason, "LD_LIBRARY_PATH");
    assert_eq!(facts.processes[0].library_path_from, "overlay");
}

#[test]
fn programs_of_gpu_libraries_are_processes_and_tools_are_not() {
    let facts = Image::python()
        .elf("opt/server/bin/server", program(&["libserver.so"]))
        .library("opt/server/lib", "libserver.so", &["libcudart.so.12"])
        .elf("usr/local/bin/nvcc", program(&["libcudart.so.12"]))
        .elf("usr/bin/other", program(&["libc.so.6"]))
        .command(&["/opt/server/bin/server"])
        .loader();
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
    let facts = pytorch()
        .wheel("cuda_runtime", "libcudart.so.12")
        .package("jaxlib", "0.6.2")
        .library(&format!("{SITE}/jaxlib"), "_jax.so", &[])
        .loader();
    let names: Vec<&str> = facts
        .processes
        .iter()
        .map(|process| process.name.as_str())
        .collect();
    assert_eq!(names, ["python", "python (jax)"]);
}

/// PyTorch in a Python that needs `libx.so` from the default directories.
fn needing_x() -> Image {
    let python = program(&["libx.so"]);
    let image = pytorch().wheel("cuda_runtime", "libcudart.so.12");
    image.elf("usr/local/bin/python3.11", python)
}

fn on_hosts(facts: &LoaderFacts) -> Vec<(&str, bool, &str)> {
    let faults = facts.host_faults.iter();
    faults
        .map(|it| {
            (
                it.processor.as_str(),
                it.after_ldconfig,
                it.context.message.as_str(),
            )
        })
        .collect()
}

#[test]
fn a_broken_library_for_other_processors_fails_only_there() {
    let hwcaps = "usr/lib64/glibc-hwcaps";
    let whole = || needing_x().library("usr/lib64", "libx.so", &[]);
    for (level, expected) in [("x86-64-v4", 1), ("valgrind", 0)] {
        let facts = whole().empty(&format!("{hwcaps}/{level}/libx.so")).loader();
        assert_eq!(facts.host_faults.len(), expected, "{level}");
        assert!(facts.missing.iter().all(|it| it.library != "libx.so"));
    }
    let facts = whole()
        .empty(&format!("{hwcaps}/x86-64-v4/libx.so"))
        .loader();
    let message = format!("/{hwcaps}/x86-64-v4/libx.so: file too short");
    assert_eq!(on_hosts(&facts), [("x86-64-v4", false, message.as_str())]);
    assert_eq!(
        facts.host_faults[0].path,
        format!("/{hwcaps}/x86-64-v4/libx.so")
    );
    // On processors of the assumed level and above, it is a fault, and where it is none is known.
    let facts = whole()
        .empty(&format!("{hwcaps}/x86-64-v3/libx.so"))
        .loader();
    assert_eq!(facts.host_faults, []);
    assert_eq!(facts.missing[0].context.absent_on, ["x86-64-v2"]);
    // A library that only some processors find.
    let facts = needing_x()
        .library(&format!("{hwcaps}/x86-64-v3"), "libx.so", &[])
        .loader();
    let message = "libx.so: cannot open shared object file: No such file or directory";
    assert_eq!(on_hosts(&facts), [("x86-64-v2", false, message)]);
    let same = ["x86-64-v2", "x86-64-v3", "x86-64-v4"].map(|it| format!("{hwcaps}/{it}"));
    let all = same
        .iter()
        .fold(whole(), |image, it| image.library(it, "libx.so", &[]));
    assert_eq!(all.loader().host_faults, []);
}

#[test]
fn what_fails_everywhere_is_no_fault_of_some_hosts() {
    // The Python fails on all hosts, with a different library first.
    let facts = needing_x()
        .elf("usr/local/bin/python3.11", program(&["libx.so", "liby.so"]))
        .library("usr/lib64", "libx.so", &[])
        .empty("usr/lib64/glibc-hwcaps/x86-64-v4/libx.so")
        .loader();
    assert_eq!(on_hosts(&facts), []);
    let found = facts.missing.iter().find(|it| it.library == "liby.so");
    assert_eq!(found.unwrap().context.absent_on, [""; 0]);
}

#[test]
fn what_ldconfig_changes_is_played_with_and_without() {
    let bytes = |path: &str| EntryKind::File(Content::Bytes(old_format(&[("libx.so", path)])));
    // Somebody ran `ldconfig /opt/x`; the next ldconfig drops the directory.
    let libc = || {
        let needing = needing_x();
        needing.elf(
            "lib64/libc.so.6",
            identified("glibc", "libc.so.6", &[("version", "2.36")]),
        )
    };
    let facts = libc()
        .library("opt/x", "libx.so", &[])
        .entry("etc/ld.so.cache", bytes("/opt/x/libx.so"))
        .loader();
    let message = "libx.so: cannot open shared object file: No such file or directory";
    assert_eq!(on_hosts(&facts), [("", true, message)]);
    assert!(facts.missing.iter().all(|it| it.library != "libx.so"));
    // A directory of ld.so.conf that the cache does not know.
    let facts = libc()
        .library("opt/x", "libx.so", &[])
        .text("etc/ld.so.conf", "/opt/x\n")
        .entry("etc/ld.so.cache", bytes("/gone/libx.so"))
        .loader();
    assert_eq!(facts.host_faults, []);
    assert_eq!(facts.missing[0].after_ldconfig, "/opt/x/libx.so");
    assert_eq!(facts.missing[0].context.absent_on, ["ldconfig"]);
}

/// A distribution of one native module, `lightgbm/lib/lib_lightgbm.so`, with RECORD as layer facts keep it.
fn with_module(image: Image, needed: &[&str]) -> Image {
    let record = format!("{SITE}/lightgbm-4.7.0.dist-info/RECORD");
    image
        .package("lightgbm", "4.7.0")
        .text(&record, "lightgbm/lib/lib_lightgbm.so,sha256=x,4096\n")
        .library(&format!("{SITE}/lightgbm/lib"), "lib_lightgbm.so", needed)
}

#[test]
fn modules_of_packages_without_a_table_are_tried() {
    let missing = |image: Image| {
        let facts = image.loader();
        assert_eq!(facts.processes.len(), 0, "no table describes the package");
        let missing = facts.missing.into_iter();
        let described = missing.map(|it| (it.context.package, it.context.without, it.library));
        described.collect::<Vec<_>>()
    };
    let image = || with_module(Image::python(), &["libgomp.so.1", "libcuda.so.1"]);
    let found = ("lightgbm", "module", "libgomp.so.1");
    let found = [(found.0.to_owned(), found.1.to_owned(), found.2.to_owned())];
    assert_eq!(missing(image()), found);
    // Python code may load a library of the search path before.
    let beside = image().library(&format!("{SITE}/other"), "libgomp.so.1", &[]);
    assert_eq!(missing(beside), []);
    let system = image().library("usr/lib64", "libgomp.so.1", &[]);
    assert_eq!(missing(system), []);
    // A second library that nothing needs may be one of several alternatives.
    let record = format!("{SITE}/lightgbm-4.7.0.dist-info/RECORD");
    let two = image()
        .text(
            &record,
            "lightgbm/lib/lib_lightgbm.so,,\nlightgbm/lib/lib_b.so,,\n",
        )
        .library(&format!("{SITE}/lightgbm/lib"), "lib_b.so", &[]);
    assert_eq!(missing(two), []);
}

#[test]
fn modules_are_no_objects_of_the_process() {
    let image = with_module(pytorch(), &["libgomp.so.1"]);
    let (with, without) = (image.loader(), pytorch().loader());
    assert_eq!(with.processes[0].objects, without.processes[0].objects);
    let modules = with
        .missing
        .iter()
        .filter(|it| it.context.without == "module");
    assert_eq!(modules.count(), 1);
}

/// nvcc links the CUDA runtime statically unless told otherwise.
#[test]
fn programs_with_gpu_code_are_processes() {
    let gpu_code = || {
        Some(GpuCode {
            containers: 1,
            sass: vec![("sm_80".to_owned(), 1)],
            ..GpuCode::default()
        })
    };
    let own = ElfFacts {
        gpu: gpu_code(),
        identity: identified("cuda-runtime", "", &[("static-cudart", "13.0")]).identity,
        ..program(&[])
    };
    let library = ElfFacts {
        gpu: gpu_code(),
        ..elf(&[])
    };
    let image = Image::new()
        .elf(LOADER, elf(&[]))
        .elf("usr/bin/own", own)
        .elf("usr/bin/user", program(&["libwork.so"]))
        .elf("usr/lib64/libwork.so", library)
        .elf("usr/bin/plain", program(&[]));
    let derive = |command: &str| {
        let image = image.clone().command(&[command]);
        image.derive(&Overlay::default()).unwrap()
    };
    let names = |command: &str| {
        let processes = derive(command).loader.processes.into_iter();
        processes.map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(names("/usr/bin/own"), ["/usr/bin/own"]);
    assert_eq!(names("/usr/bin/plain"), ["/usr/bin/own"]);
    // What the image starts counts wherever its libraries are.
    assert_eq!(names("/usr/bin/user"), ["/usr/bin/user", "/usr/bin/own"]);
    let derived = derive("/usr/bin/own");
    assert_eq!(derived.loader.linked_runtime(), Some("13.0"));
    let runtime = derived
        .stack
        .components
        .iter()
        .find(|it| it.name == "cuda-runtime");
    let runtime = runtime.unwrap();
    assert_eq!((runtime.version.as_str(), runtime.loaded), ("13.0", true));
}
