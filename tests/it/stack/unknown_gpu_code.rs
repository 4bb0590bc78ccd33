//! `imgcheck facts` lists GPU code of libraries that no recipe and no package explains.

use std::fs;

use testkit::elf::raw::{CONSTANTS, DT_SONAME, RawElf};

use crate::program::{imgcheck, repository};

#[test]
fn facts_list_gpu_code_of_unknown_libraries() {
    let code = fs::read(repository("testdata/fatbin/f_90.fatbin")).unwrap();
    let mut elf = RawElf::new();
    elf.tag(DT_SONAME, 0);
    let at = elf.put(&code);
    elf.section(".nv_fatbin", CONSTANTS, at, code.len() as u64);
    let library = elf.build();
    let root = tempfile::tempdir().unwrap();
    let site = "usr/lib/python3/dist-packages";
    let put = |path: &str, content: &[u8]| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    put("opt/own/libkernels.so", &library);
    // A package of the stack is named instead.
    put(&format!("{site}/xformers/_C.so"), &library);
    put(
        &format!("{site}/xformers-0.0.32.post2.dist-info/METADATA"),
        b"Name: xformers\nVersion: 0.0.32.post2\n",
    );
    let output = imgcheck()
        .args(["facts", &format!("dir:{}", root.path().display())])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, unknown) = text
        .split_once("GPU code of unknown libraries\n")
        .unwrap_or_else(|| panic!("{text}"));
    assert!(
        unknown.contains("/opt/own/libkernels.so (sm_90 compute_90)"),
        "{unknown}"
    );
    assert!(!unknown.contains("xformers"), "{unknown}");
}
