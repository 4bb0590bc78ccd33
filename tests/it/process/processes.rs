//! Which processes there are, and what is tried beside them.

use imgcheck::Overlay;
use imgcheck_elf::ElfFacts;
use imgcheck_elf::facts::GpuCode;
use imgcheck_image::EntryKind;
use imgcheck_model::process::cause::{When, Without};

use serde_json::json;

use super::pytorch;
use crate::sample::{Image, LOADER, SITE, elf, identified, program};

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
    assert_eq!(facts.missing[0].context.when, When::Start);
    assert_eq!(facts.missing[0].elsewhere, ["/opt/server/lib/libserver.so"]);
}

#[test]
fn a_library_that_the_user_may_not_read_is_neither_absent_nor_elsewhere() {
    let facts = Image::python()
        .elf("usr/bin/tool", program(&["libz.so.1"]))
        .library("usr/lib", "libz.so.1", &[])
        .mode(0o000)
        .config(json!({"Cmd": ["tool"], "User": "1000"}))
        .loader();
    let [missing] = &facts.missing[..] else {
        panic!("{:?}", facts.missing);
    };
    assert_eq!(missing.unreadable, ["/usr/lib/libz.so.1"]);
    assert!(missing.elsewhere.is_empty(), "{:?}", missing.elsewhere);
}

#[test]
fn the_directory_that_keeps_the_user_out_is_named() {
    let facts = Image::python()
        .entry("app", EntryKind::Directory)
        .mode(0o700)
        .text("app/main.py", "")
        .config(json!({"Cmd": ["python3", "/app/main.py"], "User": "1000"}))
        .loader();
    let [unreadable] = &facts.unreadable[..] else {
        panic!("{:?}", facts.unreadable);
    };
    assert_eq!(
        (unreadable.path.as_str(), unreadable.mode.as_str()),
        ("/app", "0700")
    );
}

/// What the image starts must start, whether it has to do with GPUs or not.
#[test]
fn a_command_without_gpu_libraries_is_checked_for_its_start() {
    let facts = |needed: &str, with_torch: bool| {
        let image = match with_torch {
            true => pytorch().wheel("cuda_runtime", "libcudart.so.12"),
            false => Image::python(),
        };
        let image = image.elf("usr/bin/tool", program(&[needed]));
        image.command(&["tool"]).loader()
    };
    for with_torch in [true, false] {
        let broken = facts("libgone.so", with_torch);
        let [missing] = &broken.missing[..] else {
            panic!("{:?}", broken.missing);
        };
        assert_eq!(missing.library, "libgone.so");
        assert_eq!(missing.context.when, When::Start);
        assert_eq!(missing.context.process, "/usr/bin/tool");
        assert!(missing.context.main);
        let whole = facts("ld-linux-x86-64.so.2", with_torch);
        assert_eq!(whole.missing, []);
        let mut own = whole
            .processes
            .iter()
            .filter(|it| it.name == "/usr/bin/tool");
        assert_eq!(own.next(), None);
    }
    let without_packages =
        Image::python().elf("usr/local/bin/python3.11", program(&["libgone.so"]));
    let facts = without_packages.command(&["python3", "app.py"]).loader();
    assert_eq!(facts.missing.len(), 1, "{:?}", facts.missing);
    assert!(facts.missing[0].context.main);
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
    let found = [(
        "lightgbm".to_owned(),
        Without::Module,
        "libgomp.so.1".to_owned(),
    )];
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
        .filter(|it| it.context.without == Without::Module);
    assert_eq!(modules.count(), 1);
}
