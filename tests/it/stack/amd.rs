//! An image for AMD GPUs, reduced from Debian 13 with librccl1 and libamdhip64-5: what its libraries export and need, and its packages.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::elf::{SharedObject, Symbol, SymbolKind};

use crate::program::imgcheck;

const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const PACKAGES: &str = "Package: librccl1
Status: install ok installed
Architecture: amd64
Version: 5.4.3-3

Package: libamdhip64-5
Status: install ok installed
Architecture: amd64
Version: 5.7.1-6+deb13u1
";

fn library(soname: &str, exports: &[&str], needed: &[&str], text: &str) -> Vec<u8> {
    SharedObject {
        soname: Some(soname.to_owned()),
        needed: needed.iter().map(|it| (*it).to_owned()).collect(),
        symbols: exports
            .iter()
            .map(|name| Symbol {
                name: (*name).to_owned(),
                kind: SymbolKind::Function(vec![0xc3]),
            })
            .collect(),
        data: [b"\0", text.as_bytes(), b"\0"].concat(),
        ..SharedObject::default()
    }
    .bytes()
}

fn root(directory: &Path) {
    let put = |path: &str, content: &[u8]| {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    let rccl = library(
        "librccl.so.1",
        &["ncclGetVersion", "ncclAllReduce", "ncclCommInitRank"],
        &["librocm_smi64.so.1", "libamdhip64.so.5"],
        "RCCL version 2.13.4+hip5.7",
    );
    let hip = library(
        "libamdhip64.so.5",
        &["hipRuntimeGetVersion", "hipGetDeviceCount"],
        &["libamd_comgr.so.2", "libhsa-runtime64.so.1"],
        "",
    );
    put(&format!("{LIBRARIES}/librccl.so.1.0"), &rccl);
    put(&format!("{LIBRARIES}/libamdhip64.so.5.7.31921"), &hip);
    put("var/lib/dpkg/status", PACKAGES.as_bytes());
    for (package, file) in [
        ("librccl1:amd64", "librccl.so.1.0"),
        ("libamdhip64-5:amd64", "libamdhip64.so.5.7.31921"),
    ] {
        let list = format!("/{LIBRARIES}/{file}\n");
        put(
            &format!("var/lib/dpkg/info/{package}.list"),
            list.as_bytes(),
        );
    }
}

fn check(more: &[&str]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    root(directory.path());
    let output = imgcheck()
        .args(["--no-config", "--no-cache", "--format", "json"])
        .args(more)
        .arg(format!("dir:{}", directory.path().display()))
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["images"][0].clone()
}

fn findings(image: &Value) -> Vec<String> {
    let findings = image["findings"].as_array().unwrap();
    let shown = findings
        .iter()
        .map(|it| format!("{} {}", it["severity"], it["rule"]));
    shown.map(|it| it.replace('"', "")).collect()
}

#[test]
fn an_image_for_amd_is_named_and_rccl_is_not_nccl() {
    let image = check(&[]);
    assert_eq!(findings(&image), ["note gpu-amd-image"]);
    let stack = image["stack"].as_array().unwrap();
    let names: Vec<&str> = stack.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["hip", "rccl"]);
    let version =
        |name: &str| stack.iter().find(|it| it["name"] == name).unwrap()["version"].clone();
    assert_eq!(version("rccl"), "2.13.4");
    assert_eq!(version("hip"), "5.7.1");
}

#[test]
fn an_image_for_amd_does_not_run_on_a_gpu_of_nvidia() {
    let image = check(&["--gpu", "h100"]);
    assert_eq!(
        findings(&image),
        ["error gpu-amd-image", "note gpu-unknown"]
    );
}
