//! Where Python imports from: imgcheck's search path compared with `sys.path` of this machine's Python, and the processes that follow
//! from it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use imgcheck_base::gap::GapCode;
use serde_json::{Value, json};
use testkit::tools::{say, tool};

use crate::sample::{Image, LOADER, SITE, elf, program};

const PYTHON: &str = "/usr/bin/python3";

/// A tree of files, and the image that has the same files at the same paths.
struct Tree {
    root: PathBuf,
    release: String,
    python: PathBuf,
}

impl Tree {
    fn make(root: &Path, python: PathBuf) -> Self {
        let name = python.file_name().unwrap().to_str().unwrap();
        let release = name.trim_start_matches("python").to_owned();
        let tree = Tree {
            root: root.canonicalize().unwrap(),
            release,
            python,
        };
        let site = format!("lib/python{}/site-packages", tree.release);
        let venv = format!("venv/{site}");
        let seeing = format!("seeing/{site}");
        for directory in [
            "work/beside",
            "work/module",
            "app/package",
            "links",
            "extra",
            &format!("home/.local/{site}/inner"),
            &format!("base/{site}"),
            &format!("{venv}/inner"),
            &seeing,
            "venv/bin",
            "seeing/bin",
            "installation/lib/python3/dist-packages",
        ] {
            fs::create_dir_all(tree.root.join(directory)).unwrap();
        }
        let library = format!("lib/python{}", tree.release);
        tree.link(
            &format!("installation/{library}"),
            &format!("/usr/{library}"),
        );
        let print = "import sys\nprint(*[p or '.' for p in sys.path], sep='\\n')\n";
        tree.write("app/main.py", print);
        tree.write("app/package/__main__.py", print);
        tree.write("work/module/__main__.py", print);
        tree.link("links/linked.py", "../app/main.py");
        let extra = tree.root.join("extra").display().to_string();
        let pth = format!("# comment\n{extra}\ninner\n\nmissing\nimport sys\n");
        tree.write(&format!("{venv}/b.pth"), &pth);
        tree.write(&format!("home/.local/{site}/a.pth"), "inner\n");
        let marker = format!("home = /usr/bin\nversion = {}.0\n", tree.release);
        // Without the line that says so, an environment sees the system's packages, too.
        tree.write("seeing/pyvenv.cfg", &marker);
        let marker = format!("{marker}include-system-site-packages = false\n");
        tree.write("venv/pyvenv.cfg", &marker);
        for environment in ["venv", "seeing"] {
            tree.link(
                &format!("{environment}/bin/python"),
                tree.python.to_str().unwrap(),
            );
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.root.join(path), text).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
    }

    /// `sys.path` of the real Python without the standard library, as existing directories with links resolved.
    fn real(&self, variables: &[(&str, String)], command: &[String]) -> Vec<String> {
        let output = Command::new(&command[0])
            .args(&command[1..])
            .env_clear()
            .envs(variables.iter().cloned())
            .current_dir(self.root.join("work"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        let mut directories: Vec<String> = Vec::new();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let Ok(path) = self.root.join("work").join(line).canonicalize() else {
                continue;
            };
            let is_standard = path.starts_with(format!("/usr/lib/python{}", self.release))
                && !path.ends_with("dist-packages");
            let path = path.display().to_string();
            if Path::new(&path).is_dir() && !is_standard && !directories.contains(&path) {
                directories.push(path);
            }
        }
        directories
    }

    /// The search path that imgcheck derives.
    fn derived(&self, variables: &[(&str, String)], command: &[String]) -> Vec<String> {
        let variables = variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let config = json!({
            "Env": variables.collect::<Vec<_>>(), "Cmd": command,
            "WorkingDir": self.root.join("work").to_str().unwrap(),
        });
        let mut image = Image::new()
            .elf(LOADER, elf(&[]))
            .elf(self.python.to_str().unwrap(), program(&[]))
            .link(
                "usr/bin/python3",
                self.python.file_name().unwrap().to_str().unwrap(),
            )
            .config(config);
        let system = [
            "/usr/local/lib/python3.11/dist-packages",
            "/usr/lib/python3/dist-packages",
        ];
        for directory in system.iter().filter(|it| Path::new(it).is_dir()) {
            image = image.directory(directory);
        }
        image = add(image, &self.root);
        let stack = image.stack();
        let environment = &stack.environments[0];
        environment.sites.clone()
    }
}

/// Adds a directory of this machine to an image.
fn add(mut image: Image, directory: &Path) -> Image {
    image = image.directory(directory.to_str().unwrap());
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("__pycache__") {
            continue;
        }
        let name = path.to_str().unwrap().to_owned();
        image = match fs::read_link(&path) {
            Ok(target) => image.link(&name, target.to_str().unwrap()),
            Err(_) if path.is_dir() => add(image, &path),
            Err(_) => image.text(&name, &fs::read_to_string(&path).unwrap()),
        };
    }
    image
}

#[test]
fn the_search_path_is_that_of_the_real_python() {
    let python = fs::canonicalize(PYTHON).ok();
    let Some(python) = python.filter(|_| tool("python3")) else {
        say(format_args!("skipped: there is no {PYTHON}"));
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let tree = Tree::make(scratch.path(), python);
    let at = |path: &str| tree.root.join(path).display().to_string();
    let print = "import sys; print(*[p or '.' for p in sys.path], sep='\\n')";
    let commands: Vec<Vec<&str>> = vec![
        vec![PYTHON, "../app/main.py"],
        vec![PYTHON, "../links/linked.py"],
        vec![PYTHON, "-u", "../app/package"],
        vec![PYTHON, "-c", print],
        vec![PYTHON, "-m", "module"],
        vec![PYTHON, "-P", "-c", print],
        vec![PYTHON, "-Ic", print],
        vec![PYTHON, "-E", "../app/main.py"],
        vec![PYTHON, "-s", "../app/main.py"],
        vec![PYTHON, "-S", "../app/main.py"],
        vec!["venv", "../app/main.py"],
        vec!["seeing", "../app/main.py"],
    ];
    let home = || ("HOME", at("home"));
    let settings: Vec<Vec<(&str, String)>> = vec![
        vec![("HOME", "/".to_owned())],
        vec![home()],
        vec![
            home(),
            (
                "PYTHONPATH",
                format!("beside::{}:missing:beside/", at("extra")),
            ),
        ],
        vec![home(), ("PYTHONPATH", String::new())],
        vec![home(), ("PYTHONUSERBASE", at("base"))],
        vec![home(), ("PYTHONUSERBASE", "../base".to_owned())],
        vec![home(), ("PYTHONNOUSERSITE", "1".to_owned())],
        vec![home(), ("PYTHONSAFEPATH", "1".to_owned())],
        vec![home(), ("PYTHONHOME", at("installation"))],
    ];
    let mut compared = 0;
    for variables in &settings {
        for command in &commands {
            if command.contains(&"-m") && variables.iter().any(|it| it.0 == "PYTHONSAFEPATH") {
                continue; // Python does not find the module.
            }
            let mut command: Vec<String> = command.iter().map(|it| (*it).to_owned()).collect();
            if !command[0].starts_with('/') {
                command[0] = at(&format!("{}/bin/python", command[0]));
            }
            let (real, derived) = (
                tree.real(variables, &command),
                tree.derived(variables, &command),
            );
            assert_eq!(derived, real, "{variables:?} {command:?}");
            compared += 1;
        }
    }
    say(format_args!(
        "{compared} search paths compared, 0 differences"
    ));
}

/// A copy of PyTorch, as its own files describe it, without metadata.
fn torch_in(image: Image, directory: &str, version: &str) -> Image {
    let version = format!("__version__ = '{version}'\ncuda = '12.8'\ngit_version = 'abc'\n");
    image
        .text(&format!("{directory}/torch/__init__.py"), "")
        .text(&format!("{directory}/torch/version.py"), &version)
        .elf(
            &format!("{directory}/torch/_C.cpython-311-x86_64-linux-gnu.so"),
            elf(&[]),
        )
        .elf(
            &format!("{directory}/torch/lib/libtorch_global_deps.so"),
            elf(&[]),
        )
}

/// The version and path of the PyTorch that the main process imports.
fn imported(image: &Image) -> (String, String) {
    let derived = image.derive(&Default::default()).unwrap();
    let process = &derived.loader.processes[0];
    let import = process
        .imports
        .iter()
        .find(|it| it.package == "torch")
        .unwrap();
    let mut objects = process.objects.iter().map(|it| it.path.clone());
    let path = objects.find(|path| path.contains("libtorch_global_deps"));
    (import.version.clone(), path.unwrap_or_default())
}

#[test]
fn the_first_pytorch_of_the_search_path_is_imported() {
    let installed = || torch_in(Image::python(), SITE, "2.8.0").package("torch", "2.8.0");
    let two = |directory: &str| torch_in(installed(), directory, "2.6.0");
    let config = |env: &[&str], command: &[&str], user: &str| -> Value {
        json!({"Env": env, "Cmd": command, "WorkingDir": "/app", "User": user})
    };
    let user = "home/ml/.local/lib/python3.11/site-packages";
    for (directory, config) in [
        ("app", config(&[], &["python3", "main.py"], "")),
        ("app", config(&[], &["python3", "-m", "serve"], "")),
        ("srv", config(&[], &["python3", "/srv/main.py"], "")),
        (
            "app/lib",
            config(&["PYTHONPATH=lib"], &["python3", "/srv/main.py"], ""),
        ),
        (
            "app",
            config(&["PYTHONPATH=/none::"], &["python3", "/srv/main.py"], ""),
        ),
        (
            user,
            config(&["HOME=/home/ml"], &["python3", "/srv/main.py"], ""),
        ),
        (user, config(&[], &["python3", "/srv/main.py"], "ml")),
        (user, config(&[], &["python3", "/srv/main.py"], "1000:1000")),
    ] {
        let image = two(directory)
            .text("srv/main.py", "")
            .text(
                "etc/passwd",
                "root:x:0:0::/root:/bin/sh\nml:x:1000:1000::/home/ml:/bin/sh\n",
            )
            .config(config.clone());
        let path = format!("/{directory}/torch/lib/libtorch_global_deps.so");
        assert_eq!(imported(&image), ("2.6.0".to_owned(), path), "{config}");
    }
    for command in [
        &["python3", "-P", "main.py"][..],
        &["python3", "-I", "main.py"],
    ] {
        let image = two("app").config(config(&["PYTHONPATH=/app"], command, ""));
        assert_eq!(
            imported(&image).0,
            if command[1] == "-I" { "2.8.0" } else { "2.6.0" }
        );
    }
}

/// The files of PyTorch say what it is, whatever its metadata says, and wherever a link leads.
#[test]
fn pytorch_without_metadata_or_behind_a_link_is_imported() {
    let bare = torch_in(Image::python(), SITE, "2.8.0");
    assert_eq!(imported(&bare).0, "2.8.0");
    let renamed = bare.package("my-build", "1.0");
    assert_eq!(imported(&renamed).0, "2.8.0");
    let wrong = torch_in(Image::python(), SITE, "2.8.0").package("torch", "2.6.0");
    assert_eq!(imported(&wrong).0, "2.8.0");
    let linked = torch_in(Image::python(), "opt/build", "2.8.0")
        .directory(SITE)
        .link(&format!("{SITE}/torch"), "/opt/build/torch");
    assert_eq!(imported(&linked).0, "2.8.0");
}

#[test]
fn a_module_named_torch_hides_pytorch() {
    let image = torch_in(Image::python(), SITE, "2.8.0")
        .package("torch", "2.8.0")
        .text("app/torch.py", "")
        .config(json!({"Cmd": ["python3", "/app/main.py"]}))
        .text("app/main.py", "");
    let processes = image.loader().processes;
    assert!(
        processes.iter().all(|it| it.imports.is_empty()),
        "{processes:?}"
    );
}

/// The codes and paths of the gaps.
fn gaps(image: &Image) -> Vec<(GapCode, String)> {
    let gaps = image.derive(&Default::default()).unwrap().gaps.into_iter();
    gaps.map(|gap| (gap.code, gap.path.unwrap_or_default()))
        .collect()
}

#[test]
fn startup_code_that_is_not_understood_is_a_gap() {
    let image = || torch_in(Image::python(), SITE, "2.8.0").package("torch", "2.8.0");
    let precedence = "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'; enabled and __import__('_distutils_hack').add_shim(); \n";
    let hook = "# sys.path is left alone\ntry:\n    import apport_python_hook\nexcept ImportError:\n    pass\n";
    let harmless = image()
        .text(&format!("{SITE}/distutils-precedence.pth"), precedence)
        .text(&format!("{SITE}/_virtualenv.pth"), "import _virtualenv")
        .text(&format!("{SITE}/directories.pth"), "/opt/other\n")
        .text("usr/local/lib/python3.11/sitecustomize.py", hook);
    assert_eq!(gaps(&harmless), []);
    for (file, text) in [
        (
            "__editable___torch.pth",
            "import __editable___torch_finder; __editable___torch_finder.install(); x",
        ),
        ("_virtualenv.pth", "import _virtualenv; import sys"),
        (
            "sitecustomize.py",
            "import sys\nsys.path.insert(0, '/opt')\n",
        ),
        ("usercustomize.py", "import os\nos.execv('/bin/sh', [])\n"),
    ] {
        let path = format!("{SITE}/{file}");
        let found = gaps(&image().text(&path, text));
        assert_eq!(
            found,
            [(GapCode::PythonStartup, format!("/{path}"))],
            "{file}"
        );
    }
    let isolated = image()
        .text(
            &format!("{SITE}/sitecustomize.py"),
            "import sys; sys.path.clear()",
        )
        .command(&["python3", "-S", "main.py"]);
    assert_eq!(gaps(&isolated), [], "-S imports nothing from there");
}

#[test]
fn a_loader_that_is_not_modeled_is_a_gap() {
    let mut python = program(&[]);
    python.interpreter = Some("/opt/glibc/lib/ld-linux-x86-64.so.2".to_owned());
    let image = torch_in(Image::python(), SITE, "2.8.0")
        .package("torch", "2.8.0")
        .elf("opt/glibc/lib/ld-linux-x86-64.so.2", elf(&[]))
        .elf("usr/local/bin/python3.11", python);
    let python = "/usr/local/bin/python3.11".to_owned();
    assert_eq!(gaps(&image), [(GapCode::LoaderNotModeled, python)]);
}

/// ld.so(8), "Secure-execution mode".
#[test]
fn a_set_user_id_program_ignores_the_library_path() {
    let image = |mode: u32, user: &str| {
        let mut image = Image::new()
            .elf(LOADER, elf(&[]))
            .library("opt/gpu", "libcudart.so.12", &[])
            .elf("usr/bin/server", program(&["libcudart.so.12"]))
            .config(json!({"Cmd": ["/usr/bin/server"], "User": user, "Env": ["LD_LIBRARY_PATH=/opt/gpu"]}));
        image.layers[0].entries.last_mut().unwrap().mode = mode;
        image.loader().missing.len()
    };
    for (mode, user, missing) in [
        (0o755, "1001", 0),
        (0o4755, "1001", 1),
        (0o2755, "1000:1000", 1),
        (0o2755, "1000", 0),
        (0o4755, "", 0),
        (0o4755, "0:0", 0),
    ] {
        assert_eq!(image(mode, user), missing, "{mode:o} {user}");
    }
}
