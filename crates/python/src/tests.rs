//! What is read from sources.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::depth::Depth;
use crate::outline::Outline;

fn imports(source: &str) -> Vec<(u32, String)> {
    let facts = ModuleFacts::of(source).unwrap();
    assert_eq!(facts.unread, None, "{source}");
    facts
        .imports()
        .map(|it| (it.line, it.module.clone()))
        .collect()
}

#[test]
fn functions_are_not_entered_and_classes_are() {
    let source = "import a, b.c as d\ndef f():\n    import e\nclass C:\n    from .g import h\n";
    let found = imports(source);
    let names = found.iter().map(|(line, name)| (*line, name.as_str()));
    let names: Vec<_> = names.collect();
    assert_eq!(names, [(1, "a"), (1, "b.c"), (5, "g")]);
    assert_eq!(ModuleFacts::of(source).unwrap().names, ["C", "a", "d", "f"]);
}

#[test]
fn functions_that_the_module_calls_are_entered() {
    let names = |source: &str| -> String {
        let facts = ModuleFacts::of(source).unwrap();
        let places = facts
            .imports()
            .map(|it| format!("{} {} {}", it.module, it.line, it.called_from));
        places.collect::<Vec<_>>().join(", ")
    };
    let function = "def f(x=1):\n    import a\n    if x: return\n    import b\n";
    assert_eq!(names(&format!("{function}f()\nimport c\n")), "a 2 5, c 6 0");
    for call in [
        "x = f(2)",
        "x: int = f()",
        "if sys.argv:\n    pass\nelse:\n    f()",
        "sys.exit(f())",
        "exit(int(f()))",
        "raise SystemExit(f())",
        "def g(x): pass\ng(f())",
    ] {
        assert!(
            names(&format!("{function}{call}\n")).starts_with("a 2 "),
            "{call}"
        );
    }
    for call in [
        "",
        "f",
        "x.f()",
        "x = lambda: f()",
        "x = [f() for _ in y]",
        "f = x\nf()",
        "f()\nfrom x import *",
        "class C:\n    def f(): pass\n    f()",
        "def g():\n    global f\n    f = x\ng()\nf()",
        "def g(f):\n    f()\ng(x)",
        "def g():\n    f = x\n    f()\ng()",
        "globals()['f'] = x\nf()",
        "import sys\ndef g():\n    sys.path.append('x')\ng()\nf()",
    ] {
        assert_eq!(
            names(&format!("{function}{call}\n"))
                .replace("x 6 0", "")
                .replace("sys 5 0", ""),
            "",
            "{call}"
        );
    }
    for head in [
        "async def f():\n    import a\n",
        "@x\ndef f():\n    import a\n",
        "def f():\n    import a\n    yield\n",
    ] {
        assert_eq!(names(&format!("{head}f()\n")), "", "{head}");
    }
    let nested = "def g():\n    import a\ndef f():\n    f()\n    g()\n    g()\nif __name__ == '__main__':\n    f()\n";
    assert_eq!(names(nested), "a 2 8, a 2 8");
    assert_eq!(names("f()\ndef f():\n    import a\n"), "");
    // Its names are not those of the module.
    let facts = ModuleFacts::of("def f():\n    from a import b\nf()\n").unwrap();
    assert_eq!(facts.names, ["f"]);
    let doubled: String = (1..40)
        .map(|it| format!("def f{it}():\n    f{}()\n    f{}()\n", it - 1, it - 1))
        .collect();
    let hostile = format!("def f0():\n    import a\n{doubled}f39()\nf3()\nf3()\n");
    assert!(ModuleFacts::of(&hostile).unwrap().imports().count() < 100);
}

#[test]
fn blocks_keep_their_conditions() {
    let source = "import sys\nif sys.version_info >= (3, 11):\n    import tomllib\nelse:\n    import tomli\n";
    let steps = ModuleFacts::of(source).unwrap().steps;
    let condition = Condition {
        all: true,
        atoms: vec![Atom {
            negated: false,
            subject: Subject::Version(Comparison::GreaterOrEqual, vec![3, 11]),
        }],
    };
    assert_eq!(steps[1], Step::If(condition));
    assert!(matches!(&steps[2], Step::Import(it) if it.module == "tomllib"));
    assert_eq!((&steps[3], &steps[5]), (&Step::Else, &Step::End));
    let caught =
        ModuleFacts::of("try:\n    import a\nexcept (ImportError, os.error):\n    a = 1\n")
            .unwrap();
    let classes = ["ImportError", "error"].map(str::to_owned).to_vec();
    assert_eq!(caught.steps[2], Step::Except(classes));
    // A block without imports does not matter.
    assert_eq!(
        ModuleFacts::of("try:\n    a()\nexcept OSError:\n    raise\n")
            .unwrap()
            .steps,
        []
    );
}

#[test]
fn constants_decide() {
    let decided = |source: &str| {
        let steps = ModuleFacts::of(source).unwrap().steps;
        let condition = steps.iter().find_map(|step| match step {
            Step::If(condition) => Some(condition.atoms[0].subject.clone()),
            _ => None,
        });
        condition.unwrap()
    };
    let import = "if X:\n    import a\nelse:\n    import b\n";
    // As NumPy asks whether its own setup runs.
    for once in [
        "X = False\n",
        "try:\n    X\nexcept NameError:\n    X = False\n",
        "X = None\n",
    ] {
        assert_eq!(
            decided(&format!("{once}{import}")),
            Subject::Constant(false),
            "{once}"
        );
    }
    for several in [
        "X = False\nX = True\n",
        "X = False\ndef f():\n    global X\n    X = True\n",
        "X = False\nfor X in y: pass\n",
        "import X\nX = False\n",
        "X = 1\nX = False\n",
        "from a import c as X\nX = False\n",
        "from a import X\nX = False\n",
        "from a import *\nX = False\n",
        "X = True\nglobals()['x'.upper()] = False\n",
        "def f():\n    globals()['X'] = True\nX = False\n",
        "",
    ] {
        assert_eq!(
            decided(&format!("{several}{import}")),
            Subject::Unknown,
            "{several}"
        );
    }
    // What is assigned after a condition does not change it.
    let late = format!("X = False\n{import}globals()['x'.upper()] = True\n");
    assert_eq!(decided(&late), Subject::Constant(false));
}

#[test]
fn a_program_may_do_more_than_a_module() {
    for source in [
        "import sys\nif __name__ == '__main__':\n    sys.path.append('x')",
        "import sys\ndef f():\n    sys.path = []\nif __name__ == '__main__':\n    f()",
    ] {
        let facts = ModuleFacts::of(source).unwrap();
        assert!(!facts.changes_search, "{source}");
        assert!(facts.changes_search_as_main, "{source}");
    }
}

#[test]
fn a_search_path_that_changes_only_after_a_failed_import_has_a_guard() {
    let handler = "except Exception:\n    import sys\n    sys.path.append('x')\n";
    let facts = |import: &str| ModuleFacts::of(&format!("try:\n    {import}\n{handler}")).unwrap();
    let guarded = facts("from .info import version, author");
    assert_eq!(guarded.search_guards, ["info"]);
    assert!(!guarded.changes_search && guarded.changes_search_as_main);
    for import in [
        "from . import info",
        "import info",
        "from .info import *",
        "from ..info import x",
    ] {
        let facts = facts(import);
        assert!(
            facts.changes_search && facts.search_guards.is_empty(),
            "{import}"
        );
    }
}

#[test]
fn from_where_on_names_are_not_known() {
    let line = |source: &str| ModuleFacts::of(source).unwrap().dynamic_names_from;
    let body = "def f():\n    a = 1\n    return a\n\n";
    assert_eq!(
        line(&format!("{body}def __getattr__(name): pass\n")),
        Some(5)
    );
    assert_eq!(line(&format!("{body}__getattr__, x = attach()\n")), Some(5));
    assert_eq!(
        line("globals()[x] = 1\ndef __getattr__(name): pass\n"),
        Some(1)
    );
    let function = "def g():\n    a = 1\n    globals()[x] = a\n";
    assert_eq!(line(&format!("{body}{function}")), Some(5));
    assert_eq!(
        line(&format!("{body}class C:\n    exec('x = 1')\n")),
        Some(6)
    );
    assert_eq!(
        line("def f():\n    global __getattr__\n    __getattr__ = 1\n"),
        Some(1)
    );
    assert_eq!(line(body), None);
}

#[test]
fn to_go_through_the_path_of_a_package_brings_no_modules() {
    let brings = |source: &str| ModuleFacts::of(source).unwrap().has_dynamic_submodules;
    assert!(!brings("for it in __path__:\n    print(it)\n"));
    assert!(!brings("x = [it for it in __path__]\n"));
    assert!(brings("for it in x:\n    __path__.append(it)\n"));
    assert!(brings("f(__path__)\n"));
}

#[test]
fn a_name_that_is_exported_again_is_that_of_the_import() {
    let names = |source: &str| ModuleFacts::of(source).unwrap().names;
    assert!(names("from p import a as a").is_empty());
    assert_eq!(names("from p import a as b"), ["b"]);
}

#[test]
fn names_of_comprehensions_are_not_those_of_the_module() {
    let facts = ModuleFacts::of("x = [y for y in z if (w := y)]\n").unwrap();
    assert_eq!(facts.names, ["w", "x"]);
}

#[test]
fn tricks_are_noticed() {
    for source in [
        "def __getattr__(name): pass",
        "__getattr__, __all__ = lazy.attach()",
        "globals()[x] = 1",
        "globals().update(x)",
        "f(globals())",
        "g = globals",
        "vars()[x] = 1",
        "import sys\nm = sys.modules[__name__]",
        "import sys\nsetattr(sys.modules[__name__], x, 1)",
        "import sys\nsys.modules[__name__].__class__ = C",
        "import sys\nvars(sys.modules[__name__]).update(x)",
        "import sys\nm = sys.modules",
        "exec(text)",
        "import sys\nsys.modules[__name__] = C()",
        "from lazy import __getattr__",
        "import enum\n@enum.global_enum\nclass C(enum.Enum):\n    A = 1",
        "from enum import IntEnum\nIntEnum._convert_('C', __name__, f)",
    ] {
        assert!(
            ModuleFacts::of(source)
                .unwrap()
                .dynamic_names_from
                .is_some(),
            "{source}"
        );
    }
    for source in [
        "import sys\nsys.path.insert(0, 'x')",
        "import sys\nsys.path[0:0] = ['x']",
        "import sys\nsys.path += ['x']",
        "import sys\ndef f():\n    sys.path = []\nf()",
        "import site\nsite.addsitedir('x')",
        "from sys import path",
    ] {
        assert!(ModuleFacts::of(source).unwrap().changes_search, "{source}");
    }
    for source in [
        "import sys\nsys.meta_path.append(F())",
        "import sys\ndef f():\n    sys.path_hooks.insert(0, F)\nf()",
    ] {
        let facts = ModuleFacts::of(source).unwrap();
        assert!(facts.adds_finders && !facts.changes_search, "{source}");
    }
    for source in [
        "import sys\nprint(sys.path)",
        "import sys\ndef f():\n    sys.path.append('x')",
        "import sys\nsys.modules.get('x')",
        "import sys\nx = {k: v for k, v in sys.modules.items() if k in sys.modules}",
        "import sys\nfor k in list(sys.modules):\n    del sys.modules[k]",
        "import sys\nx = getattr(sys.modules[__name__], y)",
        "import sys\nsys.modules[__name__].x = 1",
        "import sys\nsetattr(sys.modules[__name__], 'x', 1)",
        "x = [it for it in globals() if 'x' in globals() and globals()[it]]",
        "globals()['x'] = globals().get('y')",
        "def f():\n    globals = {}\n    globals.update(x)",
        "x = vars(y)",
        "import sys\nfor finder in sys.meta_path:\n    print(finder)",
        "import sys\nx = [it for it in sys.path_hooks]",
        "import sys\nif __name__ == '__main__':\n    sys.path.append('x')",
    ] {
        let facts = ModuleFacts::of(source).unwrap();
        assert!(
            !facts.changes_search && facts.dynamic_names_from.is_none(),
            "{source}"
        );
    }
    let facts =
        ModuleFacts::of("import sys, np\nsys.modules['a.b'] = 1\nnp.int = int\nx.y = 1\n").unwrap();
    assert_eq!(
        (&facts.provided[..], &facts.patched[..]),
        (&["a.b".to_owned()][..], &["int".to_owned()][..])
    );
}

#[test]
fn hostile_sources_are_not_parsed() {
    let unread = |source: &str| ModuleFacts::of(source).unwrap().unread;
    assert_eq!(unread("print 'x'"), Some(Unread::Syntax));
    assert_eq!(unread(&"(".repeat(100_000)), Some(Unread::TooDeep));
    assert_eq!(unread(&"#\n".repeat(2 << 20)), Some(Unread::TooLong));
    let deep = format!("x = {}1{}\n", "(".repeat(6_000), ")".repeat(6_000));
    assert_eq!(unread(&deep), Some(Unread::TooDeep));
    let nested = format!("x = {}1{}\n", "(".repeat(150), ")".repeat(150));
    assert_eq!(unread(&nested), None);
    let chain = format!("x = {}1\n", "1 + ".repeat(9_000));
    assert_eq!(unread(&chain), None);
}

/// What sources are made of.
const PARTS: [&str; 40] = [
    "import ",
    "from ",
    "a",
    ".",
    "b",
    " as ",
    "\n",
    "\n    ",
    "\n        ",
    "try:",
    "except ",
    "ImportError",
    ":",
    "else:",
    "finally:",
    "if ",
    "elif ",
    "raise ",
    "class ",
    "def ",
    "(",
    ")",
    "*",
    "sys.path",
    "sys.modules",
    "[",
    "]",
    "=",
    "with suppress",
    "'x'",
    "f'{",
    "}'",
    "\"\"\"",
    "lambda ",
    ",",
    "global ",
    "match ",
    "case ",
    "not ",
    "\u{feff}é",
];

proptest::proptest! {
    /// Any text is read, and the blocks of its steps fit together.
    #[test]
    fn any_text_is_read(parts in proptest::collection::vec(0..PARTS.len(), 0..60)) {
        let source: String = parts.into_iter().map(|at| PARTS[at]).collect();
        let facts = ModuleFacts::of(&source).unwrap();
        proptest::prop_assert_eq!(&facts, &ModuleFacts::of(&source).unwrap());
        proptest::prop_assert!(run::fits_together(&facts), "{}", source);
    }
}

/// The sources below a directory.
fn sources(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() && !path.is_symlink() {
                true if path.ends_with("site-packages") || path.ends_with("test") => {}
                true => pending.push(path),
                false if path.extension().is_some_and(|it| it == "py") => {
                    let bytes = fs::read(path).unwrap();
                    found.push(String::from_utf8_lossy(&bytes).into_owned());
                }
                false => {}
            }
        }
    }
    found
}

#[test]
fn bodies_that_are_left_out_say_nothing() {
    let code = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    let python = Command::new("python3").args(["-c", code]).output();
    let library = String::from_utf8(python.unwrap().stdout).unwrap();
    let sources = sources(Path::new(library.trim()));
    assert!(sources.len() > 100, "{library}");
    let mut shorter = 0;
    for source in &sources {
        let outline = Outline::of(source);
        shorter += source.len() - outline.text().len();
        if let (Depth::Shallow, Depth::Shallow) = (depth::of(source), depth::of(outline.text())) {
            let whole = read::examine(&Outline::whole(source)).unwrap();
            let short = read::examine(&outline).unwrap();
            // That of functions is only in the whole.
            let newer_syntax = whole.newer_syntax.clone();
            let short = ModuleFacts {
                newer_syntax,
                ..short
            };
            assert_eq!(short, whole, "{source}");
        }
    }
    let all: usize = sources.iter().map(String::len).sum();
    assert!(shorter > all / 3);
}
