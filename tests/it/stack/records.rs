//! Which distribution a file belongs to, as RECORD says.

use super::builder::*;
use imgcheck_model::stack::{EvidenceKind, Stack};

/// A distribution with the lines of its RECORD, as layer facts keep them.
fn recorded(image: Image, name: &str, version: &str, record: &str) -> Image {
    let directory = name.replace('-', "_");
    let path = format!("{SITE}/{directory}-{version}.dist-info/RECORD");
    image.distribution(SITE, name, version).text(&path, record)
}

fn metadata(stack: &Stack, path: &str) -> Vec<String> {
    let mut components = stack.components.iter();
    let component = components.find(|it| it.path.ends_with(path)).unwrap();
    let evidence = component.evidence.iter();
    let metadata = evidence.filter(|it| it.kind == EvidenceKind::PythonMetadata);
    metadata.map(|it| it.detail.clone()).collect()
}

/// torch 2.0.1 with faiss-gpu-cu12: both wheels put their library into one directory.
#[test]
fn wheels_of_two_majors_side_by_side_own_one_library_each() {
    let lib = "nvidia/cuda_runtime/lib";
    let mut image = Image::new();
    for (name, version, soname, cuda) in [
        (
            "nvidia-cuda-runtime-cu11",
            "11.7.99",
            "libcudart.so.11.0",
            "11.7",
        ),
        (
            "nvidia-cuda-runtime-cu12",
            "12.9.79",
            "libcudart.so.12",
            "12.9",
        ),
    ] {
        let record = format!("{lib}/{soname},sha256=x,4096\n");
        image = recorded(image, name, version, &record).elf(
            &format!("{SITE}/{lib}/{soname}"),
            library("cuda-runtime", soname, Some(cuda)),
        );
    }
    let stack = image.stack();
    assert_eq!(
        metadata(&stack, "libcudart.so.11.0"),
        ["nvidia-cuda-runtime-cu11 11.7.99"]
    );
    assert_eq!(
        metadata(&stack, "libcudart.so.12"),
        ["nvidia-cuda-runtime-cu12 12.9.79"]
    );
    assert_eq!(stack.components.len(), 2);
    assert_eq!(stack.overwritten_files, []);
}

#[test]
fn one_file_of_two_distributions_belongs_to_the_one_with_its_size() {
    let file = "nvidia/nccl/lib/libnccl.so.2";
    let image = |hash: &str, size: u64| {
        let image = Image::new().elf(
            &format!("{SITE}/{file}"),
            library("nccl", "libnccl.so.2", Some("2.27.3")),
        );
        let older = format!("{file},sha256={hash},{size}\n{file},sha256={hash},{size}\n");
        let image = recorded(image, "nvidia-nccl-cu11", "2.21.5", &older);
        let record = format!("\"{file}\",sha256=b,4096\n../../../bin/x.so,,\nno,row\n");
        recorded(image, "nvidia-nccl-cu12", "2.27.3", &record).stack()
    };
    let stack = image("a", 4000);
    assert_eq!(
        metadata(&stack, "libnccl.so.2"),
        ["nvidia-nccl-cu12 2.27.3"]
    );
    let [found] = &stack.overwritten_files[..] else {
        panic!("{:?}", stack.overwritten_files);
    };
    assert_eq!(
        (found.name.as_str(), found.by.as_str(), found.count),
        ("nvidia-nccl-cu11", "nvidia-nccl-cu12", 1)
    );
    assert_eq!(found.files, [format!("/{SITE}/{file}")]);
    // Equal content is no fault; of equal sizes, nobody knows which it is.
    for (hash, size) in [("b", 4096), ("a", 4096)] {
        assert_eq!(image(hash, size).overwritten_files, []);
    }
}

/// A library that was replaced without pip belongs to its distribution still, whose metadata is stale.
#[test]
fn a_replaced_library_keeps_its_owner() {
    let file = "nvidia/nccl/lib/libnccl.so.2";
    let image = Image::new().elf(
        &format!("{SITE}/{file}"),
        library("nccl", "libnccl.so.2", Some("2.19.3")),
    );
    let record = format!("{file},sha256=a,1\n");
    let stack = recorded(image, "nvidia-nccl-cu12", "2.27.3", &record).stack();
    assert_eq!(
        metadata(&stack, "libnccl.so.2"),
        ["nvidia-nccl-cu12 2.27.3"]
    );
}

#[test]
fn files_that_a_record_lists_and_the_image_does_not_have() {
    let record = "m/__init__.py,,\nm/a.py,,\nm/b.cpython-311-x86_64-linux-gnu.so,sha256=x,9\nm/c.py,,\nm/d.py,,\nm/tests/e.py,,\n../../../bin/f.py,,\nm/lib.so.1,,\n";
    let incomplete = |files: &[&str], more: &[(&str, &str)]| {
        let mut image = recorded(Image::python(), "m", "1.0", record);
        for file in files {
            image = image.text(&format!("{SITE}/m/{file}"), "");
        }
        for (site, version) in more {
            image = image.distribution(site, "m", version);
        }
        image.stack().incomplete_distributions
    };
    let [found] = incomplete(&["__init__.py", "d.pyc"], &[])
        .try_into()
        .unwrap();
    assert_eq!((found.name.as_str(), found.version.as_str()), ("m", "1.0"));
    assert_eq!(found.count, 4);
    assert_eq!(
        found.files,
        ["m/a.py", "m/b.cpython-311-x86_64-linux-gnu.so", "m/c.py"]
    );
    let whole = [
        "__init__.py",
        "a.py",
        "b.abi3.so",
        "c.py",
        "d.py",
        "lib.so.1",
    ];
    assert_eq!(incomplete(&whole, &[]), []);
    assert_eq!(incomplete(&[], &[(SITE, "0.9")]), []);
    assert_eq!(incomplete(&whole, &[("opt/other", "1.0")]), []);
}

#[test]
fn a_package_whose_library_was_removed_tells_no_version() {
    let library = "nvidia/cuda_runtime/lib/libcudart.so.12";
    let record = format!("{library},sha256=x,9\n");
    let image = || {
        recorded(
            Image::python(),
            "nvidia-cuda-runtime-cu12",
            "12.8.90",
            &record,
        )
    };
    let stack = image().stack();
    assert!(stack.components.iter().all(|it| it.name != "cuda-runtime"));
    assert_eq!(stack.incomplete_distributions[0].files, [library]);
    // A file that is no library any more is still there.
    let stack = image().text(&format!("{SITE}/{library}"), "").stack();
    assert_eq!(only(&stack, "cuda-runtime").version, "12.8");
}

#[test]
fn a_package_whose_modules_were_removed_tells_no_version() {
    let image = || recorded(Image::python(), "triton", "3.4.0", "triton/__init__.py,,\n");
    let stack = image().stack();
    assert!(stack.components.iter().all(|it| it.name != "triton"));
    for module in ["__init__.py", "__init__.pyc"] {
        let stack = image().text(&format!("{SITE}/triton/{module}"), "").stack();
        assert_eq!(only(&stack, "triton").version, "3.4.0");
    }
}
