//! Imports that certainly fail, with what should bring them.

use imgcheck::{Checker, ImageRequest};
use imgcheck_base::bounds::Bounds;
use imgcheck_image::RootFilesystem;
use imgcheck_launch::Overlay;
use imgcheck_model::imports::{AbsenceReason, ImportFailure, Pythons};
use imgcheck_model::knowledge::{self, Knowledge};
use serde_json::Value;
use testkit::{Compression, docker_archive, file, oci_layout, write_archive, write_directory};

use crate::program::check;
use crate::sample::{Image, SITE};

pub(crate) const LIBRARY: &str = "usr/local/lib/python3.11";
const INIT: &str = "usr/local/lib/python3.11/site-packages/torch/__init__.py";

/// The failures of an image's command and packages.
pub(crate) fn failures(image: &Image) -> Vec<ImportFailure> {
    let root = RootFilesystem::merge(&image.layers);
    let launch = image.launch(&Overlay::default());
    let stack = image.stack();
    let modules = Knowledge::read().unwrap().modules;
    let processes = knowledge::processes().unwrap();
    let packages = [processes.modules(), modules.packages.clone()];
    let pythons = Pythons {
        root: &root,
        launch: &launch,
        environments: &stack.environments,
        distributions: &stack.distributions,
        knowledge: &modules,
        processes: &processes,
        packages: &packages.concat(),
        is_asked: false,
        machine: "x86_64",
        reads: false,
        trees: false,
        bounds: &Bounds::default(),
    };
    pythons.play(&|_| Ok(None)).unwrap().failures
}

/// A Python whose library has a module, and PyTorch with this source.
pub(crate) fn torch(source: &str) -> Image {
    Image::python()
        .text(&format!("{LIBRARY}/os.py"), "name = 'posix'\n")
        .text(
            &format!("{LIBRARY}/typing.py"),
            "Self = 1\nTYPE_CHECKING = False\n",
        )
        .text(INIT, source)
        .distribution_with(
            SITE,
            "torch",
            "2.8.0",
            "Requires-Dist: typing-extensions>=4.10.0\nRequires-Dist: PyYAML\n",
        )
}

#[test]
fn a_dependency_that_is_not_installed() {
    let image = torch("import os\n\nimport typing_extensions\n");
    assert_eq!(
        failures(&image),
        [ImportFailure {
            program: "torch".to_owned(),
            module: "typing_extensions".to_owned(),
            raises: "ModuleNotFoundError".to_owned(),
            importer: format!("/{INIT}"),
            line: 3,
            layer: Some(0),
            distribution: "torch".to_owned(),
            missing: "typing-extensions".to_owned(),
            requirement: "typing-extensions>=4.10.0".to_owned(),
            environment: "/usr/local".to_owned(),
            searched: vec![format!("/{SITE}")],
            certain: true,
            ..ImportFailure::default()
        }]
    );
    let there = image.text(&format!("{SITE}/typing_extensions.py"), "");
    assert_eq!(failures(&there), []);
}

#[test]
fn why_a_dependency_is_absent() {
    let image = torch("import yaml\n");
    let reason = |image: Image| {
        let [failure] = failures(&image).try_into().unwrap();
        assert_eq!(
            (failure.missing.as_str(), failure.requirement.as_str()),
            ("pyyaml", "PyYAML")
        );
        (failure.reason, failure.elsewhere)
    };
    let absent = (AbsenceReason::NotInstalled, String::new());
    assert_eq!(reason(image.clone()), absent);
    let metadata = image.clone().package("PyYAML", "6.0.2");
    let left = (
        AbsenceReason::MetadataOnly,
        format!("/{SITE}/PyYAML-6.0.2.dist-info"),
    );
    assert_eq!(reason(metadata), left);
    let site = "opt/other/lib/python3.9/site-packages";
    let other = image.distribution(site, "PyYAML", "6.0.2");
    assert_eq!(
        reason(other),
        (AbsenceReason::OtherPython, format!("/{site}"))
    );
}

#[test]
fn a_name_that_the_module_lacks() {
    let image = torch("from os import name, path\n");
    let [failure] = failures(&image).try_into().unwrap();
    assert_eq!(
        (failure.module.as_str(), failure.name.as_str()),
        ("os", "path")
    );
    assert_eq!(
        (failure.raises.as_str(), failure.reason),
        ("ImportError", AbsenceReason::OtherVersion)
    );
    for open in [
        "def __getattr__(name): pass\n",
        "from absent import *\n",
        "globals()[key] = 1\n",
    ] {
        let image = torch("from numbers import Big\n").text(&format!("{LIBRARY}/numbers.py"), open);
        assert_eq!(failures(&image), [], "{open}");
    }
}

#[test]
fn a_source_that_is_not_valid_python() {
    let command = |main: &str, module: &str| {
        let image = Image::python()
            .text(&format!("{LIBRARY}/os.py"), "")
            .text("app/main.py", main)
            .text("app/module.py", module)
            .command(&["python3", "/app/main.py"]);
        let failures = failures(&image).into_iter();
        let described = failures.map(|it| (it.raises, it.reason, it.elsewhere, it.line));
        described.collect::<Vec<_>>()
    };
    let invalid = |file: &str, line| {
        let class = "SyntaxError".to_owned();
        vec![(class, AbsenceReason::InvalidSource, file.to_owned(), line)]
    };
    let broken = "import os\ndef f(:\n";
    assert_eq!(command(broken, ""), invalid("/app/main.py", 0));
    assert_eq!(
        command("import os\nimport module\n", broken),
        invalid("/app/module.py", 2)
    );
    for handled in [
        "try:\n    import module\nexcept Exception:\n    pass\n",
        "try:\n    import module\nexcept SyntaxError:\n    pass\n",
        "def f():\n    import module\n",
    ] {
        assert_eq!(command(handled, broken), [], "{handled}");
    }
    let caught = "try:\n    import module\nexcept ImportError:\n    pass\n";
    assert_eq!(command(caught, broken), invalid("/app/module.py", 2));
}

#[test]
fn a_source_for_a_newer_python() {
    let newer = "import os\ndef f():\n    return f'{os.environ['A']}'\n";
    let command = |main: &str, command: &[&str]| {
        let image = Image::python()
            .text(&format!("{LIBRARY}/os.py"), "")
            .text("app/main.py", main)
            .text("app/module.py", newer)
            .command(command);
        let failures = failures(&image).into_iter();
        let described = failures.map(|it| {
            let syntax = it.newer_syntax.unwrap_or_default();
            (it.reason, it.elsewhere, syntax.minor, syntax.line)
        });
        described.collect::<Vec<_>>()
    };
    let needs = |file: &str, minor, line| {
        let reason = AbsenceReason::NewerSyntax;
        vec![(reason, file.to_owned(), minor, line)]
    };
    let script = ["python3", "/app/main.py"];
    assert_eq!(command(newer, &script), needs("/app/main.py", 12, 3));
    assert_eq!(
        command("import module\n", &script),
        needs("/app/module.py", 12, 3)
    );
    let code = ["python3", "-c", "type A = int"];
    assert_eq!(command("", &code), needs("", 12, 1));
    for fine in [
        "match 1:\n    case _: pass\n",
        "try:\n    import module\nexcept SyntaxError:\n    pass\n",
    ] {
        assert_eq!(command(fine, &script), [], "{fine}");
    }
}

#[test]
fn an_import_in_a_function_that_the_module_calls() {
    let function = "def prepare():\n    import yaml\n";
    let [failure] = failures(&torch(&format!("{function}prepare()\n")))
        .try_into()
        .unwrap();
    assert_eq!((failure.module.as_str(), failure.line), ("yaml", 2));
    let program = |main: &str, helper: &str| {
        let image = Image::python()
            .text(&format!("{LIBRARY}/os.py"), "")
            .text("app/main.py", main)
            .text("app/helper.py", helper)
            .command(&["python3", "/app/main.py"]);
        failures(&image).len()
    };
    let changes = "import sys\ndef setup():\n    sys.path.append('/opt')\n";
    let in_function = "def main():\n    import yaml\n\nif __name__ == '__main__':\n    main()\n";
    for body in [in_function, "import yaml\n"] {
        assert_eq!(program(body, changes), 1, "{body}");
        for prepare in [
            "import helper\nhelper.setup()\n",
            "from helper import setup\nsetup()\n",
        ] {
            let main = format!("{prepare}{body}");
            assert_eq!(program(&main, "def setup(): pass\n"), 1, "{main}");
            assert_eq!(program(&main, changes), 0, "{main}");
        }
    }
    // What the module binds after the call is not there yet, and what it binds before is.
    let below = format!("{SITE}/torch/part.py");
    let load = "def load():\n    from torch import part\n";
    for (rest, count) in [
        ("from os import name\nload()\n", 0),
        ("load()\nfrom os import name\n", 1),
    ] {
        let image = torch(&format!("{load}{rest}")).text(&below, "from torch import name\n");
        assert_eq!(failures(&image).len(), count, "{rest}");
    }
}

#[test]
fn a_module_that_python_removed() {
    let image = torch("import colorsys, binhex, distutils\n");
    let [failure] = failures(&image).try_into().unwrap();
    assert_eq!(
        (failure.module.as_str(), failure.reason),
        ("binhex", AbsenceReason::Removed)
    );
    assert_eq!(failure.elsewhere, "3.11");
}

#[test]
fn what_is_not_certain_is_no_failure() {
    for source in [
        "try:\n    import absent\nexcept ImportError:\n    absent = None\n",
        "def f():\n    import absent\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import absent\n",
        "import sys\nif sys.platform == 'win32' or sys.version_info < (3, 9):\n    import absent\n",
        "if unknown():\n    import absent\n",
        "import sys\nsys.path.insert(0, '/opt')\nimport absent\n",
        "import sys\nsys.modules['absent'] = sys\nimport absent\n",
        "import _multibytecodec\n",
        "from six.moves import queue\n",
        "import space.part\n",
    ] {
        let image = torch(source).text(&format!("{SITE}/six.py"), "");
        // A package in two directories.
        let image = image.text(&format!("{LIBRARY}/space/other.py"), "");
        let image = image.text(&format!("{SITE}/space/part.py"), "");
        assert_eq!(failures(&image), [], "{source}");
    }
    // So may the finder of an editable install.
    let finder = torch("import absent\n").text(&format!("{SITE}/__editable___x_1_0_finder.py"), "");
    assert_eq!(failures(&finder), []);
    // A source that was not read may change anything.
    let unread = torch("import other\nimport absent\n").empty(&format!("{SITE}/other.py"));
    assert_eq!(failures(&unread), []);
    // Nothing is known of a Python without its library.
    let library = Image::python()
        .text(INIT, "import absent\n")
        .package("torch", "2.8.0");
    assert_eq!(failures(&library), []);
}

#[test]
fn what_a_module_has_while_it_is_executed() {
    // Neither `__getattr__` nor what is imported from elsewhere is there yet.
    for rest in ["def __getattr__(name): pass\n", "from open import *\n"] {
        let early = format!("from . import part\n{rest}");
        let image = torch(&early).text(
            &format!("{SITE}/open.py"),
            "def __getattr__(name): pass\nexec('')\n",
        );
        let [failure] = failures(&image).try_into().unwrap();
        assert_eq!(
            (failure.module.as_str(), failure.name.as_str()),
            ("torch", "part")
        );
        let late = format!("{rest}from . import part\n");
        let image = torch(&late).text(&format!("{SITE}/open.py"), "exec('')\n");
        assert_eq!(failures(&image), [], "{late}");
    }
    // How far a module is when another one imports from it depends on what came before.
    let circle = torch("import other\ndef __getattr__(name): pass\n");
    let circle = circle.text(&format!("{SITE}/other.py"), "from torch import part\n");
    assert_eq!(failures(&circle), []);
}

#[test]
fn a_compiled_module_imports_what_its_source_imports() {
    let compiled = |source: &str| {
        torch("from part import anything\n")
            .empty(&format!("{SITE}/part.cpython-311-x86_64-linux-gnu.so"))
            .text(&format!("{SITE}/part.py"), source)
    };
    let [failure] = failures(&compiled("import absent\n")).try_into().unwrap();
    assert_eq!(failure.module, "absent");
    assert_eq!(failures(&compiled("import os\n")), []);
}

#[test]
fn a_vendored_finder_brings_its_own_modules_only() {
    let six = "import sys\nsys.meta_path.append(finder)\n";
    let image = |rest: &str| {
        torch(&format!("import vendored.six\n{rest}"))
            .text(&format!("{SITE}/vendored/__init__.py"), "")
            .text(&format!("{SITE}/vendored/six.py"), six)
    };
    assert_eq!(failures(&image("import vendored.six.moves.queue\n")), []);
    let [failure] = failures(&image("import absent\n")).try_into().unwrap();
    assert_eq!(failure.module, "absent");
}

/// A failed scan is never a pass.
#[cfg(target_os = "linux")]
#[test]
fn a_thread_that_cannot_be_started_is_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    let archive = scratch.path().join("image.tar");
    let site = "usr/lib/python3.11/site-packages";
    let layer = [
        file("usr/bin/python3.11", std::fs::read("/bin/sh").unwrap()),
        file("usr/lib/python3.11/os.py", ""),
        file(&format!("{site}/torch/__init__.py"), "import absent\n"),
    ];
    let image = testkit::Image::new("x:1", &[&layer]);
    write_archive(&archive, &docker_archive(&[image]));
    for kilobytes in [400_000, 600_000, 4_000_000] {
        let command = format!("ulimit -v {kilobytes} && exec \"$@\"");
        let output = std::process::Command::new("sh")
            .args(["-c", &command, "sh"])
            .arg(env!("CARGO_BIN_EXE_imgcheck"))
            .args(["check", "--no-cache", "--no-config"])
            .arg(&archive)
            .output()
            .unwrap();
        let (shown, error) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        match output.status.code() {
            Some(3) => assert!(error.contains("imports of Python"), "{kilobytes}: {error}"),
            _ => assert!(
                shown.contains("python-import-fails"),
                "{kilobytes}: {shown} {error}"
            ),
        }
    }
}

#[test]
fn only_what_is_imported_is_read_whatever_the_layers_are_stored_as() {
    const PYTHON: &str = "usr/lib/python3.11";
    let site = |path: &str, text: &str| file(&format!("{PYTHON}/site-packages/{path}"), text);
    let layer = [
        file("usr/bin/python3.11", std::fs::read("/bin/sh").unwrap()),
        file(&format!("{PYTHON}/os.py"), "name = 'posix'\n"),
        site(
            "torch/__init__.py",
            "from os import name\nfrom .part import x\n",
        ),
        site("torch/part.py", "import absent\n"),
        site("torch/unused.py", "x = 1\n"),
    ];
    let image = testkit::Image::new("x:1", &[&layer]);
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    write_archive(
        &at("plain.tar"),
        &docker_archive(std::slice::from_ref(&image)),
    );
    for (name, compression) in [
        ("gzip.tar", Compression::Gzip),
        ("zstd.tar", Compression::Zstd),
    ] {
        write_archive(
            &at(name),
            &oci_layout(std::slice::from_ref(&image), compression, false),
        );
    }
    write_directory(&at("root"), &layer);
    let checker = Checker::builder().build().unwrap();
    let facts = |name: &str| {
        let request = ImageRequest::new(at(name).display().to_string());
        serde_json::to_value(checker.facts(&request).unwrap()).unwrap()
    };
    let plain = facts("plain.tar");
    let entries = plain["layers"][0]["facts"]["entries"].as_array().unwrap();
    let is_read = |it: &&Value| it["kind"]["File"]["Module"].is_object();
    let read: Vec<&str> = entries
        .iter()
        .filter(is_read)
        .map(|it| it["path"].as_str().unwrap())
        .collect();
    let expected = [
        "os.py",
        "site-packages/torch/__init__.py",
        "site-packages/torch/part.py",
    ];
    assert_eq!(read, expected.map(|it| format!("{PYTHON}/{it}")));
    for name in ["gzip.tar", "zstd.tar"] {
        assert_eq!(facts(name)["layers"], plain["layers"], "{name}");
    }
    for name in ["plain.tar", "gzip.tar", "root"] {
        let (_, report) = check(&at(name), &[]);
        let findings = report["images"][0]["findings"].as_array().unwrap();
        let mut rules = findings.iter().map(|it| it["rule"].as_str().unwrap());
        assert!(
            rules.any(|it| it == "python-import-fails"),
            "{name}: {report}"
        );
    }
}
