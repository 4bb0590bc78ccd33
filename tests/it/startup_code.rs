//! What Python runs at its start: known lines and modules are no gap, and only their content says what they are.

use std::fs;
use std::process::Command;

use imgcheck_base::gap::GapCode;
use imgcheck_image::{Content, EntryKind};
use testkit::tools::{say, tool};

use crate::program::repository;
use crate::sample::{Image, SITE};

const PRECEDENCE: &str = "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'; enabled and __import__('_distutils_hack').add_shim(); \n";
const EDITABLE: &str = "import __editable___demo_finder; __editable___demo_finder.install()";

fn real(name: &str) -> String {
    fs::read_to_string(repository("testdata/startup").join(name)).unwrap()
}

/// The gaps of an image with PyTorch and these files beside it.
fn gaps(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut image = Image::python().torch().package("torch", "2.8.0+cu128");
    for (name, text) in files {
        image = image.text(&format!("{SITE}/{name}"), text);
    }
    let gaps = image.derive(&Default::default()).unwrap().gaps.into_iter();
    let gaps = gaps.inspect(|gap| {
        assert_eq!(gap.code, GapCode::PythonStartup);
        let path = gap.path.as_deref().unwrap_or_default();
        assert!(gap.message.contains(path), "{gap:?}");
    });
    gaps.map(|gap| (gap.path.unwrap_or_default(), gap.message))
        .collect()
}

/// The only gap is at this file.
#[track_caller]
fn gap_at(file: &str, files: &[(&str, &str)]) -> String {
    let found = gaps(files);
    let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, [format!("/{SITE}/{file}")], "{found:?}");
    found[0].1.clone()
}

#[test]
fn known_lines_and_modules_are_no_gap() {
    let nspkg = real("google_cloud_storage-2.0.0-py3.10-nspkg.pth");
    assert_eq!(nspkg.lines().count(), 3);
    let (virtualenv, finder) = (real("_virtualenv.py"), real("__editable___demo_finder.py"));
    let old = "import sys, types, os;p = os.path.join(sys._getframe(1).f_locals['sitedir'], *('mpl_toolkits',));ie = os.path.exists(os.path.join(p,'__init__.py'));m = not ie and sys.modules.setdefault('mpl_toolkits', types.ModuleType('mpl_toolkits'));mp = (m or []) and m.__dict__.setdefault('__path__',[]);(p not in mp) and mp.append(p)\n";
    assert_eq!(
        gaps(&[
            ("distutils-precedence.pth", PRECEDENCE),
            ("google_cloud_storage-2.0.0-py3.10-nspkg.pth", &nspkg),
            ("matplotlib-3.5.3-nspkg.pth", old),
            ("any-name.pth", "import _virtualenv"),
            ("_virtualenv.py", &virtualenv),
            ("__editable__.demo-0.1.pth", EDITABLE),
            ("__editable___demo_finder.py", &finder),
        ]),
        []
    );
}

#[test]
fn only_the_content_counts() {
    let virtualenv = real("_virtualenv.py") + "\nsys.path.insert(0, '/opt')\n";
    let import = ("_virtualenv.pth", "import _virtualenv");
    gap_at("_virtualenv.py", &[import, ("_virtualenv.py", &virtualenv)]);
    gap_at(
        "_virtualenv/__init__.py",
        &[import, ("_virtualenv/__init__.py", "import sys")],
    );
    let hack = (
        "_distutils_hack/__init__.py",
        "def add_shim(): __import__('sys').path[:0] = ['/opt']",
    );
    gap_at(hack.0, &[("distutils-precedence.pth", PRECEDENCE), hack]);
    gap_at(
        "distutils-precedence.pth",
        &[("distutils-precedence.pth", "import os; os.x()")],
    );
    let nspkg = real("google_cloud_storage-2.0.0-py3.10-nspkg.pth");
    for changed in [
        nspkg.replace("'google'", "'torch'"),
        nspkg.replace("*('google',)", "*('other',)"),
        nspkg.replace("\n", ";import evil\n"),
    ] {
        gap_at("x-nspkg.pth", &[("x-nspkg.pth", &changed)]);
    }
}

#[test]
fn an_editable_install_of_a_framework_is_a_gap() {
    let finder = real("__editable___demo_finder.py");
    let line = ("x.pth", EDITABLE);
    let name = "__editable___demo_finder.py";
    let torch = finder.replace(
        "'demo': '/src/demo'",
        "'demo': '/src/demo', 'torch': '/src/torch'",
    );
    let message = gap_at(name, &[line, (name, &torch)]);
    assert!(
        message.contains("says where torch is imported from"),
        "{message}"
    );
    let namespace = finder.replace("= {}", "= {'torch.extra': ['/src']}");
    gap_at(name, &[line, (name, &namespace)]);
    for changed in [
        finder.replace("'/src/demo'", "__import__('os').getcwd()"),
        finder.replace("meta_path.append", "meta_path[:0] = list"),
        finder.replace("MAPPING: ", "MAPPING = {}; import evil\nMAPPING: "),
        finder.replace(".__path_hook__\"\n", ".__path_hook__\"; import evil\n"),
        finder.replace("MAPPING: ", "MAPPING=__import__('evil'); MAPPING: "),
        finder.replace("MAPPING: dict[str, str]", "MAPPING: exec('import evil')"),
        finder.replace("PLACEHOLDER = '", "PLACEHOLDER = exec('import evil') or '"),
    ] {
        assert_ne!(changed, finder);
        gap_at(name, &[line, (name, &changed)]);
    }
}

/// Python ends lines at more than line feeds, so a comment may hide code.
#[test]
fn code_behind_a_carriage_return_is_a_gap() {
    for text in [
        "# comment\rimport evil\n",
        "\u{feff}import evil\n",
        "/opt\r\nimport evil\r\n",
    ] {
        gap_at("x.pth", &[("x.pth", text)]);
    }
    if !tool("/usr/bin/python3") {
        return say(format_args!("skipped: there is no /usr/bin/python3"));
    }
    let scratch = tempfile::tempdir().unwrap();
    let site = scratch.path().display();
    fs::write(
        scratch.path().join("x.pth"),
        "# comment\rimport sys; print('ran')\n",
    )
    .unwrap();
    let script = format!("import site; site.addsitedir('{site}')");
    let output = Command::new("/usr/bin/python3")
        .args(["-c", &script])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "ran\n");
}

/// `sitecustomize.py` of Debian and Ubuntu.
const APPORT: &str = "# install the apport exception handler if available\ntry:\n    import apport_python_hook\nexcept ImportError:\n    pass\nelse:\n    apport_python_hook.install()\n";

#[test]
fn sitecustomize_may_import_only_modules_that_leave_the_path_alone() {
    let name = "sitecustomize.py";
    for text in [
        APPORT,
        "import faulthandler  # noqa: F401\nfaulthandler.enable()\n",
        "import io, os; from functools import partial\n",
        "# import evil\n\u{c}# import evil\r\n",
    ] {
        assert_eq!(gaps(&[(name, text)]), [], "{text}");
    }
    for text in [
        "# comment\rimport sys; sys.path.insert(0, '/evil')\n",
        "# comment\r\u{c}import evil\n",
        "import evil\n",
        "import os, evil\n",
        "import os as evil; import evil\n",
        "import os, \\\n evil\n",
        "from evil \\\n import os\n",
        "from evil import os\n",
        "from sys import path; path[:0] = ['/evil']\n",
        "import sys as s; s.path[:0] = ['/evil']\n",
        "if '#': import evil\n",
        "try: import os#\nexcept: import evil\n",
    ] {
        gap_at(name, &[(name, text)]);
    }
    gap_at(name, &[(name, APPORT), ("apport_python_hook.py", "")]);
}

/// A compiled file as Python writes it, for a source of the size that the sample's files have.
fn compiled(source: &std::path::Path) -> Vec<u8> {
    let scratch = tempfile::tempdir().unwrap();
    let target = scratch.path().join("x.pyc");
    let status = Command::new("/usr/bin/python3")
        .args([
            "-c",
            "import py_compile, sys; py_compile.compile(*sys.argv[1:], doraise=True)",
        ])
        .args([source, &target])
        .status()
        .unwrap();
    assert!(status.success());
    let mut bytes = fs::read(target).unwrap();
    bytes[12..16].copy_from_slice(&4096_u32.to_le_bytes());
    bytes
}

/// The gaps of an image with these modules and compiled files.
fn gaps_with(texts: &[(&str, &str)], files: &[(&str, &[u8])]) -> Vec<String> {
    let mut image = Image::python().torch().package("torch", "2.8.0+cu128");
    for (path, text) in texts {
        image = image.text(path, text);
    }
    for (path, bytes) in files {
        image = image.entry(path, EntryKind::File(Content::Bytes((*bytes).into())));
    }
    let gaps = image.derive(&Default::default()).unwrap().gaps.into_iter();
    gaps.map(|gap| gap.path.unwrap_or_default()).collect()
}

/// Python compares the time and the size of a source with those in a compiled file, not the content.
#[test]
fn a_compiled_file_with_other_code_is_a_gap() {
    if !tool("/usr/bin/python3") {
        return say(format_args!("skipped: there is no /usr/bin/python3"));
    }
    let scratch = tempfile::tempdir().unwrap();
    let compile = |text: &str| {
        let source = scratch.path().join("source.py");
        fs::write(&source, text).unwrap();
        compiled(&source)
    };
    let module = &format!("{SITE}/sitecustomize.py");
    let cached = &format!("{SITE}/__pycache__/sitecustomize.cpython-311.pyc");
    let (own, other) = (
        compile(APPORT),
        compile("import sys; sys.path.insert(0, '/opt')\n"),
    );
    let judged = |bytes: &[u8]| gaps_with(&[(module, APPORT)], &[(cached, bytes)]);
    assert_eq!(judged(&own), [""; 0]);
    assert_eq!(judged(&other), [format!("/{module}")]);
    let mut stale = other.clone();
    stale[12] = 1;
    assert_eq!(
        judged(&stale),
        [""; 0],
        "its size is not that of the source"
    );
    let line = format!("{SITE}/x.pth");
    let (known, path) = (real("_virtualenv.py"), format!("{SITE}/_virtualenv.py"));
    let texts = [(line.as_str(), "import _virtualenv\n"), (&path, &known)];
    let cached = format!("{SITE}/__pycache__/_virtualenv.cpython-311.pyc");
    let own = compile(&known);
    assert_eq!(gaps_with(&texts, &[(&cached, &own)]), [""; 0]);
    assert_eq!(
        gaps_with(&texts, &[(&cached, &other)]),
        [format!("/{path}")]
    );
}

/// The package that every start imports first: that of this machine is no gap, and a changed one is.
#[test]
fn a_changed_package_of_encodings_is_a_gap() {
    let library = std::path::Path::new("/usr/lib/python3.11/encodings");
    if !library.is_dir() || !tool("/usr/bin/python3") {
        return say(format_args!("skipped: there is no {}", library.display()));
    }
    let standard = "usr/local/lib/python3.11/encodings";
    for name in ["__init__", "aliases", "utf_8"] {
        let source = library.join(format!("{name}.py"));
        let (text, bytes) = (fs::read_to_string(&source).unwrap(), compiled(&source));
        let (path, cached) = (
            format!("{standard}/{name}.py"),
            format!("{standard}/__pycache__/{name}.cpython-311.pyc"),
        );
        assert_eq!(
            gaps_with(&[(&path, &text)], &[(&cached, &bytes)]),
            [""; 0],
            "{name}"
        );
        let changed = format!("{text}\nimport evil\n");
        assert_eq!(gaps_with(&[(&path, &changed)], &[]), [format!("/{path}")]);
        let other = compiled(&library.join("idna.py"));
        assert_eq!(
            gaps_with(&[(&path, &text)], &[(&cached, &other)]),
            [format!("/{path}")]
        );
    }
}

/// Until 3.10, more of the standard library is imported from the first directory that has it.
#[test]
fn modules_that_are_imported_before_any_other() {
    let judged = |env: &[&str], files: &[&str]| {
        let mut image = Image::python().torch().package("torch", "2.8.0+cu128");
        for file in files {
            image = image.text(file, "");
        }
        let image = image.process(env, &["python3", "main.py"]);
        let gaps = image.derive(&Default::default()).unwrap().gaps.into_iter();
        let paths: Vec<String> = gaps.map(|gap| gap.path.unwrap_or_default()).collect();
        paths
    };
    let path = "PYTHONPATH=/srv/lib";
    for (env, file) in [
        (&[path][..], "srv/lib/encodings/__init__.py"),
        (&[path, "PYTHONWARNINGS=ignore"], "srv/lib/warnings.py"),
        (
            &[
                path,
                "PYTHONWARNINGS=error,ignore::company.hooks.Category:x",
            ],
            "srv/lib/company/__init__.py",
        ),
        (
            &["PYTHONPYCACHEPREFIX=/srv/cache"],
            "srv/cache/x.cpython-311.pyc",
        ),
    ] {
        let expected = file.trim_end_matches("/x.cpython-311.pyc");
        assert_eq!(judged(env, &[file]), [format!("/{expected}")]);
    }
    for (env, file) in [
        (&[path][..], "srv/lib/warnings.py"),
        (&[path, "PYTHONWARNINGS=ignore"], "srv/lib/os.py"),
        (
            &[path, "PYTHONWARNINGS=ignore::DeprecationWarning:company"],
            "srv/lib/company.py",
        ),
        (
            &["PYTHONWARNINGS=ignore::company.Category"],
            "srv/lib/company.py",
        ),
        (
            &["PYTHONPYCACHEPREFIX=/srv/cache"],
            "srv/other/x.cpython-311.pyc",
        ),
        (&[], "srv/lib/encodings/__init__.py"),
    ] {
        assert_eq!(judged(env, &[file]), [""; 0], "{env:?} {file}");
    }
}
