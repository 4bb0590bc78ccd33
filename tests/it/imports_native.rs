//! Extension modules, and libraries that `ctypes` opens.

use imgcheck_base::bounds::Bounds;
use imgcheck_elf::ElfFacts;
use imgcheck_elf::facts::{Exports, VersionNeed};
use imgcheck_launch::Overlay;
use imgcheck_model::imports::AbsenceReason;
use imgcheck_rules::rules::{Facts, ImageFacts, PythonFacts, RuleSet};

use crate::imports::{LIBRARY, failures};
use crate::sample::{Derived, Image, SITE, elf, program};

const DYNLOAD: &str = "usr/local/lib/python3.11/lib-dynload";

/// A Python that shows which modules it contains, with the sources of some of its library, and a program.
fn python(main: &str) -> Image {
    let interpreter = ElfFacts {
        exports: Exports::of(&[("PyInit_posix", None), ("PyInit_zlib", None)]),
        ..program(&[])
    };
    let ctypes = "from _ctypes import CFuncPtr\nclass CDLL: pass\ncdll = CDLL()\n";
    Image::python()
        .elf("usr/local/bin/python3.11", interpreter)
        .text(&format!("{LIBRARY}/os.py"), "")
        .text(&format!("{LIBRARY}/lzma.py"), "from _lzma import *\n")
        .text(&format!("{LIBRARY}/ctypes/__init__.py"), ctypes)
        .text(
            &format!("{LIBRARY}/uuid.py"),
            "try:\n    import _uuid\nexcept ImportError:\n    _uuid = None\n",
        )
        .text("app/main.py", main)
        .command(&["python3", "/app/main.py"])
}

fn module(image: Image, name: &str, needed: &[&str]) -> Image {
    let file = format!("{name}.cpython-311-x86_64-linux-gnu.so");
    image.library(DYNLOAD, &file, needed)
}

/// What the program raises, the module or library, and the library that is missing.
fn raised(image: &Image) -> Vec<(String, String, String)> {
    let failures = failures(image).into_iter();
    let raised = failures.map(|it| (it.raises, it.module, it.elsewhere));
    raised.collect()
}

fn error(class: &str, module: &str, library: &str) -> Vec<(String, String, String)> {
    vec![(class.to_owned(), module.to_owned(), library.to_owned())]
}

#[test]
fn an_extension_module_that_is_absent() {
    let absent = error("ModuleNotFoundError", "_lzma", "");
    assert_eq!(raised(&python("import lzma\n")), absent);
    assert_eq!(raised(&python("import _lzma\n")), absent);
    assert_eq!(raised(&module(python("import lzma\n"), "_lzma", &[])), []);
    for fine in [
        "import zlib, uuid\n",
        "try:\n    import lzma\nexcept ImportError:\n    pass\n",
    ] {
        assert_eq!(raised(&python(fine)), [], "{fine}");
    }
    // A Python that does not show what it contains may have it.
    let unknown = python("import lzma\n").elf("usr/local/bin/python3.11", program(&[]));
    assert_eq!(raised(&unknown), []);
    // So may one that names its files in a way of its own.
    let other = python("import lzma\n").elf(&format!("{DYNLOAD}/_bz2.cpython-311x.so"), elf(&[]));
    assert_eq!(raised(&other), []);
}

#[test]
fn an_extension_module_without_its_library() {
    let image = module(python("import lzma\n"), "_lzma", &["liblzma.so.5"]);
    assert_eq!(
        raised(&image),
        error("ImportError", "_lzma", "liblzma.so.5")
    );
    assert_eq!(
        raised(&image.clone().library("usr/lib64", "liblzma.so.5", &[])),
        []
    );
    let uuid = module(python("import uuid\n"), "_uuid", &["libuuid.so.1"]);
    assert_eq!(raised(&uuid), []);
}

/// A package with an extension module that needs a library.
fn package(main: &str, needed: &str) -> Image {
    python(main)
        .text(&format!("{SITE}/video/__init__.py"), "from . import core\n")
        .library(&format!("{SITE}/video"), "core.abi3.so", &[needed])
}

#[test]
fn an_extension_module_of_a_package_without_its_library() {
    let image = package("import video\n", "libGL.so.1");
    assert_eq!(
        raised(&image),
        error("ImportError", "video.core", "libGL.so.1")
    );
    // Python or the package may have opened the file by its path.
    for directory in ["usr/lib64", "opt/gl"] {
        let image = image.clone().library(directory, "libGL.so.1", &[]);
        assert_eq!(raised(&image), [], "{directory}");
    }
    // What the package has for callers does not prepare its own import.
    let changing = "import sys\ndef change():\n    sys.path.append('x')\nfrom . import core\n";
    let changing = image
        .clone()
        .text(&format!("{SITE}/video/__init__.py"), changing);
    assert_eq!(
        raised(&changing),
        error("ImportError", "video.core", "libGL.so.1")
    );
    let caught = "try:\n    import video\nexcept ImportError:\n    video = None\n";
    assert_eq!(raised(&package(caught, "libGL.so.1")), []);
    // The driver of the host.
    assert_eq!(raised(&package("import video\n", "libcuda.so.1")), []);
    // A table says what PyTorch opens before its modules.
    let torch = python("import torch\n")
        .text(&format!("{SITE}/torch/__init__.py"), "from . import _C\n")
        .library(&format!("{SITE}/torch"), "_C.abi3.so", &["libabsent.so.1"]);
    assert_eq!(raised(&torch), []);
}

/// A library that defines versions, as glibc and libstdc++ do, and an extension module that was built for a newer one.
#[test]
fn an_extension_module_that_was_built_for_a_newer_library() {
    let library = |versions: &[&str]| ElfFacts {
        soname: Some("libv.so.1".to_owned()),
        version_definitions: versions.iter().map(|it| (*it).to_owned()).collect(),
        ..elf(&[])
    };
    let core = |weak: bool| ElfFacts {
        version_needs: vec![VersionNeed {
            file: "libv.so.1".to_owned(),
            versions: vec![("V_1".to_owned(), false), ("V_2".to_owned(), weak)],
        }],
        ..elf(&["libv.so.1"])
    };
    let image = |program: ElfFacts, versions: &[&str]| {
        python("import video\n")
            .text(&format!("{SITE}/video/__init__.py"), "from . import core\n")
            .elf(&format!("{SITE}/video/core.abi3.so"), program)
            .elf("usr/lib64/libv.so.1", library(versions))
    };
    let old = image(core(false), &["V_1"]);
    let too_old = error("ImportError", "video.core", "/usr/lib64/libv.so.1");
    assert_eq!(raised(&old), too_old);
    let [failure] = failures(&old).try_into().unwrap();
    assert_eq!(failure.symbol_version.as_deref(), Some("V_2"));
    assert_eq!(failure.reason, AbsenceReason::LibraryTooOld);
    // The library may be loaded already.
    let loaded = ElfFacts {
        exports: Exports::of(&[("PyInit_posix", None), ("PyInit_zlib", None)]),
        ..program(&["libv.so.1"])
    };
    let loaded = old.clone().elf("usr/local/bin/python3.11", loaded);
    assert_eq!(raised(&loaded), too_old);
    assert_eq!(raised(&image(core(true), &["V_1"])), []);
    assert_eq!(raised(&image(core(false), &["V_1", "V_2"])), []);
    assert_eq!(raised(&image(core(false), &[])), []);
    // Python may have loaded a newer copy before.
    let newer = old.elf("opt/conda/lib/libv.so.1", library(&["V_1", "V_2"]));
    assert_eq!(raised(&newer), []);
}

/// One cause is one finding: that of the import, which is certain, and not that of the loader as well.
#[test]
fn a_library_that_an_import_needs_is_reported_once() {
    let said = |main: &str| {
        let record = "video/__init__.py,,\nvideo/core.abi3.so,,\n";
        let image = package(main, "libGL.so.1")
            .package("video", "1.0")
            .text(&format!("{SITE}/video-1.0.dist-info/RECORD"), record);
        let Derived { stack, loader, .. } = image.derive(&Overlay::default()).unwrap();
        let python = PythonFacts {
            import_failures: failures(&image),
            ..PythonFacts::default()
        };
        let facts = Facts {
            loader: Some(loader.into()),
            python: Some(python.into()),
            ..Facts::of_image(ImageFacts::default(), vec![], &stack.into())
        };
        let rules = RuleSet::builtin().unwrap();
        let findings = rules.evaluate(&facts, &Bounds::default()).unwrap();
        let own = ["python-import-fails", "load-missing-library"];
        let findings = findings.into_iter();
        let findings = findings.filter(|it| own.contains(&it.rule.as_str()));
        let said = findings.map(|it| format!("{:?} {}", it.severity, it.message));
        said.collect::<Vec<_>>()
    };
    let video = format!("/{SITE}/video");
    let missing = "because the library libGL.so.1 is missing";
    assert_eq!(
        said("import video\n"),
        [format!(
            "Error the command ends with ImportError, {missing}: {video}/__init__.py, line 1, imports video.core, which needs it"
        )]
    );
    let [warning] = said("").try_into().unwrap();
    assert!(
        warning.starts_with("Warning ") && warning.contains("libGL.so.1: cannot open"),
        "{warning}"
    );
}

#[test]
fn a_library_that_ctypes_opens() {
    let absent = error("OSError", "libabsent.so.1", "libabsent.so.1");
    for open in [
        "import ctypes\nctypes.CDLL('libabsent.so.1')\n",
        "import ctypes as c\nlib = c.CDLL('libabsent.so.1', mode=c.RTLD_GLOBAL)\n",
        "import ctypes\nlib = ctypes.cdll.LoadLibrary('libabsent.so.1')\n",
        "from ctypes import CDLL\nlib = CDLL('libabsent.so.1')\n",
        "from ctypes import cdll as c\nlib: object = c.LoadLibrary('libabsent.so.1')\n",
        "import ctypes\nif __name__ == '__main__':\n    ctypes.CDLL('libabsent.so.1')\n",
        "import ctypes\ntry:\n    ctypes.CDLL('libabsent.so.1')\nexcept ImportError:\n    pass\n",
    ] {
        assert_eq!(raised(&python(open)), absent, "{open}");
    }
    for fine in [
        "import ctypes\nctypes.CDLL('libthere.so.1')\n",
        "import ctypes\nctypes.CDLL('libelsewhere.so.1')\n",
        "import ctypes\nctypes.CDLL('/opt/libabsent.so.1')\n",
        "import ctypes\nctypes.CDLL('libcuda.so.1')\n",
        "import ctypes\nctypes.CDLL(None)\n",
        "import ctypes\nctypes.CDLL('libabsent.so.1', handle=1)\n",
        "import ctypes\nctypes.CDLL('libabsent.so.1' + x)\n",
        "import ctypes\nctypes = other\nctypes.CDLL('libabsent.so.1')\n",
        "import ctypes\ndef f():\n    ctypes.CDLL('libabsent.so.1')\n",
        "import ctypes\ntry:\n    ctypes.CDLL('libabsent.so.1')\nexcept OSError:\n    pass\n",
        "import ctypes\ntry:\n    ctypes.CDLL('libabsent.so.1')\nexcept:\n    pass\n",
        "import ctypes, sys\nif sys.platform == 'win32':\n    ctypes.CDLL('libabsent.so.1')\n",
        "from .ctypes import CDLL\nCDLL('libabsent.so.1')\n",
    ] {
        let image = python(fine)
            .library("usr/lib64", "libthere.so.1", &[])
            .library("opt/x", "libelsewhere.so.1", &[]);
        let raised = raised(&image).into_iter();
        let mut opened = raised.filter(|it| it.0 == "OSError");
        assert_eq!(opened.next(), None, "{fine}");
    }
    let needs = python("import ctypes\nctypes.CDLL('libthere.so.1')\n");
    let needs = needs.library("usr/lib64", "libthere.so.1", &["libabsent.so.1"]);
    assert_eq!(
        raised(&needs),
        error("OSError", "libthere.so.1", "libabsent.so.1")
    );
}
