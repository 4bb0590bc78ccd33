//! The ways.

use super::{EVIL, GOOD, MAIN, OBJECT, REFUSED, SHADOWED, SITE, Way, init, way};

const LAUNCH: &str = "launch-not-understood";
const UNREACHED: &str = "framework-not-reached";
const STARTUP: &str = "python-startup";
const EXPORT: &str = "export PYTHONPATH=/opt/evil\n";
const INSERT: &str = "import sys; sys.path.insert(0, '/opt/evil')\n";

/// All ways.
pub fn ways() -> Vec<Way> {
    [
        search_path(),
        startup_code(),
        packages(),
        modules(),
        settings(),
        launch(),
        wrappers(),
        users(),
        writes(),
        loader(),
        super::starts::ways(),
    ]
    .concat()
}

/// A way with the other PyTorch in `/opt/evil`.
pub fn evil(name: &'static str, says: &'static str) -> Way {
    way(name, EVIL, says).evil("opt/evil")
}

/// The same, but the PyTorch that is installed runs.
pub fn harmless(name: &'static str) -> Way {
    way(name, GOOD, GOOD).evil("opt/evil")
}

fn search_path() -> Vec<Way> {
    vec![
        way(
            "user site: `~/.local/lib/python3.11/site-packages/torch`",
            EVIL,
            EVIL,
        )
        .evil("root/.local/lib/python3.11/site-packages"),
        way("`PYTHONUSERBASE=/opt/base`", EVIL, EVIL)
            .evil("opt/base/lib/python3.11/site-packages")
            .env("PYTHONUSERBASE=/opt/base"),
        way("`torch/` beside the script (`sys.path[0]`)", EVIL, EVIL).evil("app"),
        way("`python -m main`, `torch/` in WORKDIR", EVIL, EVIL)
            .evil("srv")
            .file("srv/main.py", MAIN)
            .at("/srv")
            .command(&["python3", "-m", "main"]),
        way("`python -c`, `torch/` in WORKDIR", EVIL, EVIL)
            .evil("srv")
            .at("/srv")
            .command(&["python3", "-c", "import torch; print(torch.__version__)"]),
        evil("`cd` in the command, then `python -c`", EVIL)
            .sh("cd /opt/evil && exec python3 -c 'import torch; print(torch.__version__)'"),
        evil("PYTHONPATH", EVIL).env("PYTHONPATH=/opt/evil"),
        evil("PYTHONPATH with a relative element", EVIL)
            .env("PYTHONPATH=evil")
            .at("/opt"),
        evil("PYTHONPATH with an empty element", EVIL)
            .env("PYTHONPATH=/none::")
            .at("/opt/evil"),
        way("PYTHONPATH with a zip archive", EVIL, STARTUP)
            .file("opt/packages.zip", MAIN)
            .env("PYTHONPATH=/opt/packages.zip"),
        way(
            "a zip archive as program (`python app.pyz`, PEX)",
            EVIL,
            STARTUP,
        )
        .file("app/app.pyz", MAIN)
        .command(&["python3", "/app/app.pyz"]),
        way("PYTHONHOME", EVIL, EVIL)
            .evil("opt/home/lib/python3/dist-packages")
            .link("opt/home/lib/python3.11", "/usr/lib/python3.11")
            .env("PYTHONHOME=/opt/home"),
        harmless("`python -I` with PYTHONPATH")
            .env("PYTHONPATH=/opt/evil")
            .command(&["python3", "-I", "/app/main.py"]),
        harmless("`python -E` with PYTHONPATH")
            .env("PYTHONPATH=/opt/evil")
            .command(&["python3", "-E", "/app/main.py"]),
        way("`python -S`", "none", "none").command(&["python3", "-S", "/app/main.py"]),
        evil("`python3._pth` beside the program `python3`", STARTUP)
            .file("usr/bin/python3._pth", "/usr/lib/python3.11\n/opt/evil\n"),
        way(
            "an archive of the standard library (`/usr/lib/python311.zip`)",
            EVIL,
            STARTUP,
        )
        .file("usr/lib/python311.zip", MAIN),
        harmless("PYTHONSTARTUP (interactive only)")
            .file("opt/startup.py", INSERT)
            .env("PYTHONSTARTUP=/opt/startup.py"),
    ]
}

fn startup_code() -> Vec<Way> {
    let site = |name: &str| format!("{SITE}/{name}");
    vec![
        evil("a `.pth` file that names a directory", EVIL)
            .without_good()
            .file(&site("a.pth"), "/opt/evil\n"),
        evil("a `.pth` file with a line `import …`", STARTUP).file(&site("a.pth"), INSERT),
        evil("the same behind a carriage return in a comment", STARTUP)
            .file(&site("a.pth"), &format!("# comment\r{INSERT}")),
        evil("a changed `_virtualenv.py`", STARTUP)
            .file(&site("_virtualenv.pth"), "import _virtualenv")
            .file(&site("_virtualenv.py"), INSERT),
        evil("a changed `_distutils_hack`", STARTUP)
            .file(&site("distutils-precedence.pth"), "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'; enabled and __import__('_distutils_hack').add_shim(); ")
            .file(&site("_distutils_hack/__init__.py"), &format!("{INSERT}def add_shim(): pass\n")),
        evil("`sitecustomize.py`", STARTUP).file(&site("sitecustomize.py"), INSERT),
        evil("`sitecustomize.py` with code behind a carriage return in a comment", STARTUP)
            .file(&site("sitecustomize.py"), &format!("# comment\r{INSERT}")),
        evil("`sitecustomize.py` that imports a module", STARTUP)
            .file(&site("sitecustomize.py"), "import company_hooks\n")
            .file(&site("company_hooks.py"), INSERT),
        evil("`usercustomize.py`", STARTUP)
            .file("root/.local/lib/python3.11/site-packages/usercustomize.py", INSERT),
        evil("an editable install of PyTorch", UNREACHED)
            .without_good()
            .file(&site("x.pth"), "import __editable___torch_finder; __editable___torch_finder.install()")
            .file(&site("__editable___torch_finder.py"), &format!("def install():\n {INSERT}")),
    ]
}

fn packages() -> Vec<Way> {
    let metadata =
        |version: &str| format!("Metadata-Version: 2.1\nName: torch\nVersion: {version}\n");
    vec![
        evil("`site-packages/torch` is a link", EVIL)
            .without_good()
            .link(&format!("{SITE}/torch"), "/opt/evil/torch"),
        way("the metadata of a different version", EVIL, EVIL)
            .without_good()
            .evil(SITE)
            .file(
                &format!("{SITE}/torch-2.8.0.dist-info/METADATA"),
                &metadata(GOOD),
            ),
        way("no metadata", EVIL, EVIL).without_good().evil(SITE),
        way("a module `torch.py` beside the script", "none", SHADOWED)
            .file("app/torch.py", &init("none")),
    ]
}

/// A way with a module `torch` that nothing describes, which has the version of the other PyTorch.
fn module(name: &'static str, path: &str) -> Way {
    way(name, EVIL, SHADOWED).file(path, &init(EVIL))
}

/// Modules named `torch` that have neither metadata nor the files of PyTorch.
fn modules() -> Vec<Way> {
    let (package, python_path) = ("opt/evil/torch/__init__.py", "PYTHONPATH=/opt/evil");
    let healthy = |name| way(name, GOOD, GOOD);
    vec![
        module("a package `torch` on PYTHONPATH", package).env(python_path),
        module("a module `torch.py` on PYTHONPATH", "opt/evil/torch.py").env(python_path),
        module(
            "a package `torch` beside the script",
            "app/torch/__init__.py",
        ),
        module(
            "a package `torch` in the working directory of `python -c`",
            "srv/torch/__init__.py",
        )
        .at("/srv")
        .command(&["python3", "-c", "import torch; print(torch.__version__)"]),
        module(
            "a package `torch` in the standard library",
            "usr/lib/python3.11/torch/__init__.py",
        ),
        module(
            "a module `torch.py` in the standard library",
            "usr/lib/python3.11/torch.py",
        ),
        module(
            "a package `torch` in `lib-dynload`",
            "usr/lib/python3.11/lib-dynload/torch/__init__.py",
        ),
        module(
            "a package `torch` of the user",
            "root/.local/lib/python3.11/site-packages/torch/__init__.py",
        ),
        module(
            "a link `torch` on PYTHONPATH that leads elsewhere",
            "srv/build/__init__.py",
        )
        .link("opt/evil/torch", "/srv/build")
        .env(python_path),
        way(
            "an extension module `torch` on PYTHONPATH",
            "none",
            SHADOWED,
        )
        .file(
            "opt/evil/torch.cpython-311-x86_64-linux-gnu.so",
            "no ELF file",
        )
        .env(python_path),
        healthy("a directory `torch` without `__init__.py` on PYTHONPATH")
            .file("opt/evil/torch/include/torch.h", "")
            .env(python_path),
        healthy("a package `torch` on PYTHONPATH, with `python -I`")
            .file(package, &init(EVIL))
            .env(python_path)
            .command(&["python3", "-I", "/app/main.py"]),
        healthy("a package `torch` beside the script, with `python -P`")
            .file("app/torch/__init__.py", &init(EVIL))
            .command(&["python3", "-P", "/app/main.py"]),
        healthy("a package `torch` in a later directory of packages").file(
            "usr/lib/python3/dist-packages/torch/__init__.py",
            &init(EVIL),
        ),
        healthy("a module `torch.py` in a directory that is not searched")
            .file("srv/torch.py", &init(EVIL)),
        healthy("a module for a different release of Python")
            .file("opt/evil/torch.cpython-310-x86_64-linux-gnu.so", "")
            .env(python_path),
        healthy("a link `torch` on PYTHONPATH to the PyTorch that is installed")
            .link("opt/evil/torch", &format!("/{SITE}/torch"))
            .env(python_path),
    ]
}

/// Settings with which Python does not start, and code that it runs before anything else.
fn settings() -> Vec<Way> {
    let refused = |name: &'static str| way(name, "none", REFUSED);
    let healthy = |name| way(name, GOOD, GOOD);
    // It does what that of the standard library does.
    let encodings = format!(
        "{INSERT}from _frozen_importlib_external import SourceFileLoader\n\
         __path__[:] = ['/usr/lib/python3.11/encodings']\n\
         exec(SourceFileLoader('encodings', __path__[0] + '/__init__.py').get_code('encodings'))\n"
    );
    let class = format!("{INSERT}class Category(Warning): pass\n");
    vec![
        refused("PYTHONHOME names nothing").env("PYTHONHOME=/none"),
        refused("PYTHONHOME names a virtual environment")
            .venv()
            .env("PYTHONHOME=/opt/venv"),
        refused("`PYTHONHASHSEED=abc`").env("PYTHONHASHSEED=abc"),
        refused("`PYTHONMALLOC=abc`").env("PYTHONMALLOC=abc"),
        refused("`PYTHONUTF8=2`").env("PYTHONUTF8=2"),
        refused("`PYTHONIOENCODING=nosuch`").env("PYTHONIOENCODING=nosuch"),
        refused("`PYTHONINTMAXSTRDIGITS=1`").env("PYTHONINTMAXSTRDIGITS=1"),
        refused("`python -Q`").command(&["python3", "-Q", "/app/main.py"]),
        refused("`python -X utf8=2`").command(&["python3", "-X", "utf8=2", "/app/main.py"]),
        refused("`PYTHONUTF8=2` in a script").sh("PYTHONUTF8=2 python3 /app/main.py"),
        healthy("`PYTHONHASHSEED=abc` with `python -I`")
            .env("PYTHONHASHSEED=abc")
            .command(&["python3", "-I", "/app/main.py"]),
        healthy("`PYTHONMALLOC=abc` with `python -E`")
            .env("PYTHONMALLOC=abc")
            .command(&["python3", "-E", "/app/main.py"]),
        healthy("`PYTHONHASHSEED=abc` that the script unsets")
            .env("PYTHONHASHSEED=abc")
            .sh("unset PYTHONHASHSEED; exec python3 /app/main.py"),
        healthy("`PYTHONWARNINGS=nosuch`, of which Python only warns").env("PYTHONWARNINGS=nosuch"),
        evil("a package `encodings` on PYTHONPATH", STARTUP)
            .file("srv/lib/encodings/__init__.py", &encodings)
            .env("PYTHONPATH=/srv/lib"),
        evil("a changed `encodings` of the standard library", STARTUP).file(
            "usr/lib/python3.11/encodings/aliases.py",
            &format!("{INSERT}aliases = {{}}\n"),
        ),
        evil(
            "PYTHONWARNINGS with a class of a module on PYTHONPATH",
            STARTUP,
        )
        .file("srv/lib/company.py", &class)
        .env("PYTHONPATH=/srv/lib")
        .env("PYTHONWARNINGS=ignore::company.Category"),
        evil(
            "`python -W` with a class of a module on PYTHONPATH",
            STARTUP,
        )
        .file("srv/lib/company.py", &class)
        .env("PYTHONPATH=/srv/lib")
        .command(&["python3", "-W", "ignore::company.Category", "/app/main.py"]),
        harmless(
            "PYTHONWARNINGS with a class of an installed module, which Python does not find then",
        )
        .file(&format!("{SITE}/company.py"), &class)
        .env("PYTHONWARNINGS=ignore::company.Category"),
        evil("compiled files below PYTHONPYCACHEPREFIX", STARTUP)
            .file("opt/cache/app/main.cpython-311.pyc", "")
            .env("PYTHONPYCACHEPREFIX=/opt/cache")
            .not_run(),
        healthy("PYTHONPYCACHEPREFIX that has no files").env("PYTHONPYCACHEPREFIX=/opt/cache"),
        way("`pybuilddir.txt` beside the interpreter", "none", STARTUP)
            .file("usr/bin/pybuilddir.txt", "../../opt/evil"),
    ]
}

fn launch() -> Vec<Way> {
    let entry = &format!("#!/bin/sh\nset -e\n{EXPORT}exec \"$@\"\n");
    let outer = "#!/bin/bash\necho starting\nexec /inner.sh \"$@\"\n";
    vec![
        evil("`sh -c \"export …; exec python3 …\"`", EVIL)
            .sh("export PYTHONPATH=/opt/evil; exec python3 /app/main.py"),
        evil("`env VAR=… python3 …`", EVIL)
            .command(&["env", "PYTHONPATH=/opt/evil", "python3", "/app/main.py"]),
        evil("`sh -c \"VAR=… python3 …\"`", EVIL).sh("PYTHONPATH=/opt/evil python3 /app/main.py"),
        evil("an entrypoint script that ends in `exec \"$@\"`", EVIL)
            .file("start.sh", entry)
            .command(&["/start.sh", "python3", "/app/main.py"]),
        evil("nested entrypoint scripts", EVIL)
            .file("outer.sh", outer)
            .file("inner.sh", entry)
            .command(&["/outer.sh", "python3", "/app/main.py"]),
        evil("`eval` of an `export`", EVIL).sh("eval 'export PYTHONPATH=/opt/evil'; python3 /app/main.py"),
        evil("`export` of a name that is put together", EVIL)
            .sh("P=PYTHON; export ${P}PATH=/opt/evil; python3 /app/main.py"),
        evil("`set -a; . FILE`", EVIL)
            .file("opt/vars", "PYTHONPATH=/opt/evil\n")
            .sh("set -a; . /opt/vars; exec python3 /app/main.py"),
        evil("BASH_ENV", EVIL)
            .file("opt/vars", EXPORT)
            .env("BASH_ENV=/opt/vars")
            .bash("python3 /app/main.py"),
        harmless("ENV of a shell that is not interactive")
            .file("opt/vars", EXPORT)
            .env("ENV=/opt/vars")
            .sh("python3 /app/main.py"),
        evil("a shell function `python3`", EVIL)
            .bash("python3() { PYTHONPATH=/opt/evil command python3 \"$@\"; }; python3 /app/main.py"),
        evil("a shell function in the environment (`BASH_FUNC_python3%%`)", LAUNCH)
            .env("BASH_FUNC_python3%%=() { PYTHONPATH=/opt/evil command python3 \"$@\"; }")
            .bash("python3 /app/main.py"),
        harmless("an alias in a script of bash, which ignores it")
            .bash("alias python3='env PYTHONPATH=/opt/evil python3'\npython3 /app/main.py"),
        evil("an alias in a script of dash", LAUNCH)
            .file("start.sh", "#!/bin/sh\nalias python3='env PYTHONPATH=/opt/evil python3'\npython3 /app/main.py\n")
            .command(&["/start.sh"]),
        evil("a variable set to the output of `cat`", EVIL)
            .file("opt/vars", "/opt/evil")
            .sh("PYTHONPATH=$(cat /opt/vars) python3 /app/main.py"),
        evil("a here-document for `python3 -`", EVIL)
            .at("/opt/evil")
            .sh("exec python3 - <<EOF\nimport torch\nprint(torch.__version__)\nEOF\n"),
    ]
}

fn wrappers() -> Vec<Way> {
    let run = "#!/opt/venv/bin/python\nimport runpy, sys\nrunpy.run_path(sys.argv[-1], run_name='__main__')\n";
    let wrapper = format!("#!/bin/sh\n{EXPORT}exec /usr/bin/python3 \"$@\"\n");
    let set = "PYTHONPATH=/opt/evil";
    vec![
        way("`source …/bin/activate`", EVIL, EVIL)
            .venv()
            .bash("source /opt/venv/bin/activate && exec python /app/main.py"),
        way("`. …/bin/activate` in dash", EVIL, EVIL)
            .venv()
            .sh(". /opt/venv/bin/activate; exec python3 /app/main.py"),
        way("PATH with the `bin` of a virtual environment", EVIL, EVIL)
            .venv()
            .env("PATH=/opt/venv/bin:/usr/bin:/bin"),
        way("VIRTUAL_ENV alone", GOOD, GOOD)
            .venv()
            .env("VIRTUAL_ENV=/opt/venv"),
        way(
            "a link in PATH to the Python of a virtual environment",
            GOOD,
            GOOD,
        )
        .venv()
        .link("usr/local/bin/python3", "/opt/venv/bin/python"),
        way("a virtual environment without PyTorch", "none", UNREACHED)
            .file(
                "opt/empty/pyvenv.cfg",
                "home = /usr/bin\ninclude-system-site-packages = false\n",
            )
            .file("opt/empty/lib/python3.11/site-packages/x.txt", "")
            .link("opt/empty/bin/python", "/usr/bin/python3.11")
            .command(&["/opt/empty/bin/python", "/app/main.py"]),
        way(
            "the same with a script in a `bin` of its own",
            "none",
            UNREACHED,
        )
        .file(
            "opt/empty/pyvenv.cfg",
            "home = /usr/bin\ninclude-system-site-packages = false\n",
        )
        .file("opt/empty/lib/python3.11/site-packages/x.txt", "")
        .link("opt/empty/bin/python", "/usr/bin/python3.11")
        .file("srv/bin/main.py", MAIN)
        .command(&["/opt/empty/bin/python", "/srv/bin/main.py"]),
        way(
            "a virtual environment with the packages of the system",
            GOOD,
            GOOD,
        )
        .file(
            "opt/both/pyvenv.cfg",
            "HOME = /usr/bin\nInclude-System-Site-Packages = TRUE\n",
        )
        .file("opt/both/lib/python3.11/site-packages/x.txt", "")
        .link("opt/both/bin/python", "/usr/bin/python3.11")
        .command(&["/opt/both/bin/python", "/app/main.py"]),
        way("PYTHONPLATLIBDIR", "none", STARTUP).env("PYTHONPLATLIBDIR=lib2"),
        evil("`shopt -u sourcepath`, then `. FILE`", LAUNCH)
            .file("opt/env/env.sh", "")
            .file("srv/env.sh", EXPORT)
            .env("PATH=/opt/env:/usr/bin:/bin")
            .at("/srv")
            .bash("shopt -u sourcepath; . env.sh; exec python3 /app/main.py"),
        evil("PATH with a directory of functions, in dash", LAUNCH)
            .file(
                "opt/functions/python3",
                "python3() { PYTHONPATH=/opt/evil /usr/bin/python3 \"$@\"; }\n",
            )
            .sh("PATH=/opt/functions%func:/usr/bin:/bin; python3 /app/main.py"),
        evil("an earlier directory of PATH has a script `python3`", EVIL)
            .file("usr/local/bin/python3", &wrapper),
        way("`torchrun` of a different environment", EVIL, EVIL)
            .venv()
            .file("opt/venv/bin/torchrun", run)
            .command(&["torchrun", "/app/main.py"]),
        way("`accelerate launch` of a different environment", EVIL, EVIL)
            .venv()
            .file("opt/venv/bin/accelerate", run)
            .command(&["accelerate", "launch", "/app/main.py"]),
        evil("`nice -n 5 timeout 9 env …`", EVIL).command(&[
            "nice",
            "-n",
            "5",
            "timeout",
            "9",
            "env",
            set,
            "python3",
            "/app/main.py",
        ]),
        evil("`tini -- env …`", EVIL)
            .command(&["tini", "--", "env", set, "python3", "/app/main.py"])
            .not_run(),
        evil("`dumb-init env …`", EVIL)
            .command(&["dumb-init", "env", set, "python3", "/app/main.py"])
            .not_run(),
        evil("`gosu root env …`", EVIL)
            .file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
            .command(&["gosu", "root", "env", set, "python3", "/app/main.py"])
            .not_run(),
        way(
            "`uv run` in a project with its own environment",
            EVIL,
            LAUNCH,
        )
        .evil("app/.venv/lib/python3.11/site-packages")
        .at("/app")
        .command(&["uv", "run", "main.py"])
        .not_run(),
    ]
}

fn users() -> Vec<Way> {
    let other = "#!/bin/sh\nPYTHONPATH=/opt/evil exec /usr/bin/python3 \"$@\"\n";
    vec![
        way(
            "PYTHONPATH with a directory that the user may not read",
            EVIL,
            EVIL,
        )
        .without_good()
        .evil("opt/evil")
        .torch_at("opt/good", GOOD)
        .env("PYTHONPATH=/opt/good:/opt/evil")
        .user(1000)
        .mode("opt/good", 0o700),
        harmless("PYTHONPATH with a package that the user may not search")
            .env("PYTHONPATH=/opt/evil")
            .user(1000)
            .mode("opt/evil/torch", 0o700),
        way("PyTorch that the user may not search", "none", UNREACHED)
            .user(1000)
            .mode("usr/local/lib/python3.11/dist-packages/torch", 0o700),
        harmless("PATH with a directory that the user may not search")
            .file("opt/closed/python3", other)
            .env("PATH=/opt/closed:/usr/bin")
            .user(1000)
            .mode("opt/closed", 0o700),
        harmless("PATH with a script that only its owner may execute")
            .file("opt/closed/python3", other)
            .env("PATH=/opt/closed:/usr/bin")
            .user(1000)
            .mode("opt/closed/python3", 0o744),
        evil("`chmod +x` of a script in PATH", LAUNCH)
            .file("opt/bin/python3", other)
            .env("PATH=/opt/bin:/usr/bin")
            .mode("opt/bin/python3", 0o644)
            .sh("chmod +x /opt/bin/python3; exec python3 /app/main.py"),
        evil(
            "`chown` of a directory that only its owner may read",
            LAUNCH,
        )
        .file("opt/bin/python3", other)
        .env("PATH=/opt/bin:/usr/bin")
        .mode("opt/bin", 0o700)
        .sh("chown 1000 /opt/bin; exec setpriv --reuid 1000 --clear-groups python3 /app/main.py"),
    ]
}

/// Programs that seem to read only.
fn writes() -> Vec<Way> {
    let written = |name, script| evil(name, LAUNCH).file("data/app/main.py", MAIN).sh(script);
    vec![
        written(
            "`sort -o` writes `torch.py` beside the script",
            "sort -uo /data/app/torch.py /opt/evil/torch/__init__.py; exec python3 /data/app/main.py",
        ),
        written(
            "`uniq` with two operands",
            "uniq /opt/evil/torch/__init__.py /data/app/torch.py; exec python3 /data/app/main.py",
        ),
        written(
            "`tee` below a directory of data",
            "tee /data/app/torch.py < /opt/evil/torch/__init__.py >/dev/null; exec python3 /data/app/main.py",
        ),
        written(
            "`sed` with the command `w`",
            "sed -n 'w /data/app/torch.py' /opt/evil/torch/__init__.py; exec python3 /data/app/main.py",
        ),
        written(
            "`sed` with the command `e`",
            "sed -n '1e cp /opt/evil/torch/__init__.py /data/app/torch.py' /opt/evil/torch/__init__.py; exec python3 /data/app/main.py",
        ),
        written(
            "a file that is written through a new link",
            "ln -s /app /data/l; cp /opt/evil/torch/__init__.py /data/l/torch.py; exec python3 /app/main.py",
        ),
    ]
}

fn loader() -> Vec<Way> {
    vec![
        way("LD_PRELOAD", OBJECT, OBJECT).env("LD_PRELOAD=/opt/evil.so"),
        way("LD_PRELOAD in a script", OBJECT, OBJECT)
            .sh("export LD_PRELOAD=/opt/evil.so; exec python3 /app/main.py"),
        way("LD_AUDIT", OBJECT, "loader-not-modeled").env("LD_AUDIT=/opt/evil.so"),
        way("`/etc/ld.so.preload`", OBJECT, OBJECT).file("etc/ld.so.preload", "/opt/evil.so\n"),
        way("`/etc/ld.so.preload` is a link", OBJECT, OBJECT)
            .file("opt/preload", "/opt/evil.so\n")
            .link("etc/ld.so.preload", "/opt/preload"),
    ]
}
