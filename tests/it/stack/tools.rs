//! Tools that Triton compiles with. `testdata/recipes/tools.py` compares the same cases with Triton itself.

use imgcheck_image::EntryKind;
use imgcheck_model::stack::{GpuAssembler, MissingTool, ToolKind};

use crate::sample::{Image, SITE, elf, identified, program};

const PATH: &str = "PATH=/usr/local/bin:/usr/bin:/bin";

/// Python in `/usr/local` with Triton.
fn image() -> Image {
    Image::python()
        .package("triton", "3.4.0")
        .elf("sbin/ldconfig", program(&[]))
        .mode(0o755)
}

/// With a compiler in `/usr/bin` and the headers of Python and of the C library.
fn complete() -> Image {
    image()
        .elf("usr/bin/x86_64-linux-gnu-gcc-12", program(&[]))
        .mode(0o755)
        .link("usr/bin/gcc", "x86_64-linux-gnu-gcc-12")
        .elf("usr/bin/as", program(&[]))
        .elf("usr/bin/x86_64-linux-gnu-ld", program(&[]))
        .link("usr/bin/ld", "x86_64-linux-gnu-ld")
        .text("usr/include/stdlib.h", "")
        .text("usr/lib/x86_64-linux-gnu/crti.o", "")
        .text("usr/lib/x86_64-linux-gnu/libc.so", "")
        .text("usr/local/include/python3.11/Python.h", "")
}

/// What is missing for a process with some variables.
fn missing(image: Image, variables: &[&str]) -> Option<MissingTool> {
    let variables = [&[PATH], variables].concat();
    let image = image.process(&variables, &["/usr/local/bin/python3.11", "app.py"]);
    let mut missing = image.stack().missing_tools;
    assert!(missing.len() < 2);
    missing.pop()
}

fn kind(image: Image, variables: &[&str]) -> Option<(ToolKind, String)> {
    missing(image, variables).map(|it| (it.kind, it.tool))
}

#[test]
fn an_image_with_a_compiler_misses_nothing() {
    assert_eq!(missing(complete(), &[]), None);
    assert_eq!(missing(complete(), &["CC=gcc"]), None);
    assert_eq!(missing(complete(), &["CC=/usr/bin/gcc"]), None);
    let clang = image()
        .elf("opt/llvm/bin/clang", program(&[]))
        .mode(0o755)
        .text("usr/local/include/python3.11/Python.h", "");
    assert_eq!(missing(clang, &["PATH=/opt/llvm/bin:/usr/bin"]), None);
}

#[test]
fn what_is_missing_is_named() {
    let found = missing(image(), &[]).unwrap();
    assert_eq!(
        (found.kind, found.tool.as_str()),
        (ToolKind::Compiler, "gcc or clang")
    );
    assert_eq!(found.searched, "/usr/local/bin:/usr/bin:/bin");
    assert_eq!(
        (found.package.as_str(), found.version.as_str()),
        ("Triton", "3.4.0")
    );
    assert_eq!(found.needed_by, "");

    let without = |path: &str| complete().layer().entry(path, EntryKind::Whiteout);
    assert_eq!(
        kind(without("usr/include/stdlib.h"), &[]),
        Some((ToolKind::SystemHeader, "stdlib.h".to_owned()))
    );
    let header = missing(without("usr/local/include/python3.11/Python.h"), &[]).unwrap();
    assert_eq!(header.searched, "/usr/local/include/python3.11/Python.h");
    let ldconfig = Some((ToolKind::Program, "/sbin/ldconfig".to_owned()));
    assert_eq!(kind(without("sbin/ldconfig"), &[]), ldconfig);
    assert_eq!(
        kind(without("sbin/ldconfig"), &["TRITON_LIBCUDA_PATH=/usr/lib"]),
        None
    );
}

#[test]
fn a_compiler_of_the_system_needs_its_programs() {
    let without = |path: &str| complete().layer().entry(path, EntryKind::Whiteout);
    let found = |tool: &str| Some((ToolKind::CompilerProgram, tool.to_owned()));
    assert_eq!(kind(without("usr/bin/as"), &[]), found("as"));
    assert_eq!(kind(without("usr/bin/ld"), &[]), found("ld"));
    // A link that leads nowhere.
    assert_eq!(
        kind(without("usr/bin/x86_64-linux-gnu-ld"), &[]),
        found("ld")
    );
    let elsewhere = || without("usr/bin/ld").elf("opt/binutils/bin/ld", program(&[]));
    assert_eq!(kind(elsewhere(), &[]), found("ld"));
    // Debian's binutils has links for the variants of the linker, where no compiler looks.
    let variant = without("usr/bin/ld").elf("usr/lib/gold-ld/ld", program(&[]));
    assert_eq!(kind(variant, &[]), found("ld"));
    let on_path = ["PATH=/usr/local/bin:/usr/bin:/bin:/opt/binutils/bin"];
    assert_eq!(kind(elsewhere(), &on_path), None);
    let of_gcc = without("usr/bin/as").elf("usr/x86_64-linux-gnu/bin/as", program(&[]));
    assert_eq!(kind(of_gcc, &[]), None);
    let own = without("usr/bin/as")
        .elf("opt/gcc/bin/gcc", program(&[]))
        .mode(0o755);
    assert_eq!(kind(own, &["CC=/opt/gcc/bin/gcc"]), None);
}

#[test]
fn a_linker_of_the_system_needs_the_files_of_the_c_library() {
    let without = |name: &str| {
        let path = format!("usr/lib/x86_64-linux-gnu/{name}");
        complete().layer().entry(&path, EntryKind::Whiteout)
    };
    for name in ["crti.o", "libc.so"] {
        let found = (ToolKind::LinkedFile, name.to_owned());
        assert_eq!(kind(without(name), &[]), Some(found));
    }
}

#[test]
fn pytorch_cannot_be_imported_without_its_program() {
    let image = || {
        let package = Image::python().package("torch", "2.11.0");
        package
            .text(&format!("{SITE}/torch/__init__.py"), "")
            .elf(&format!("{SITE}/torch/lib/libshm.so"), elf(&[]))
    };
    let found = missing(image(), &[]).unwrap();
    assert_eq!(
        (found.tool.as_str(), found.when.as_str()),
        ("torch/bin/torch_shm_manager", "`import torch`")
    );
    let manager = format!("{SITE}/torch/bin/torch_shm_manager");
    assert_eq!(missing(image().elf(&manager, program(&[])), &[]), None);
}

/// Triton 3.6 with the files that it compiles with, but for one.
fn triton_without(path: &str) -> Image {
    let files = [
        "__init__.py",
        "backends/nvidia/driver.c",
        "backends/nvidia/include/cuda.h",
        "backends/nvidia/lib/libdevice.10.bc",
    ];
    let programs = [
        "backends/nvidia/bin/ptxas",
        "backends/nvidia/bin/ptxas-blackwell",
    ];
    let image = complete().layer().package("triton", "3.6.0");
    let image = image.entry(
        &format!("{SITE}/triton-3.4.0.dist-info"),
        EntryKind::Whiteout,
    );
    let files = files.iter().filter(|it| **it != path);
    let image = files.fold(image, |image, it| {
        image.text(&format!("{SITE}/triton/{it}"), "")
    });
    programs
        .iter()
        .filter(|it| **it != path)
        .fold(image, |image, it| {
            image
                .elf(&format!("{SITE}/triton/{it}"), program(&[]))
                .mode(0o755)
        })
}

#[test]
fn a_file_of_the_package_itself_is_named() {
    let found = |path: &str, variables: &[&str]| {
        missing(triton_without(path), variables).map(|it| (it.kind, it.tool, it.when))
    };
    assert_eq!(found("nothing", &[]), None);
    let kind = ToolKind::PackageFile;
    let driver = "triton/backends/nvidia/driver.c".to_owned();
    let first = "its first kernel (also by `torch.compile`)".to_owned();
    assert_eq!(
        found("backends/nvidia/driver.c", &[]),
        Some((kind, driver, first))
    );
    assert!(found("backends/nvidia/include/cuda.h", &[]).is_some());
    assert_eq!(
        found(
            "backends/nvidia/include/cuda.h",
            &["CPATH=/opt/cuda/include"]
        ),
        None
    );
    let device = "backends/nvidia/lib/libdevice.10.bc";
    assert!(found(device, &[]).is_some());
    assert_eq!(
        found(device, &["TRITON_LIBDEVICE_PATH=/opt/libdevice.bc"]),
        None
    );
    let older = found("backends/nvidia/bin/ptxas", &[]).unwrap();
    assert_eq!(
        older.2,
        "its first kernel on a GPU below compute capability 10.0"
    );
    assert!(
        found("backends/nvidia/bin/ptxas-blackwell", &[])
            .unwrap()
            .2
            .ends_with("10.0 or above")
    );
    assert_eq!(
        found(
            "backends/nvidia/bin/ptxas",
            &["TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas"]
        ),
        None
    );
    // A package that is not there at all is no package with a missing file.
    assert_eq!(found("__init__.py", &[]), None);
}

#[test]
fn a_named_program_must_be_executable() {
    let image = |mode: u32| triton_without("nothing").text("opt/ptxas", "").mode(mode);
    let named = ["TRITON_PTXAS_PATH=/opt/ptxas"];
    let found = missing(image(0o644), &named).unwrap();
    assert_eq!(
        (found.kind, found.tool.as_str(), found.variable.as_str()),
        (ToolKind::NotExecutable, "/opt/ptxas", "TRITON_PTXAS_PATH")
    );
    assert_eq!(missing(image(0o755), &named), None);
    // Triton then takes its own.
    assert_eq!(
        missing(image(0o644), &["TRITON_PTXAS_PATH=/opt/none"]),
        None
    );
}

#[test]
fn jax_needs_the_assembler_of_cuda() {
    let image = || Image::python().package("jax-cuda13-plugin", "0.11.2");
    let wheel = |image: Image, file: &str| image.text(&format!("{SITE}/nvidia/cu13/{file}"), "");
    let ptxas = wheel(image(), "bin/ptxas");
    assert_eq!(missing(ptxas.clone(), &[]).unwrap().tool, "libdevice.10.bc");
    let both = wheel(ptxas, "nvvm/libdevice/libdevice.10.bc");
    assert_eq!(missing(both.clone(), &[]), None);
    let of_triton = wheel(image(), "nvvm/libdevice/libdevice.10.bc")
        .text(&format!("{SITE}/triton/backends/nvidia/bin/ptxas"), "");
    assert_eq!(missing(of_triton, &[]).unwrap().tool, "ptxas");
    let older = Image::python().package("jax-cuda12-plugin", "0.6.2");
    assert_eq!(missing(older, &[]), None);
}

#[test]
fn a_variable_names_the_compiler() {
    for value in ["gcc-15", "/usr/bin/cc", "gcc -m64", ""] {
        let found = missing(complete(), &[&format!("CC={value}")]).unwrap();
        assert_eq!(
            (found.tool.as_str(), found.variable.as_str()),
            (value, "CC")
        );
    }
}

#[test]
fn a_compiler_that_cannot_be_executed_is_none() {
    let image = complete()
        .elf("usr/bin/x86_64-linux-gnu-gcc-12", program(&[]))
        .mode(0o644);
    assert_eq!(kind(image, &[]).map(|it| it.0), Some(ToolKind::Compiler));
    assert_eq!(
        kind(complete(), &["PATH=/opt"]).map(|it| it.0),
        Some(ToolKind::Compiler)
    );
}

#[test]
fn a_package_that_always_compiles_is_named() {
    let needed_by = |name: &str, version: &str| {
        let found = missing(image().package(name, version), &[]).unwrap();
        found.needed_by
    };
    assert_eq!(needed_by("vllm", "0.10.0"), "vllm");
    assert_eq!(needed_by("vllm", "0.8.5"), "");
    assert_eq!(needed_by("liger_kernel", "0.5.0"), "liger-kernel");
    assert_eq!(needed_by("numpy", "2.0.0"), "");
}

/// What was compiled before needs no compiler.
#[test]
fn a_cache_is_not_judged() {
    let cached = image().directory("root/.triton/cache");
    assert_eq!(missing(cached, &[]), None);
    assert_eq!(missing(image(), &["TRITON_CACHE_DIR=/cache"]), None);
    let without_triton = Image::python();
    assert_eq!(missing(without_triton, &[]), None);
}

/// CuPy, and NVRTC of a CUDA release.
fn cupy(version: &str, cuda: &str) -> Image {
    let nvrtc = identified("nvrtc", "libnvrtc.so.12", &[("version", cuda)]);
    Image::python()
        .package("cupy-cuda12x", version)
        .elf("usr/lib/x86_64-linux-gnu/libnvrtc.so.12", nvrtc)
        .text(
            &format!("{SITE}/cupy/_core/include/cupy/_cuda/cuda-12/cuda_fp16.h"),
            "",
        )
}

#[test]
fn cupy_needs_the_headers_of_cuda() {
    let found = missing(cupy("13.6.0", "12.8"), &[]).unwrap();
    assert_eq!(
        (found.kind, found.tool.as_str()),
        (ToolKind::CudaHeader, "cuda_fp16.h")
    );
    assert_eq!(found.needed_by, "cupy-cuda12x");
    // Older releases have their own, and so does 13.6 for an older NVRTC.
    assert_eq!(missing(cupy("13.2.0", "12.8"), &[]), None);
    assert_eq!(missing(cupy("13.6.0", "12.1"), &[]), None);
    let newer = missing(cupy("14.2.0", "12.1"), &[]).unwrap();
    assert_eq!(newer.tool, "cuda_runtime.h");
    let complete = cupy("13.6.0", "12.8").text("usr/local/cuda-12.8/include/cuda_fp16.h", "");
    assert_eq!(missing(complete, &[]), None);
}

#[test]
fn flashinfer_needs_nvcc_without_compiled_kernels() {
    let image = || Image::python().package("flashinfer-python", "0.6.6");
    let found = missing(image(), &[]).unwrap();
    assert_eq!(
        (found.kind, found.tool.as_str()),
        (ToolKind::CudaCompiler, "nvcc")
    );
    let compiled = image().package("flashinfer-jit-cache", "0.6.6");
    assert_eq!(missing(compiled, &[]), None);
    let toolkit = image().elf("usr/local/cuda-12.8/bin/nvcc", program(&[]));
    assert_eq!(missing(toolkit, &[]), None);
}

/// The `ptxas` of Triton and its size.
fn ptxas(version: &str, files: &[(&str, u64)], variables: &[&str]) -> Vec<GpuAssembler> {
    let mut image = Image::python().package("triton", version);
    for (path, size) in files {
        image = image.elf(path, program(&[])).mode(0o755).size(*size);
    }
    let variables = [&[PATH], variables].concat();
    let image = image.process(&variables, &["/usr/local/bin/python3.11", "app.py"]);
    image.stack().assemblers
}

#[test]
fn ptxas_is_known_by_its_size() {
    let bundled = format!("{SITE}/triton/backends/nvidia/bin/ptxas");
    let found = ptxas("3.5.1", &[(&bundled, 31_912_192)], &[]);
    assert_eq!((found.len(), found[0].cuda.as_str()), (1, "12.8"));
    assert!(found[0].gpus.contains(&"12.0".to_owned()));
    assert!(!found[0].gpus.contains(&"12.1".to_owned()));
    assert_eq!(ptxas("3.5.1", &[(&bundled, 31_912_193)], &[]), []);
    // The variable names another one.
    let system = ("usr/local/cuda/bin/ptxas", 41_369_696);
    let named = ["TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas"];
    let found = ptxas("3.5.1", &[(&bundled, 31_912_192), system], &named);
    assert_eq!(found[0].cuda, "13.1");
    // Triton 3.6 has one for Blackwell.
    let blackwell = format!("{SITE}/triton/backends/nvidia/bin/ptxas-blackwell");
    let files = [(bundled.as_str(), 31_912_192), (&blackwell, 34_931_056)];
    let found = ptxas("3.6.0", &files, &[]);
    let releases: Vec<_> = found.iter().map(|it| it.cuda.as_str()).collect();
    assert_eq!(releases, ["12.8", "12.9"]);
}
