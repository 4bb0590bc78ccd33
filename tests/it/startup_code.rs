//! What Python runs at its start: known lines and modules are no gap, and only their content says what they are.

use std::fs;
use std::process::Command;

use imgcheck::internals::gap::GapCode;
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
