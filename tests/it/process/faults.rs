//! What cannot be loaded.

use imgcheck::Overlay;
use imgcheck_elf::ElfFacts;
use imgcheck_image::EntryKind;
use imgcheck_model::process::cause::When;

use super::{pytorch, symbol};
use crate::sample::{SITE, elf};

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
        (object.package.as_str(), object.when),
        ("torch", When::Import)
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
