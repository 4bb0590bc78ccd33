//! What is read from sources.

#![allow(clippy::unwrap_used)]

use super::*;

fn imports(source: &str) -> Vec<(u32, String)> {
    let facts = ModuleFacts::of(source);
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
    assert_eq!(ModuleFacts::of(source).names, ["C", "a", "d", "f"]);
}

#[test]
fn blocks_keep_their_conditions() {
    let source = "import sys\nif sys.version_info >= (3, 11):\n    import tomllib\nelse:\n    import tomli\n";
    let steps = ModuleFacts::of(source).steps;
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
        ModuleFacts::of("try:\n    import a\nexcept (ImportError, os.error):\n    a = 1\n");
    let classes = ["ImportError", "error"].map(str::to_owned).to_vec();
    assert_eq!(caught.steps[2], Step::Except(classes));
    // A block without imports does not matter.
    assert_eq!(
        ModuleFacts::of("try:\n    a()\nexcept OSError:\n    raise\n").steps,
        []
    );
}

#[test]
fn constants_decide() {
    let decided = |source: &str| {
        let steps = ModuleFacts::of(source).steps;
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
        "",
    ] {
        assert_eq!(
            decided(&format!("{several}{import}")),
            Subject::Unknown,
            "{several}"
        );
    }
}

#[test]
fn tricks_are_noticed() {
    for source in [
        "def __getattr__(name): pass",
        "__getattr__, __all__ = lazy.attach()",
        "globals()['x'] = 1",
        "exec(text)",
        "import sys\nsys.modules[__name__] = C()",
    ] {
        assert!(ModuleFacts::of(source).has_dynamic_names, "{source}");
    }
    for source in [
        "import sys\nsys.path.insert(0, 'x')",
        "import sys\nsys.path[0:0] = ['x']",
        "import sys\nsys.path += ['x']",
        "import sys\nsys.meta_path.append(F())",
        "import sys\ndef f():\n    sys.path = []\nf()",
        "import site\nsite.addsitedir('x')",
        "from sys import path",
    ] {
        assert!(ModuleFacts::of(source).changes_search, "{source}");
    }
    for source in [
        "import sys\nprint(sys.path)",
        "import sys\ndef f():\n    sys.path.append('x')",
        "import sys\nsys.modules.get('x')",
    ] {
        let facts = ModuleFacts::of(source);
        assert!(
            !facts.changes_search && !facts.has_dynamic_names,
            "{source}"
        );
    }
    let facts = ModuleFacts::of("import sys, np\nsys.modules['a.b'] = 1\nnp.int = int\nx.y = 1\n");
    assert_eq!(
        (&facts.provided[..], &facts.patched[..]),
        (&["a.b".to_owned()][..], &["int".to_owned()][..])
    );
}

#[test]
fn hostile_sources_are_not_parsed() {
    let unread = |source: &str| ModuleFacts::of(source).unread;
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
        let facts = ModuleFacts::of(&source);
        proptest::prop_assert_eq!(&facts, &ModuleFacts::of(&source));
        proptest::prop_assert!(run::fits_together(&facts), "{}", source);
    }
}
