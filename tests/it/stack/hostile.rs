//! Files that are not what their names say.

use proptest::prelude::*;

use super::builder::*;

#[test]
fn invalid_metadata_is_not_evidence() {
    let stack = Image::new()
        .text(
            &format!("{SITE}/torch/version.py"),
            &"x = '".repeat(2_000_000),
        )
        .text(
            &format!("{SITE}/torch-1.dist-info/METADATA"),
            "\u{fffd}\u{fffd}",
        )
        .text(
            &format!("{SITE}/jax-1.dist-info/METADATA"),
            "Name: jax\nVersion: <script>\n",
        )
        .text("opt/conda/conda-meta/python-3.json", "{\"name\": 3")
        .text("usr/local/cuda-12/version.json", "[]")
        .text("usr/local/cuda-12/version.txt", "CUDA Version unknown")
        .text(
            "var/lib/dpkg/status",
            "Package: libc6\nVersion:\n\n\n\n:\nPackage\n",
        )
        .text("lib/apk/db/installed", "P:\nV:\n")
        .text("etc/os-release", "ID=\nVERSION_ID")
        .text(
            "usr/include/cudnn_version.h",
            "#define CUDNN_MAJOR 99999999999999999999999\n#define",
        )
        .text("opt/venv/pyvenv.cfg", "=\n==")
        .link("opt/venv/bin/python", "python")
        .stack();
    let names: Vec<_> = stack
        .components
        .iter()
        .map(|component| (&component.name, &component.version))
        .collect();
    assert!(names.is_empty(), "{names:?}");
}

/// Where a file says something of the stack.
const PATHS: [&str; 12] = [
    "opt/lib/torch/version.py",
    "opt/lib/torch-2.dist-info/METADATA",
    "opt/lib/torch.egg-info",
    "opt/conda-meta/python-3.json",
    "opt/include/python3.11/patchlevel.h",
    "opt/include/cuda.h",
    "opt/include/cudnn_version.h",
    "opt/cuda-12/version.json",
    "opt/cuda-12/version.txt",
    "var/lib/dpkg/status",
    "lib/apk/db/installed",
    "etc/os-release",
];

/// Lines of the texts that the readers search for, whole and in pieces.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("Package: libnccl2\n"),
        Just("Version: "),
        Just("2:1.0-1~x\n"),
        Just("\n\n"),
        Just("P:python3\nV:-r"),
        Just("Name: torch\n"),
        Just("__version__ = '"),
        Just("git_version"),
        Just("cuda: Optional[str] = "),
        Just("{\"cuda\": {\"version\": \""),
        Just("{\"name\": \"python\", \"version\": \"3.11\", \"files\": [\"../x.so\"]}"),
        Just("#define CUDA_VERSION "),
        Just("#define CUDNN_MAJOR 9\n"),
        Just("#define PY_VERSION \""),
        Just("CUDA Version "),
        Just("ID=rhel\nVERSION_ID=."),
        Just("99999999999999999999999"),
        Just("ü\u{fffd}\0"),
        Just("..:-+~\"'="),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_too_strange(texts in prop::collection::vec(text(), PATHS.len()), soname in "lib[a-z.0-9]{0,12}") {
        let image = PATHS.iter().zip(&texts).fold(Image::new(), |image, (path, text)| image.text(path, text));
        let stack = image
            .elf("opt/bin/python3.11", plain(""))
            .elf("opt/lib/library.so", library("nccl", &soname, None))
            .stack();
        for component in &stack.components {
            prop_assert!(component.evidence.iter().all(|evidence| !evidence.value.is_empty()));
            let of_evidence = component.evidence.iter().any(|evidence| evidence.value == component.version);
            prop_assert!(of_evidence || component.evidence.is_empty());
        }
    }
}
