//! Modules that come before an installed package of the same name: which file `import` executes, by Python's own rules, and what
//! imgcheck says of the package.

use imgcheck_model::stack::{ShadowedPackage, ShadowingPlace};
use serde_json::json;

use crate::sample::{Image, SITE, elf, program};

/// NumPy with metadata, and PyTorch.
fn installed() -> Image {
    Image::python()
        .torch()
        .text(&format!("{SITE}/torch/__init__.py"), "")
        .package("torch", "2.8.0")
        .text(&format!("{SITE}/numpy/__init__.py"), "")
        .package("numpy", "2.1.0")
}

fn started(image: Image) -> Image {
    image.config(json!({
        "Env": ["PYTHONPATH=/opt/first"], "Cmd": ["python3", "/app/main.py"], "WorkingDir": "/",
    }))
}

/// The modules that hide a package, with the files that are executed.
fn shadowed(image: Image) -> Vec<(String, String)> {
    let found = started(image).stack().shadowed_packages.into_iter();
    found.map(|it| (it.module, it.executed)).collect()
}

#[test]
fn what_import_executes_is_named() {
    let image = installed().text("opt/first/numpy/__init__.py", "");
    let stack = started(image).stack();
    assert_eq!(
        stack.shadowed_packages,
        [ShadowedPackage {
            module: "numpy".to_owned(),
            executed: "/opt/first/numpy/__init__.py".to_owned(),
            layer: Some(0),
            installed: format!("/{SITE}/numpy/__init__.py"),
            distribution: "numpy".to_owned(),
            version: "2.1.0".to_owned(),
            metadata: format!("/{SITE}/numpy-2.1.0.dist-info/METADATA"),
            found_in: ShadowingPlace::PythonPath,
            has_libraries: false,
            known: true,
            environment: "/usr/local".to_owned(),
            certain: true,
        }]
    );
    // No rule judges the version of a package that is not imported.
    assert_eq!(stack.importable().get("numpy"), None);
    assert_eq!(stack.importable().get("torch").unwrap(), "2.8.0");
    let loaded = |name: &str| {
        stack
            .components
            .iter()
            .any(|it| it.name == name && it.loaded)
    };
    assert!(loaded("torch") && !loaded("numpy"));
    let hidden = started(installed().text("opt/first/torch.py", ""));
    let stack = hidden.stack();
    assert!(
        !stack
            .components
            .iter()
            .any(|it| it.name == "torch" && it.loaded)
    );
    assert!(
        hidden
            .loader()
            .processes
            .iter()
            .all(|it| it.imports.iter().all(|it| it.package != "torch"))
    );
}

#[test]
fn every_kind_of_module_hides_a_package() {
    for file in [
        "opt/first/numpy/__init__.py",
        "opt/first/numpy/__init__.pyc",
        "opt/first/numpy.py",
        "opt/first/numpy.pyc",
        "opt/first/numpy.so",
        "opt/first/numpy.abi3.so",
        "opt/first/numpy.cpython-311-x86_64-linux-gnu.so",
        "app/numpy.py",
        "usr/local/lib/python3.11/numpy/__init__.py",
        "usr/local/lib/python3.11/lib-dynload/numpy.cpython-311-x86_64-linux-gnu.so",
        "root/.local/lib/python3.11/site-packages/numpy/__init__.py",
    ] {
        let found = shadowed(installed().text(file, ""));
        assert_eq!(found, [("numpy".to_owned(), format!("/{file}"))]);
    }
    let linked = installed()
        .text("srv/build/__init__.py", "")
        .link("opt/first/numpy", "/srv/build");
    assert_eq!(
        shadowed(linked),
        [("numpy".to_owned(), "/srv/build/__init__.py".to_owned())]
    );
}

#[test]
fn what_python_does_not_import_first_hides_nothing() {
    for image in [
        installed(),
        installed().text("opt/first/numpy/include/numpy.h", ""),
        installed().text("opt/first/numpy/data/__init__.py", ""),
        installed().directory("opt/first/numpy.py"),
        installed().text("opt/first/numpy.cpython-310-x86_64-linux-gnu.so", ""),
        installed().text("opt/first/numpy.cpython-311-x86_64-linux-gnu.so.bak", ""),
        installed().text("opt/later/numpy.py", ""),
        installed().text("opt/first/other/numpy.py", ""),
        installed()
            .text("opt/later/numpy.py", "")
            .text(&format!("{SITE}/x.pth"), "/opt/later\n"),
        // The same files, or others with their own metadata.
        installed().link("opt/first/numpy", &format!("/{SITE}/numpy")),
        installed()
            .text("opt/first/numpy/__init__.py", "")
            .distribution("opt/first", "numpy", "1.26.4"),
        installed().text("opt/first/torch/__init__.py", "").text(
            "opt/first/torch/version.py",
            "__version__ = '2.6.0'\ngit_version = 'abc'\n",
        ),
        installed()
            .text("opt/venv/numpy/__init__.py", "")
            .distribution("opt/venv", "numpy", "1.26.4")
            .link("opt/first/numpy", "/opt/venv/numpy"),
        // Nothing is installed that it could hide.
        installed().text("opt/first/vllm/__init__.py", ""),
        installed()
            .text("opt/first/vllm/__init__.py", "")
            .package("vllm", "0.9.0"),
    ] {
        assert_eq!(shadowed(image), []);
    }
}

/// An editable install has metadata in the directory of packages, and its files elsewhere.
#[test]
fn an_editable_install_is_what_its_metadata_says() {
    let image = installed()
        .text(
            "root/.local/lib/python3.11/site-packages/__editable__.numpy.pth",
            "/src/numpy\n",
        )
        .distribution("root/.local/lib/python3.11/site-packages", "numpy", "2.2.0")
        .text("src/numpy/numpy/__init__.py", "");
    assert_eq!(shadowed(image), []);
}

#[test]
fn it_is_certain_only_if_the_command_starts_that_python() {
    let image = || installed().text("opt/first/numpy.py", "");
    let certain = |image: Image| image.stack().shadowed_packages[0].certain;
    assert!(certain(started(image())));
    let env = &["PYTHONPATH=/opt/first"];
    for command in [
        &["bash"][..],
        &["sh", "-c", "$PROGRAM; exec python3 /app/main.py"],
    ] {
        assert!(!certain(image().process(env, command)), "{command:?}");
    }
    let unknown = image().text(&format!("{SITE}/x.pth"), "import anything\n");
    assert!(!certain(started(unknown)));
}

#[test]
fn a_build_without_metadata_has_libraries() {
    let image = installed().text("opt/first/numpy/__init__.py", "").elf(
        "opt/first/numpy/core/_umath.cpython-311-x86_64-linux-gnu.so",
        elf(&[]),
    );
    assert!(started(image).stack().shadowed_packages[0].has_libraries);
    let module = installed().elf("opt/first/numpy.cpython-311-x86_64-linux-gnu.so", elf(&[]));
    assert!(!started(module).stack().shadowed_packages[0].has_libraries);
}

/// What an interpreter refuses, and whether the image starts it for certain.
fn refused(env: &[&str], command: &[&str]) -> Vec<(String, bool)> {
    let image = installed()
        .text(
            "usr/local/lib/python3.11/encodings/__init__.py",
            "import codecs\n",
        )
        .elf("usr/bin/env", program(&[]))
        .text("srv/tool", "#!/usr/local/bin/python3\n")
        .process(env, command);
    let refusals = image.stack().start_refusals.into_iter();
    refusals.map(|it| (it.setting, it.certain)).collect()
}

#[test]
fn settings_count_for_the_python_that_gets_them() {
    let seed = |certain| vec![("PYTHONHASHSEED=abc".to_owned(), certain)];
    let env = &["PYTHONHASHSEED=abc"];
    assert_eq!(refused(env, &["python3", "main.py"]), seed(true));
    assert_eq!(refused(env, &["/srv/tool"]), seed(true));
    assert_eq!(refused(env, &["bash"]), seed(false));
    assert_eq!(
        refused(env, &["env", "-u", "PYTHONHASHSEED", "python3", "main.py"]),
        []
    );
    assert_eq!(
        refused(&[], &["env", "PYTHONHASHSEED=abc", "python3", "main.py"]),
        seed(true)
    );
    for option in ["-I", "-E", "-R", "-V"] {
        assert_eq!(
            refused(env, &["python3", option, "main.py"]),
            [],
            "{option}"
        );
    }
    let two = refused(
        &["PYTHONHASHSEED=abc", "PYTHONUTF8=2"],
        &["python3", "-Q", "main.py"],
    );
    let two: Vec<&str> = two.iter().map(|(setting, _)| setting.as_str()).collect();
    assert_eq!(two, ["-Q", "PYTHONHASHSEED=abc", "PYTHONUTF8=2"]);
    assert_eq!(refused(&[], &["python3", "main.py", "-Q"]), []);
}

#[test]
fn the_home_of_python_has_its_library() {
    let home = |home: &str| refused(&[&format!("PYTHONHOME={home}")], &["python3", "main.py"]);
    assert_eq!(home("/usr/local"), []);
    assert_eq!(home("/usr/local:/usr/local"), []);
    assert_eq!(home(""), []);
    for wrong in ["/none", "/srv", "/usr/local/bin"] {
        assert_eq!(home(wrong), [(format!("PYTHONHOME={wrong}"), true)]);
    }
    assert_eq!(
        refused(&["PYTHONHOME=/none"], &["python3", "-E", "main.py"]),
        []
    );
    let elsewhere = &["PYTHONHOME=/none", "PYTHONPATH=/usr/local/lib/python3.11"];
    assert_eq!(refused(elsewhere, &["python3", "main.py"]), []);
}

#[test]
fn a_file_in_place_of_a_package_that_no_table_knows() {
    let installed = || {
        let image = installed().package("Jinja2", "3.1.6");
        let modules = ["__init__", "filters", "loaders", "runtime"];
        let image = modules.iter().fold(image, |image, it| {
            image.text(&format!("{SITE}/jinja2/{it}.py"), "")
        });
        image
            .package("six", "1.17.0")
            .text(&format!("{SITE}/six.py"), "")
    };
    let found = |files: &[&str]| -> Vec<String> {
        let add = |image: Image, file: &&str| image.text(file, "x = 1\n");
        let image = files.iter().fold(installed(), add);
        shadowed(image).into_iter().map(|(_, it)| it).collect()
    };
    let stack = started(installed().text("opt/first/jinja2.py", "")).stack();
    let [package] = &stack.shadowed_packages[..] else {
        panic!("{:?}", stack.shadowed_packages);
    };
    assert!(!package.known && package.found_in == ShadowingPlace::PythonPath);
    assert_eq!(
        (package.distribution.as_str(), package.version.as_str()),
        ("jinja2", "3.1.6")
    );
    assert_eq!(found(&["app/jinja2.py"]), ["/app/jinja2.py"]);
    let other = ["app/jinja2/__init__.py", "app/jinja2/mine.py"];
    assert_eq!(found(&other), ["/app/jinja2/__init__.py"]);
    assert_eq!(found(&["app/six/__init__.py"]), ["/app/six/__init__.py"]);
    for harmless in [
        &["app/jinja2/templates.html"][..],
        &["app/six.py"],
        &["app/jinja.py"],
        // The program itself, or a copy of the package.
        &[
            "app/jinja2/__init__.py",
            "app/jinja2/filters.py",
            "app/jinja2/loaders.py",
        ],
        &[&format!("{SITE}/six/x.py")],
    ] {
        assert_eq!(found(harmless), [""; 0], "{harmless:?}");
    }
    // A package whose module has another name than its distribution.
    let record = format!("{SITE}/PyYAML-6.0.2.dist-info/RECORD");
    let yaml = installed()
        .package("PyYAML", "6.0.2")
        .text(&record, "yaml/__init__.py,,\ntests/a.py,,\n")
        .text(&format!("{SITE}/yaml/__init__.py"), "")
        .text(&format!("{SITE}/tests/__init__.py"), "");
    let files = ["app/tests.py", "app/yaml.py"];
    let add = |image: Image, file: &&str| image.text(file, "x = 1\n");
    let found = shadowed(files.iter().fold(yaml, add));
    assert_eq!(found, [("yaml".to_owned(), "/app/yaml.py".to_owned())]);
    let editable = installed().distribution("app", "jinja2", "3.1.6");
    assert_eq!(shadowed(editable.text("app/jinja2.py", "")), []);
}
