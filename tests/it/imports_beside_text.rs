//! Imports that the text of a module does not show, and modules that it brings without files.

use imgcheck_model::imports::AbsenceReason;

use crate::imports::{LIBRARY, failures, torch};
use crate::sample::{Image, SITE};

const INIT: &str = "import os, torch.part\n";

/// PyTorch whose second module imports a part of the package that is not there; `after` follows that import.
fn without_part(after: &str) -> Image {
    torch(&format!("{INIT}{after}"))
        .text(&format!("{SITE}/torch/part.py"), "import torch.version\n")
}

fn missing(image: &Image) -> Vec<String> {
    failures(image).into_iter().map(|it| it.module).collect()
}

#[test]
fn what_a_package_does_later_brings_nothing_before() {
    for later in [
        "",
        "import sys\nsys.modules['torch.' + 'version'] = os\n",
        "import sys\ndef f(name):\n    sys.modules[name] = os\nf('torch.version')\n",
        "__path__.append('x')\n",
        "from sys import modules\nmodules['torch.version'] = os\n",
    ] {
        assert_eq!(missing(&without_part(later)), ["torch.version"], "{later}");
    }
    for before in [
        "import sys\nsys.modules['torch.' + 'version'] = sys\n",
        "import sys\ndef f(name):\n    sys.modules[name] = sys\n",
        "__path__.append('x')\n",
        "from sys import modules\nmodules['torch.version'] = modules\n",
        "import sys\nsys.modules[f'{__name__}.version'] = sys\n",
        "import sys\nsys.modules.setdefault(f'{__name__}.version', sys)\n",
    ] {
        let image = torch(&format!("{before}{INIT}"))
            .text(&format!("{SITE}/torch/part.py"), "import torch.version\n");
        assert_eq!(missing(&image), Vec::<String>::new(), "{before}");
    }
    let other = "import sys\nsys.modules.setdefault(f'{__name__}.ops', sys)\n";
    let image = torch(&format!("{other}import torch.ops, torch.version\n"));
    assert_eq!(missing(&image), ["torch.version"]);
}

/// An import that is being executed has bound nothing yet: neither the names of its module, nor that of the module itself.
#[test]
fn an_import_binds_its_names_at_its_end() {
    let part = |init: &str, part: &str| torch(init).text(&format!("{SITE}/torch/part.py"), part);
    let own = "from . import gone\n";
    for init in [
        "from .part import *\nfrom . import gone\n",
        "from . import part\nfrom .part import *\n",
        "import torch.part\nfrom .part import gone\n",
    ] {
        assert_eq!(missing(&part(init, own)), ["torch"], "{init}");
    }
    // What comes before on its line, or from elsewhere, is bound.
    for (init, source) in [
        ("from os import name as gone; from .part import *\n", own),
        ("from os import gone; from .part import *\n", own),
        (
            "from .part import *\n",
            "gone = 1\nfrom torch import part\n",
        ),
    ] {
        let image = part(init, source).text(&format!("{LIBRARY}/os.py"), "name = gone = 1\n");
        assert_eq!(missing(&image), Vec::<String>::new(), "{init}");
    }
}

#[test]
fn after_the_package_is_imported_it_may_have_brought_anything() {
    let brings = "import sys\nsys.modules['torch.' + 'version'] = sys\n";
    let image = torch(&format!("import torch.part\n{brings}"))
        .text(&format!("{SITE}/torch/part.py"), "import helper\n")
        .text(&format!("{SITE}/helper.py"), "import torch.version\n")
        .command(&["python3", "-c", "import helper"]);
    // `helper` may be the first to be imported, and then PyTorch is whole when it goes on.
    assert_eq!(missing(&image), Vec::<String>::new());
}

#[test]
fn a_known_function_brings_only_what_is_known() {
    let function = "import sys\ndef _import_extension_to_sys_modules(name):\n    sys.modules.setdefault(name, sys)\n_import_extension_to_sys_modules('x')\n";
    let image = |import: &str| torch(&format!("{function}import {import}\n"));
    assert_eq!(missing(&image("torch.distributed")), ["torch.distributed"]);
    assert_eq!(missing(&image("torch._C")), Vec::<String>::new());
    assert_eq!(missing(&image("torch._Cx")), ["torch._Cx"]);
}

#[test]
fn what_a_function_certainly_imports() {
    let cupy = |version: &str| {
        torch("")
            .text(&format!("{SITE}/cupy/__init__.py"), "import os\n")
            .package("cupy-cuda13x", version)
    };
    assert_eq!(missing(&cupy("14.2.0")), ["cuda"]);
    assert_eq!(missing(&cupy("13.6.0")), Vec::<String>::new());
    let whole = cupy("14.2.0").text(&format!("{SITE}/cuda/pathfinder/__init__.py"), "");
    assert_eq!(missing(&whole), Vec::<String>::new());
    let namespace = cupy("14.2.0").text(&format!("{SITE}/cuda/bindings/__init__.py"), "");
    assert_eq!(missing(&namespace), ["cuda.pathfinder"]);
}

/// OpenCV imports its extension module by its directory, and restores `sys.path`.
#[test]
fn a_module_that_restores_the_search_path() {
    let bootstrap = "import sys\ndef bootstrap():\n    saved = sys.path[:]\n    sys.path.insert(1, __file__)\n    sys.path = saved\nbootstrap()\n";
    let image = |version: &str| {
        torch("import cv2\nimport no_such\n")
            .text(&format!("{SITE}/cv2/__init__.py"), bootstrap)
            .text(&format!("{SITE}/cv2/cv2.py"), "")
            .package("opencv-python", version)
    };
    assert_eq!(missing(&image("4.11.0.86")), ["no_such"]);
    assert_eq!(missing(&image("4.2.0.34")), Vec::<String>::new());
}

#[test]
fn what_only_a_first_use_imports() {
    let image = torch("import os\n")
        .text(&format!("{SITE}/torch/_dynamo/__init__.py"), "")
        .text(&format!("{SITE}/torch/_inductor/__init__.py"), "");
    let compiles = |source: &str| {
        let image = image.clone();
        image.text(&format!("{SITE}/torch/_inductor/compile_fx.py"), source)
    };
    let [failure] = failures(&compiles("import networkx\n")).try_into().unwrap();
    assert_eq!(
        (
            failure.program.as_str(),
            failure.module.as_str(),
            failure.when.as_str()
        ),
        ("torch", "networkx", "the first `torch.compile`")
    );
    assert_eq!(missing(&compiles("import os\n")), Vec::<String>::new());
    // What fails at the import does not fail once more later.
    let broken = compiles("import networkx\n")
        .layer()
        .text(&format!("{SITE}/torch/__init__.py"), "import absent\n");
    assert_eq!(missing(&broken), ["absent"]);
}

#[test]
fn a_submodule_of_a_package_that_may_bind_any_name() {
    let image = torch("globals()[key] = 1\nfrom torch import optim as optim\n");
    assert_eq!(failures(&image), []);
    let optim = image.text(&format!("{SITE}/torch/optim.py"), "import absent\n");
    let [failure] = failures(&optim).try_into().unwrap();
    assert_eq!(failure.module, "absent");
}

#[test]
fn the_first_optimizer_of_pytorch() {
    let image = torch("import os\n")
        .text(
            &format!("{SITE}/torch/_dynamo/__init__.py"),
            "import sympy\n",
        )
        .text(&format!("{SITE}/torch/_inductor/__init__.py"), "")
        .text(&format!("{SITE}/torch/_inductor/compile_fx.py"), "");
    let [failure] = failures(&image).try_into().unwrap();
    assert_eq!(
        (failure.module.as_str(), failure.when.as_str()),
        ("sympy", "the first optimizer (`torch.optim.SGD(…)`)")
    );
}

#[test]
fn an_import_in_a_circle_within_a_package() {
    let image =
        |init: &str| torch(init).text(&format!("{SITE}/torch/part.py"), "from torch import late\n");
    assert_eq!(
        missing(&image(
            "from . import part\nfrom os import name as x, late\n"
        )),
        ["torch"]
    );
    assert_eq!(
        missing(&image(
            "if unknown():\n    from absent import late\nfrom . import part\n"
        )),
        Vec::<String>::new()
    );
}

/// The modules of the standard library with a source, by the table.
fn standard_library() -> Vec<String> {
    let table = include_str!("../../rules/knowledge/python-modules.yaml");
    let (_, list) = table.split_once("\nstandard: [").unwrap();
    let (list, _) = list.split_once(']').unwrap();
    list.split(',').map(|it| it.trim().to_owned()).collect()
}

#[test]
fn a_part_that_the_standard_library_leaves_out() {
    let with = |count: usize| {
        let names = standard_library().into_iter();
        let names = names.filter(|it| it != "tkinter").take(count);
        names.fold(torch("import tkinter\n"), |image, name| {
            image.text(&format!("{LIBRARY}/{name}.py"), "")
        })
    };
    let [failure] = failures(&with(200)).try_into().unwrap();
    assert_eq!(
        (failure.module.as_str(), failure.reason),
        ("tkinter", AbsenceReason::NotInLibrary)
    );
    // Too little of it is there to know what the others are in.
    assert_eq!(missing(&with(80)), Vec::<String>::new());
    let guarded = with(200).layer().text(
        &format!("{SITE}/torch/__init__.py"),
        "try:\n    import tkinter\nexcept ImportError: pass\n",
    );
    assert_eq!(missing(&guarded), Vec::<String>::new());
}

/// dill and multiprocess look for their version elsewhere if they are not installed whole.
#[test]
fn a_search_path_that_changes_only_after_a_failed_import() {
    let init = "try:\n    from .info import version\nexcept Exception:\n    import sys\n    sys.path.append('/x')\nimport absent\n";
    let whole = torch(init).text(&format!("{SITE}/torch/info.py"), "version = 1\n");
    assert_eq!(missing(&whole), ["absent"]);
    assert_eq!(missing(&torch(init)), Vec::<String>::new());
    let broken = torch(init).text(&format!("{SITE}/torch/info.py"), "import nothing\n");
    assert_eq!(missing(&broken), Vec::<String>::new());
}
