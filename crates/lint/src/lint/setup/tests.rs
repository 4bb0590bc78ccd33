#![allow(clippy::unwrap_used)]
use super::*;

/// The parts of a list as one text, with unread parts in braces.
fn written(text: &str, list: &Requirements<'_>) -> String {
    let parts = list.parts.iter().map(|part| match part {
        Part::Requirement { text, .. } => (*text).to_owned(),
        Part::File { path, .. } => format!("<{path}>"),
    });
    let unread = list
        .unread
        .iter()
        .map(|span| format!("{{{}}}", &text[span.clone()]));
    parts.chain(unread).collect::<Vec<_>>().join(" ")
}

fn main_of(text: &str) -> String {
    written(text, &python::parse(text).main)
}

#[test]
fn lists_of_plain_texts_are_read() {
    let direct = "setup(\n  name='x',\n  install_requires=[\n    'torch==2.8.0',  # c ]\n    \"numpy<2; python_version < '3.12'\",\n  ],\n)\n";
    assert_eq!(
        main_of(direct),
        "torch==2.8.0 numpy<2; python_version < '3.12'"
    );
    for (text, expected) in [
        ("R = ['a', 'b']\nsetup(install_requires = R)\n", "a b"),
        (
            "R: list[str] = ['a']\nsetup(n='x', install_requires=list(R))",
            "a",
        ),
        (
            "A = ['a']\nB = ('b',)\nsetup(x=1, install_requires=A + B + ['c', *A])",
            "a b c a",
        ),
        ("setup(\"install_requires=['a']\")", ""),
        ("# setup(install_requires=['a'])", ""),
        ("setup(extra_install_requires=['a'])", ""),
        ("setup(install_requires='a<2')", "a<2"),
    ] {
        assert_eq!(main_of(text), expected, "{text}");
    }
}

#[test]
fn what_is_computed_is_not_read() {
    for (text, expected) in [
        ("setup(install_requires=['a", "{setup(install_requires=['a}"),
        ("setup(install_requires=['a' + x, 'b'])", "b {'a' + x}"),
        ("setup(install_requires=['a' 'b'])", "{'a' 'b'}"),
        ("setup(install_requires=[f'a', 'b'])", "b {f'a'}"),
        (
            "setup(install_requires=['a'] if x else ['b'])",
            "{['a'] if x else ['b']}",
        ),
        ("setup(install_requires=[x for x in y])", "{[x for x in y]}"),
        ("setup(install_requires=requires())", "{requires()}"),
        (
            "R = ['a']\nif x:\n    R.append('b')\nsetup(install_requires=R)",
            "a {R.append('b')}",
        ),
        (
            "R = ['a']\nR += b()\nsetup(install_requires=R)",
            "a {R += b()}",
        ),
        (
            "if x:\n    R = ['a']\nelse:\n    R = ['b']\nsetup(install_requires=R)",
            "{R}",
        ),
        ("R = R\nsetup(install_requires=R)", "{R}"),
        (
            "setup(install_requires=['a'])\nsetup(install_requires=['b'])",
            "{install_requires=['a']}",
        ),
    ] {
        assert_eq!(main_of(text), expected, "{text}");
    }
}

#[test]
fn files_that_are_read_are_followed() {
    let with = "with open('r.txt') as f:\n    R = f.read().splitlines()\nsetup(install_requires=R)";
    let lines = "with open('r.txt', 'r') as f:\n    R = [l.strip() for l in f if l.strip() and not l.startswith('#')]\nsetup(install_requires=R)";
    let function = "def get(path='x'):\n    with open(path) as f:\n        return f.readlines()\n\nsetup(install_requires=get('requirements/run.txt') + ['a'])";
    let own = "def get():\n    with open('r.txt') as f:\n        return f.readlines()\nx = 'other.txt'\nsetup(install_requires=get())";
    for (text, expected) in [
        (
            "setup(install_requires=open('r.txt').read().splitlines())",
            "<r.txt>",
        ),
        (
            "setup(install_requires=Path('r.txt').read_text().split('\\n'))",
            "<r.txt>",
        ),
        (with, "<r.txt>"),
        (lines, "<r.txt>"),
        (function, "<requirements/run.txt> a"),
        (own, "<r.txt>"),
        // A function that chooses, changes or is unknown; a file whose name is computed; lines that are chosen.
        (
            "def get():\n  return open('a.txt' if x else 'b.txt')\nsetup(install_requires=get())",
            "{get()}",
        ),
        (
            "def get(p):\n  return open(p).read().replace('==', '>=')\nsetup(install_requires=get('r.txt'))",
            "{get('r.txt')}",
        ),
        ("setup(install_requires=get('r.txt'))", "{get('r.txt')}"),
        (
            "setup(install_requires=open(p + 'r.txt').read().split())",
            "{open(p + 'r.txt').read().split()}",
        ),
        (
            "setup(install_requires=[l for l in open('r.txt') if 'torch' in l])",
            "{[l for l in open('r.txt') if 'torch' in l]}",
        ),
    ] {
        assert_eq!(main_of(text), expected, "{text}");
    }
}

#[test]
fn extras_are_read() {
    let extras = |text: &str| {
        let setup = python::parse(text);
        let found = setup
            .extras
            .iter()
            .map(|(name, list)| format!("{name}: {}", written(text, list)));
        let unread = setup
            .unread
            .iter()
            .map(|span| format!("{{{}}}", &text[span.clone()]));
        found.chain(unread).collect::<Vec<_>>().join(", ")
    };
    for (text, expected) in [
        (
            "setup(extras_require={'a': ['x', 'y'], \"b\": B, **C})\nB = ['z']",
            "a: x y, b: z, {C}",
        ),
        (
            "E = {}\nE['a'] = ['x']\nE['b'] = E['a'] + ['y']\nsetup(x=1, extras_require=E)",
            "a: x, b: y {E['a']}",
        ),
        (
            "E = {'a': ['x']}\nE.update(y)\nsetup(x=1, extras_require=E)",
            "a: x, {E.update(y)}",
        ),
        ("setup(x=1, extras_require=get())", "{get()}"),
    ] {
        assert_eq!(extras(text), expected, "{text}");
    }
}

#[test]
fn sections_of_a_configuration_are_read() {
    let text = "[metadata]\ninstall_requires = x\n[options]\npackages = find:\ninstall_requires =\n    torch==2.8.0\n    # no\n\n    numpy # c\npython_requires = >=3.9\n[options.extras_require]\nq = r\nall =\n  s\n  t\n";
    let setup = configuration::parse(text);
    assert_eq!(written(text, &setup.main), "torch==2.8.0 numpy");
    assert_eq!(setup.extras[0].0, "q");
    assert_eq!(written(text, &setup.extras[1].1), "s t");
    let one = "[options]\ninstall_requires = a; python_version > '3'\n";
    assert_eq!(
        written(one, &configuration::parse(one).main),
        "a; python_version > '3'"
    );
    let other = "[options]\ninstall_requires =\n  a\n  %(X)s\n";
    assert_eq!(
        written(other, &configuration::parse(other).main),
        "a {%(X)s}"
    );
    let file = "[options]\ninstall_requires = file: a.txt, b.txt\n";
    assert_eq!(
        written(file, &configuration::parse(file).main),
        "<a.txt> <b.txt>"
    );
}

#[test]
fn hostile_files_end() {
    let spread = format!(
        "A = [{}]\nsetup(x=1, install_requires=A)",
        "*A, ".repeat(1000)
    );
    let doubled: String = (0..40)
        .map(|i| format!("A{i} = A{} + A{}\n", i + 1, i + 1))
        .collect();
    let nested = format!("setup(install_requires={})", "[*".repeat(20_000));
    for text in [
        spread,
        format!("{doubled}\nsetup(x=1, install_requires=A0)"),
        nested,
    ] {
        python::parse(&text);
    }
}
