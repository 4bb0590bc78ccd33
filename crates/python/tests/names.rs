//! Compares the names that the model says a module lacks with those that CPython lists: those of the standard library on this machine.

#![allow(clippy::print_stderr, clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use imgcheck_python::ModuleFacts;
use imgcheck_python::run::{Files, Found, Interpreter, Outcome, Platform, Search, Source};

/// Prints the release, the directories of the standard library, the modules of the interpreter, and each module with the names that it has.
const PROGRAM: &str = r#"
import contextlib, importlib, io, keyword, os, pkgutil, sys, warnings
warnings.simplefilter("ignore")
library = os.path.dirname(os.__file__)
print(sys.version_info[1])
print(library, os.path.join(library, "lib-dynload"))
print(*sys.builtin_module_names)
def modules(path, prefix):
    for it in pkgutil.iter_modules([path], prefix):
        if it.name in ("antigravity", "this", "idlelib", "test", "turtledemo", "lib2to3") or "__main__" in it.name or "-" in it.name:
            continue
        yield it.name
        if it.ispkg:
            yield from modules(os.path.join(path, it.name.rsplit(".")[-1]), it.name + ".")
for name in list(modules(library, "")):
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            module = importlib.import_module(name)
    except BaseException:
        continue
    print(name, *[it for it in dir(module) if it.isidentifier() and not keyword.iskeyword(it)])
"#;

/// What a directory has for a name.
type Cached = HashMap<(usize, String), Option<Found<usize>>>;

/// Files of this machine.
#[derive(Default)]
struct Disk {
    paths: RefCell<Vec<PathBuf>>,
    found: RefCell<Cached>,
    facts: RefCell<HashMap<usize, Arc<ModuleFacts>>>,
}

impl Disk {
    fn add(&self, path: PathBuf) -> usize {
        let mut paths = self.paths.borrow_mut();
        paths.push(path);
        paths.len() - 1
    }

    fn source(&self, directory: &Path, name: &str) -> Option<Source<usize>> {
        let text = directory.join(format!("{name}.py"));
        if text.exists() {
            return Some(Source::Text(self.add(text)));
        }
        let files = fs::read_dir(directory).ok()?.flatten();
        let mut libraries = files.map(|it| it.path()).filter(|path| {
            let file = path.file_name().unwrap().to_string_lossy();
            file.ends_with(".so") && file.split('.').next() == Some(name)
        });
        Some(Source::Binary(self.add(libraries.next()?)))
    }

    fn search(&self, directory: usize, name: &str) -> Option<Found<usize>> {
        let directory = self.paths.borrow().get(directory)?.clone();
        let below = directory.join(name);
        if let Some(init) = self.source(&below, "__init__") {
            return Some(Found::Package(self.add(below), init));
        }
        let module = self.source(&directory, name).map(Found::Module);
        module.or_else(|| below.is_dir().then(|| Found::Directory(self.add(below))))
    }
}

impl Files for Disk {
    type File = usize;

    fn find(&self, directory: usize, name: &str) -> Option<Found<usize>> {
        let key = (directory, name.to_owned());
        let known = self.found.borrow().get(&key).copied();
        known.unwrap_or_else(|| {
            let found = self.search(directory, name);
            self.found.borrow_mut().insert(key, found);
            found
        })
    }

    fn facts(&self, file: usize) -> Option<Arc<ModuleFacts>> {
        let known = self.facts.borrow().get(&file).cloned();
        known.or_else(|| {
            let text = fs::read_to_string(self.paths.borrow().get(file)?).ok()?;
            let facts = Arc::new(ModuleFacts::of(&text).unwrap());
            self.facts.borrow_mut().insert(file, facts.clone());
            Some(facts)
        })
    }
}

fn fails(interpreter: &mut Interpreter<Disk>, program: &str) -> bool {
    let facts = Arc::new(ModuleFacts::of(program).unwrap());
    matches!(interpreter.run(facts), Outcome::Failed(_))
}

#[test]
fn no_name_that_cpython_lists_is_said_to_be_absent() {
    let python = Command::new("python3")
        .args(["-I", "-B", "-S", "-c", PROGRAM])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = python else {
        eprintln!("skipped: there is no python3");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    let mut next = || lines.next().unwrap();
    let minor = next().parse().unwrap();
    let disk = Disk::default();
    let library: Vec<usize> = next().split(' ').map(|it| disk.add(it.into())).collect();
    let search = Search {
        path: library.clone(),
        standard: library,
        is_known: true,
        builtin: next().split(' ').map(str::to_owned).collect(),
        platform: Platform {
            release: (3, minor),
        },
        most_lookups: u64::MAX,
        ..Search::default()
    };
    let (mut modules, mut closed, mut names) = (0, 0, 0);
    let mut wrong = Vec::new();
    for line in lines {
        let mut words = line.split(' ');
        let module = words.next().unwrap();
        let mut interpreter = Interpreter::new(&disk, &search);
        let mut lacks =
            |name: &str| fails(&mut interpreter, &format!("from {module} import {name}\n"));
        modules += 1;
        closed += usize::from(lacks("certainly_absent"));
        for name in words {
            names += 1;
            if lacks(name) {
                wrong.push(format!("{module}.{name}"));
            }
        }
    }
    eprintln!("{modules} modules with {names} names, {closed} without any others");
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(
        modules > 300 && closed * 10 > modules * 7,
        "{closed} of {modules}"
    );
}
