//! `setup.cfg` and `setup.py`: what `install_requires` lists. A setup.py is not run: only a list of plain texts is read.

use std::ops::Range;

use super::context::Context;
use super::facts::{Pin, Stage};
use super::pin;
use super::stage::{Recorder, only};
use super::text::Text;
use crate::error::Result;

/// A requirement and where it is written.
struct Written<'t> {
    text: &'t str,
    span: Range<usize>,
}

/// Reads a setup.cfg or setup.py.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    let mut recorder = Recorder::new(context);
    recorder.command();
    for pin in packages(text)? {
        recorder.add(pin, text)?;
    }
    Ok(vec![only(recorder)])
}

/// The packages that the project requires; none if that is computed.
///
/// # Errors
/// A requirement is invalid.
pub fn packages(text: &Text<'_>) -> Result<Vec<Pin>> {
    let is_python = text.name.ends_with(".py");
    let written = match is_python {
        true => of_python(text.text),
        false => of_configuration(text.text),
    };
    let mut pins = Vec::new();
    for Written { text: line, span } in written {
        let found = pin::python(line).map_err(|problem| {
            let problem = format!("invalid requirement: {problem}");
            let help = "write a requirement such as `torch==2.8.0`";
            text.fault(span.clone(), &problem, Some(help))
        })?;
        pins.extend(found.map(|pin| Pin {
            location: text.location(span),
            ..pin
        }));
    }
    Ok(pins)
}

/// Whether a setup.py has a list of requirements that can be read.
pub fn is_plain(text: &str) -> bool {
    list(text).is_some()
}

/// `install_requires` of the section `[options]`: one requirement in each indented line.
fn of_configuration(text: &str) -> Vec<Written<'_>> {
    let mut found = Vec::new();
    let (mut in_options, mut in_list) = (false, false);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let content = line.trim();
        if content.starts_with(['#', ';']) || content.is_empty() {
            continue;
        }
        let mut value = content;
        if !line.starts_with([' ', '\t']) {
            if content.starts_with('[') {
                in_options = content == "[options]";
            }
            let (key, first) = content.split_once('=').unwrap_or((content, ""));
            in_list = in_options && key.trim() == "install_requires";
            value = first.trim();
        }
        let value = value.split(" #").next().unwrap_or_default().trim();
        if in_list && !value.is_empty() && !value.starts_with("file:") {
            let place = start + line.find(value).unwrap_or(0);
            found.push(Written {
                text: value,
                span: place..place + value.len(),
            });
        }
    }
    found
}

/// The texts of the list after `install_requires=`, or of the list of the name that stands there.
fn of_python(text: &str) -> Vec<Written<'_>> {
    list(text).unwrap_or_default()
}

fn list(text: &str) -> Option<Vec<Written<'_>>> {
    let at = after(text, "install_requires")?;
    let rest = &text[at..];
    if rest.starts_with('[') {
        return texts(text, at + 1);
    }
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
    let at = after(text, rest.get(..end).filter(|name| !name.is_empty())?)?;
    match text[at..].starts_with('[') {
        true => texts(text, at + 1),
        false => None,
    }
}

/// The position of what is assigned to a name, or passed as an argument of that name.
fn after(text: &str, name: &str) -> Option<usize> {
    text.match_indices(name).find_map(|(at, _)| {
        let is_start = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
        let rest = text[at + name.len()..].trim_start();
        let value = rest
            .strip_prefix('=')
            .filter(|rest| !rest.starts_with('='))?;
        let value = value.trim_start();
        is_start.then(|| text.len() - value.len())
    })
}

/// The texts up to the end of a list; `None` if it has anything else.
fn texts(text: &str, start: usize) -> Option<Vec<Written<'_>>> {
    let mut found = Vec::new();
    let mut at = start;
    loop {
        let rest = text.get(at..)?;
        let first = rest.chars().next()?;
        match first {
            ']' => return Some(found),
            '#' => at += rest.find('\n')?,
            ',' => at += 1,
            '"' | '\'' => {
                let inner = rest.get(1..)?;
                let end = inner.find(first)?;
                let content = &inner[..end];
                // Texts that follow each other are one; an escape or an end of the line is something else.
                let next = inner[end + 1..].trim_start();
                let is_plain = !content.is_empty() && !content.contains(['\\', '\n']);
                if !is_plain || !next.starts_with([',', ']', '#']) {
                    return None;
                }
                found.push(Written {
                    text: content,
                    span: at + 1..at + 1 + end,
                });
                at += end + 2;
            }
            c if c.is_whitespace() => at += c.len_utf8(),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(written: Vec<Written<'_>>) -> Vec<&str> {
        written.into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn lists_of_plain_texts_are_read() {
        let direct = "setup(\n  name='x',\n  install_requires=[\n    'torch==2.8.0',  # c ]\n    \"numpy<2; python_version < '3.12'\",\n  ],\n)\n";
        assert_eq!(
            names(of_python(direct)),
            ["torch==2.8.0", "numpy<2; python_version < '3.12'"]
        );
        let named = "REQUIRES = ['a', 'b']\nsetup(install_requires = REQUIRES)\n";
        assert_eq!(names(of_python(named)), ["a", "b"]);
        for computed in [
            "setup(install_requires=open('r.txt').read())",
            "setup(install_requires=['a' + x])",
            "setup(install_requires=['a' 'b'])",
            "setup(install_requires=[f'a'])",
            "setup(install_requires=requires())\nrequires = 3",
            "if install_requires == ['a']: pass",
            "setup(extra_install_requires=['a'])",
            "setup(install_requires=['a",
            "",
        ] {
            assert!(!is_plain(computed), "{computed}");
        }
    }

    #[test]
    fn sections_of_a_configuration_are_read() {
        let text = "[metadata]\ninstall_requires = x\n[options]\npackages = find:\ninstall_requires =\n    torch==2.8.0\n    # no\n\n    numpy # c\npython_requires = >=3.9\n[options.extras_require]\nq = r\n";
        assert_eq!(names(of_configuration(text)), ["torch==2.8.0", "numpy"]);
        let one = "[options]\ninstall_requires = a; python_version > '3'\n";
        assert_eq!(names(of_configuration(one)), ["a; python_version > '3'"]);
    }
}
