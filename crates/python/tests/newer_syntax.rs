//! Compares what is said of newer syntax with what a real Python compiles.

#![allow(clippy::print_stderr, clippy::unwrap_used)]

use std::io::Write as _;
use std::process::{Command, Stdio};

use imgcheck_python::ModuleFacts;

/// Sources with syntax of each kind, and the minor number of the first release of Python 3 that accepts it; 0 for what all accept.
const SOURCES: [(&str, u32); 53] = [
    ("(a := 1)", 8),
    ("def f(a, /): pass", 8),
    ("def f():\n    return 1, *a", 8),
    ("def f():\n    yield 1, *a", 8),
    ("{a := 1}", 9),
    ("@a[0].b\ndef f(): pass", 9),
    ("@(lambda f: f)\ndef f(): pass", 9),
    ("with (a, b): pass", 0),
    ("with (a): pass", 0),
    ("for x in *a, b: pass", 9),
    ("match x:\n    case 1: pass", 10),
    ("match = 1\nmatch (x)", 0),
    ("print(match)", 0),
    ("try: pass\nexcept* E: pass", 11),
    ("x[*a]", 11),
    ("x[(*a,)]", 0),
    ("def f(*a: *b): pass", 11),
    ("def f[T](): pass", 12),
    ("class A[T]: pass", 12),
    ("type A = int", 12),
    ("type = 1\ntype (x)", 0),
    ("f'{a[\"b\"]}'", 0),
    ("f'{a['b']}'", 12),
    ("f\"{a[\"b\"]}\"", 12),
    ("f'{\"\\n\".join(a)}'", 12),
    ("f'\\n{a}'", 0),
    ("f'{a:\\n}'", 0),
    ("f'{a\n}'", 12),
    ("f'''{a\n}'''", 0),
    ("f'''{a # b\n}'''", 12),
    ("f'''{'#'}'''", 0),
    ("f\"{'#'}\"", 0),
    ("f\"{a['#']:#x}\"", 0),
    ("f'''{a['b']}'''", 0),
    ("f'''{a[\"b\"]:{c['d']}}'''", 0),
    ("f'{a:{b['c']}}'", 12),
    ("rf'{a}\\d'", 0),
    ("rf'{a[\"\\d\"]}'", 12),
    ("f'{a}' '\\n' f'{b}'", 0),
    ("f'{{\\n}}'", 0),
    ("f'\\N{DIGIT ONE}{a}'", 0),
    ("f'{a!r:\\N{DIGIT ONE}}'", 0),
    ("f'{f\"{a}\"}'", 0),
    ("f'{f'{a}'}'", 12),
    ("f'{a!r:>{b}}'", 0),
    ("class A[T = int]: pass", 13),
    ("try: pass\nexcept A, B: pass", 14),
    ("try: pass\nexcept (A, B): pass", 0),
    ("t'{a}'", 14),
    (
        "def f():\n    if a:\n        match x:\n            case 1: pass",
        10,
    ),
    ("async def f():\n    return [x async for x in a]", 0),
    ("print(f'{x!r}', end='')", 0),
    ("a = b = lambda *c, d: c", 0),
];

/// Says of each source, which a zero byte ends, whether this Python compiles it; before that, its minor number.
const PROGRAM: &str = r"
import sys, warnings
warnings.simplefilter('ignore')
print(sys.version_info[1])
for source in sys.stdin.read().split('\0')[:-1]:
    try:
        compile(source, 'x', 'exec')
        print(1)
    except SyntaxError:
        print(0)
";

#[test]
fn python_compiles_what_is_not_for_a_newer_one() {
    let started = Command::new("python3")
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut python) = started else {
        eprintln!("skipped: python3 is not installed");
        assert!(std::env::var_os("IMGCHECK_REQUIRE_TOOLS").is_none());
        return;
    };
    let mut stdin = python.stdin.take().unwrap();
    for (source, _) in SOURCES {
        write!(stdin, "{source}\0").unwrap();
    }
    drop(stdin);
    let output = python.wait_with_output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let mut lines = output.lines().map(|it| it.parse::<u32>().unwrap());
    let minor = lines.next().unwrap();
    let compiles: Vec<u32> = lines.collect();
    assert_eq!(compiles.len(), SOURCES.len());
    for ((source, since), compiles) in SOURCES.into_iter().zip(compiles) {
        let facts = ModuleFacts::of_whole(source).unwrap();
        let needed = facts.newer_syntax.iter().map(|it| it.minor).max();
        assert_eq!(needed.unwrap_or_default(), since, "{source}");
        assert_eq!(compiles == 1, since <= minor, "Python 3.{minor}: {source}");
    }
}

#[test]
fn the_first_line_of_each_release_is_kept() {
    let source = "def f():\n    return (a := 1)\n\nf'{b['c']}'\nf'{b['c']}'\n";
    let lines = |facts: ModuleFacts| -> Vec<(u32, u32)> {
        let newer = facts.newer_syntax.iter();
        newer.map(|it| (it.minor, it.line)).collect()
    };
    let whole = ModuleFacts::of_whole(source).unwrap();
    assert_eq!(lines(whole), [(8, 2), (12, 4)]);
    assert_eq!(lines(ModuleFacts::of(source).unwrap()), [(12, 4)]);
}
