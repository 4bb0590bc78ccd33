//! Compares the model with CPython: generated modules are imported by both.

#![allow(clippy::print_stderr, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use imgcheck_python::ModuleFacts;
use imgcheck_python::run::{Files, Found, Interpreter, Outcome, Platform, Search, Source};

/// Imports `root` in each directory that is given, and prints the name of the class of what it raises.
const PROGRAM: &str = r#"
import sys, importlib, typing
before, path = set(sys.modules), list(sys.path)
for directory in sys.stdin.read().split():
    sys.path[:] = [directory] + path
    try:
        importlib.invalidate_caches()
        __import__("root")
        print("fine")
    except BaseException as error:
        print(type(error).__name__, getattr(error, "name", None))
    for name in set(sys.modules) - before:
        del sys.modules[name]
"#;

/// A directory of this machine.
struct Disk {
    paths: Vec<PathBuf>,
}

impl Disk {
    fn index(&self, path: &Path) -> Option<usize> {
        self.paths.iter().position(|it| it == path)
    }
}

impl Files for Disk {
    type File = usize;

    fn find(&self, directory: usize, name: &str) -> Option<Found<usize>> {
        let directory = &self.paths[directory];
        let package = self.index(&directory.join(name));
        let init = self.index(&directory.join(name).join("__init__.py"));
        let module = self.index(&directory.join(format!("{name}.py")));
        match (package, init, module) {
            (Some(package), Some(init), _) => Some(Found::Package(package, Source::Text(init))),
            (_, _, Some(module)) => Some(Found::Module(Source::Text(module))),
            (Some(package), ..) => Some(Found::Directory(package)),
            _ => None,
        }
    }

    fn facts(&self, file: usize) -> Option<Arc<ModuleFacts>> {
        let text = fs::read_to_string(&self.paths[file]).unwrap();
        Some(Arc::new(ModuleFacts::of(&text).unwrap()))
    }
}

/// What the model says of `import root` in a directory, and what it cannot tell.
fn play(directory: &Path, minor: u32) -> Outcome {
    let mut paths = vec![directory.to_owned()];
    let mut next = 0;
    while next < paths.len() {
        if paths[next].is_dir() {
            let children = fs::read_dir(&paths[next]).unwrap();
            paths.extend(children.map(|it| it.unwrap().path()));
        }
        next += 1;
    }
    let disk = Disk { paths };
    let search = Search {
        path: vec![0],
        is_known: true,
        builtin: ["sys", "typing", "warnings", "contextlib"]
            .map(str::to_owned)
            .into(),
        platform: Platform {
            release: (3, minor),
        },
        most_lookups: 100_000,
        ..Search::default()
    };
    Interpreter::new(&disk, &search).import("root")
}

struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % count
    }

    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }
}

const FILES: [&str; 9] = [
    "root.py",
    "a.py",
    "b.py",
    "pack/__init__.py",
    "pack/x.py",
    "pack/y.py",
    "pack/deep/__init__.py",
    "pack/deep/z.py",
    "space/m.py",
];
const MODULES: [&str; 15] = [
    "a",
    "b",
    "b",
    "pack",
    "pack.x",
    "pack.y",
    "pack.deep.z",
    "pack.deep",
    "space.m",
    "space",
    "absent",
    "pack.absent",
    "a.absent",
    "sys",
    "__main__",
];
const NAMES: [&str; 8] = ["one", "two", "x", "y", "deep", "z", "m", "lacking"];
const CAUGHT: [&str; 6] = [
    "except ImportError:",
    "except ModuleNotFoundError:",
    "except Exception:",
    "except:",
    "except ValueError:",
    "except (KeyError, ImportError) as error:",
];
const HANDLERS: [&str; 6] = [
    "one = None",
    "raise",
    "raise RuntimeError('no') from None",
    "import b",
    "from pack import x",
    "import absent",
];

fn import(random: &mut Random, file: &str) -> String {
    let (module, name) = (random.pick(&MODULES), random.pick(&NAMES));
    match random.below(8) {
        0 | 1 => format!("import {module}"),
        2 => format!("from {module} import {name}"),
        3 => format!("from {module} import {name} as {name}"),
        4 => format!("from {module} import *"),
        5 if file.contains('/') => format!("from . import {name}"),
        6 if file.contains("pack/") => format!("from .x import {name} as other"),
        _ => format!("import {module} as two"),
    }
}

fn statement(random: &mut Random, file: &str) -> String {
    let first = import(random, file);
    let second = import(random, file);
    let name = random.pick(&NAMES[..2]);
    // Python allows it in modules only.
    let inner = first.replace('*', "one");
    match random.below(16) {
        0 | 1 => format!("{name} = 1"),
        2 | 3 => first,
        4..=6 => {
            let (caught, handler) = (random.pick(&CAUGHT), random.pick(&HANDLERS));
            format!("try:\n    {first}\n{caught}\n    {handler}\nfinally:\n    {name} = 1")
        }
        7 => format!(
            "if sys.version_info >= (3, {}):\n    {first}\nelse:\n    {second}",
            random.below(20)
        ),
        8 => format!(
            "if typing.TYPE_CHECKING:\n    {first}\nelif sys.platform == 'win32' or not True:\n    {second}"
        ),
        9 => format!("if len(sys.argv) > 50:\n    {first}"),
        10 => format!("def {name}():\n    {inner}"),
        11 => format!("class C:\n    {inner}"),
        12 => format!("with contextlib.suppress(ImportError):\n    {first}"),
        13 => format!("for _ in range({}):\n    {first}", random.below(2)),
        14 => "def __getattr__(name):\n    return name".to_owned(),
        _ => format!(
            "if sys.version_info[:2] != (3, {}) and __name__ != '__main__':\n    {first}",
            random.below(14)
        ),
    }
}

/// A function `F` with a name of its own, and what calls it or not.
fn called_function(random: &mut Random, file: &str) -> String {
    if random.below(3) == 0 {
        return statement(random, file);
    }
    let [first, second] = [(), ()].map(|()| import(random, file).replace('*', "one"));
    let before = random.pick(&[
        "",
        "",
        "",
        "",
        "if sys.argv: return",
        "if not sys.argv: return 1",
        "if sys.platform == 'linux': pass",
        "if len(sys.argv) > 50: raise ValueError('many')",
        "yield 1",
        "G()",
        "if len(sys.argv) > 50: F()",
        "G = str; G()",
        "one = 1",
    ]);
    let between = random.pick(&[
        "",
        "",
        "",
        "",
        "def G(): pass",
        "F = str",
        "try: import b\nexcept ImportError: F = str",
        "for F in [str]: pass",
        "class F: pass",
        "two = 2",
    ]);
    let call = random.pick(&[
        "F()",
        "F()",
        "F()",
        "one = F()",
        "one = F()",
        "two: int = F()",
        "x = [F() for _ in ()]",
        "class D:\n    F()",
        "class D:\n    F = str\n    F()",
        "try:\n    F()\nexcept ImportError: pass",
        "if sys.version_info > (3,):\n    F()",
        "F",
        "lambda: F()",
        "x = F",
    ]);
    let head = random.pick(&[
        "def F():",
        "def F():",
        "def F():",
        "def F(*, a=1):",
        "async def F():",
        "@contextlib.contextmanager\ndef F():",
    ]);
    let number = random.below(1000);
    let text = format!(
        "def G():\n    {second}\n{head}\n    {before}\n    {first}\n    if sys.argv: return 2\n    import absent\n{between}\n{call}"
    );
    text.replace('F', &format!("f{number}"))
        .replace('G', &format!("g{number}"))
}

/// A `__getattr__`, or code that binds names of the module in other ways.
fn bound_name(random: &mut Random, file: &str) -> String {
    let [one, two] = [(), ()].map(|()| random.pick(&NAMES));
    let test = random.pick(&[
        "name == 'ONE'",
        "name in ('ONE', 'TWO')",
        "name in LIST",
        "name in LIST + ['TWO']",
        "name in frozenset(TABLE)",
        "name in TABLE.keys()",
        "name in globals()",
        "name not in LIST",
        "not (name in LIST)",
        "name in LIST and sys.argv",
        "name in LIST or name == 'TWO'",
        "name.startswith('l')",
        "found is not None",
        "found",
        "found is None",
        "name != 'ONE'",
    ]);
    let body = random.pick(&[
        "return 1",
        "return 1",
        "raise AttributeError(name)",
        "return TABLE[name]",
        "return globals()[name]",
        "name = 'ONE'",
        "pass",
    ]);
    let end = random.pick(&[
        "raise AttributeError(name)",
        "raise AttributeError(name)",
        "raise AttributeError(name)",
        "",
        "try:\n        value = TABLE[name]\n    except KeyError:\n        raise AttributeError(name)\n    return value",
        "try: return globals()[name]\n    except KeyError: raise AttributeError(name) from None",
    ]);
    let before = random.pick(&["", "", "import sys", "found = None", "global TABLE"]);
    let change = random.pick(&[
        "",
        "",
        "",
        "LIST.append('TWO')",
        "LIST += ['TWO']",
        "TABLE['TWO'] = 2",
        "def more(it): it.append('TWO')\nmore(LIST)",
        "other = LIST\nother.append('TWO')",
    ]);
    let name = random.pick(&["__getattr__", "__getattr__", "__getattr__", "other"]);
    let text = match random.below(10) {
        0 | 1 => return import(random, file),
        2 => "globals()['ONE'] = 1".to_owned(),
        3 => "def bind(): globals()['ONE'] = 1\nbind()".to_owned(),
        4 => "setattr(sys.modules[__name__], 'ONE', 1)".to_owned(),
        5 => "for key in ['ONE']: globals()[key] = 1".to_owned(),
        6 => "x = [it for it in list(globals()) if it in sys.modules]".to_owned(),
        _ => format!(
            "LIST = ['ONE']\nTABLE = {{'ONE': 1}}\n{change}\ndef {name}(name):\n    found = TABLE.get(name)\n    {before}\n    if {test}:\n        {body}\n    {end}"
        ),
    };
    text.replace("ONE", one).replace("TWO", two)
}

/// Makes a statement of a file.
type Statement = fn(&mut Random, &str) -> String;

/// Most names of `sys` do not exist, which imports of its names find; the model takes built-in modules for open.
fn write_case(directory: &Path, random: &mut Random, statement: Statement) {
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for file in FILES {
        if file != "root.py" && random.below(8) == 0 {
            continue;
        }
        let mut text = "import sys, typing, contextlib\n".to_owned();
        for _ in 0..=random.below(4) {
            writeln!(text, "{}", statement(random, file)).unwrap();
        }
        files.insert(file, text);
    }
    for (file, text) in files {
        let path = directory.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn minor_release() -> Option<u32> {
    let program = ["-c", "import sys; print(sys.version_info[1])"];
    let output = Command::new("python3").args(program).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// How many cases fail in CPython, how many for certain in the model, and how many of those in the same way.
fn compare(statement: Statement) -> Option<[usize; 3]> {
    let Some(minor) = minor_release() else {
        eprintln!("skipped: there is no python3");
        return None;
    };
    let scratch = tempfile::tempdir().unwrap();
    let mut random = Random(7);
    let cases: Vec<PathBuf> = (0..600)
        .map(|at| scratch.path().join(at.to_string()))
        .collect();
    for case in &cases {
        write_case(case, &mut random, statement);
    }
    let list = scratch.path().join("list");
    let names: Vec<String> = cases.iter().map(|it| it.display().to_string()).collect();
    fs::write(&list, names.join("\n")).unwrap();
    let output = Command::new("python3")
        .args(["-B", "-S", "-W", "ignore", "-c", PROGRAM])
        .stdin(fs::File::open(list).unwrap())
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        shown.lines().count(),
        cases.len(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (mut failed, mut predicted, mut same) = (0, 0, 0);
    for (case, line) in cases.iter().zip(shown.lines()) {
        let class = line.split(' ').next().unwrap();
        failed += usize::from(class != "fine");
        let Outcome::Failed(failure) = play(case, minor) else {
            continue;
        };
        predicted += 1;
        let sources = FILES.map(|it| (it, fs::read_to_string(case.join(it)).unwrap_or_default()));
        let sources: String = sources
            .iter()
            .map(|(name, text)| format!("--- {name}\n{text}"))
            .collect();
        // What is not certain may raise something else before.
        assert_ne!(class, "fine", "{failure:?}\n{sources}");
        same += usize::from(class == failure.class);
    }
    eprintln!(
        "{failed} of {} cases fail, {predicted} for certain, {same} in the same way",
        cases.len()
    );
    Some([failed, predicted, same])
}

#[test]
fn what_fails_for_certain_fails_in_cpython() {
    if let Some([failed, predicted, same]) = compare(statement) {
        assert!(
            failed > 100 && predicted * 10 > failed * 6 && same * 10 > predicted * 9,
            "{predicted} of {failed}"
        );
    }
}

#[test]
fn functions_that_a_module_calls_fail_in_cpython() {
    if let Some([failed, predicted, _]) = compare(called_function) {
        assert!(
            failed > 100 && predicted * 2 > failed,
            "{predicted} of {failed}"
        );
    }
}

#[test]
fn names_that_a_module_certainly_lacks_fail_in_cpython() {
    if let Some([failed, predicted, _]) = compare(bound_name) {
        assert!(
            failed > 100 && predicted * 2 > failed,
            "{predicted} of {failed}"
        );
    }
}
