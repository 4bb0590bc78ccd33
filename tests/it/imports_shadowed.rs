//! Files that hide modules of the standard library.

use imgcheck_model::imports::{AbsenceReason, ImportFailure};

use crate::imports::{LIBRARY, failures, torch};
use crate::sample::{Image, SITE};

/// PyTorch with this source, where a program has a file of its own and the standard library has modules.
fn beside(source: &str, name: &str, text: &str) -> Image {
    torch(source)
        .text("app/main.py", "import torch\n")
        .text(&format!("app/{name}"), text)
        .text(&format!("{LIBRARY}/logging.py"), "def getLogger(): pass\n")
        .text(&format!("{LIBRARY}/random.py"), "Random = 1\n")
        .text(
            &format!("{LIBRARY}/tempfile.py"),
            "from random import Random as _Random\n",
        )
        .command(&["python3", "/app/main.py"])
}

/// What the program raises, with the module and the name.
fn raised(image: &Image) -> Option<(String, String, String)> {
    let all = failures(image);
    let of_command = all.into_iter().find(|it| it.is_command)?;
    Some((of_command.raises, of_command.module, of_command.name))
}

fn error(class: &str, module: &str, name: &str) -> Option<(String, String, String)> {
    Some((class.to_owned(), module.to_owned(), name.to_owned()))
}

#[test]
fn an_attribute_that_the_file_lacks() {
    let source = "import logging\n\nlog = logging.getLogger()\n";
    let image = beside(source, "logging.py", "x = 1\n");
    assert_eq!(
        failures(&image)[0],
        ImportFailure {
            program: "/app/main.py".to_owned(),
            is_command: true,
            module: "logging".to_owned(),
            name: "getLogger".to_owned(),
            raises: "AttributeError".to_owned(),
            importer: format!("/{SITE}/torch/__init__.py"),
            line: 3,
            layer: Some(0),
            distribution: "torch".to_owned(),
            missing: "logging".to_owned(),
            reason: AbsenceReason::Shadowed,
            elsewhere: "/app/logging.py".to_owned(),
            is_beside_program: true,
            environment: "/usr/local".to_owned(),
            searched: vec!["/app".to_owned(), format!("/{SITE}")],
            certain: true,
            ..ImportFailure::default()
        }
    );
    for used in [
        "import logging as l\nclass A(l.Logger): pass\n",
        "import logging\n@logging.wraps\ndef f(): pass\n",
        "import logging\ndef f(x=logging.INFO): pass\n",
        "import logging\nx = [1, not logging.INFO > 2]\n",
    ] {
        let image = beside(used, "logging.py", "x = 1\n");
        assert!(raised(&image).is_some(), "{used}");
    }
}

#[test]
fn an_attribute_that_may_not_be_needed() {
    let text = "x = 1\n";
    for unused in [
        "import logging\n",
        "import logging\nlogging.x\n",
        "import logging\ndef f(): logging.getLogger()\n",
        "import logging\ntry:\n    logging.getLogger()\nexcept Exception: pass\n",
        "import logging\nx = False and logging.getLogger()\n",
        "import logging\nx = lambda: logging.getLogger()\n",
        "import logging\nx = [logging.y for y in ()]\n",
        "import logging\nx: logging.Logger\n",
        "import logging\nlogging.getLogger = 1\n",
        "import logging\nfrom os import name as logging\nlogging.getLogger()\n",
        "import logging\nlogging = 1\nlogging.getLogger()\n",
        "import logging\ndef f():\n    global logging\n    logging = 1\nf()\nlogging.getLogger()\n",
        "try:\n    import absent as logging\nexcept ImportError:\n    import logging\nlogging.getLogger()\n",
    ] {
        let image = beside(unused, "logging.py", text);
        assert_eq!(raised(&image), None, "{unused}");
    }
    let source = "import logging\nlogging.getLogger()\n";
    for whole in [
        "def getLogger(): pass\n",
        "from absent import *\n",
        "def __getattr__(name): pass\n",
        "globals()['getLogger'] = 1\n",
        "import sys\nsys.path.append('x')\nfrom y import *\n",
    ] {
        let image = beside(source, "logging.py", whole);
        let raised = raised(&image).filter(|it| it.1 == "logging");
        assert_eq!(raised, None, "{whole}");
    }
    // Without the file, the library's own counts; in a directory after the library, too.
    assert_eq!(raised(&beside(source, "other.py", text)), None);
    let later = beside(source, "other.py", "").text(&format!("{SITE}/logging.py"), text);
    assert_eq!(raised(&later), None);
}

#[test]
fn the_standard_library_is_followed_only_if_something_is_hidden() {
    let image = beside("import tempfile\n", "random.py", "");
    assert_eq!(raised(&image), error("ImportError", "random", "Random"));
    let whole = beside("import tempfile\n", "random.py", "class Random: pass\n");
    assert_eq!(raised(&whole), None);
    // A module of the library that lacks a name is no finding, whatever is beside the program.
    let library = beside("import tempfile\n", "main2.py", "").text(
        &format!("{LIBRARY}/tempfile.py"),
        "from random import absent\n",
    );
    assert_eq!(raised(&library), None);
}

#[test]
fn what_python_has_before_it_searches_is_not_hidden() {
    for name in ["os.py", "codecs.py", "site.py"] {
        let image = beside("import os, codecs, site\nfrom os import name\n", name, "");
        assert_eq!(raised(&image), None, "{name}");
    }
}

#[test]
fn one_file_is_one_cause() {
    let image = beside("import tempfile\n", "random.py", "");
    let [failure] = failures(&image).try_into().unwrap();
    assert!(failure.is_command && failure.is_beside_program);
    let named = torch("import tempfile\n")
        .text(
            &format!("{LIBRARY}/tempfile.py"),
            "from random import Random as _Random\n",
        )
        .text(&format!("{LIBRARY}/random.py"), "Random = 1\n")
        .text("opt/lib/random.py", "")
        .process(&["PYTHONPATH=/opt/lib"], &["python3", "-c", "import torch"]);
    let [failure] = failures(&named).try_into().unwrap();
    assert!(failure.is_command && !failure.is_beside_program);
}
