//! setup.cfg: <https://setuptools.pypa.io/en/latest/userguide/declarative_config.html>

use super::list::{Part, Requirements, Setup};

/// `install_requires` of the section `[options]`, and the keys of `[options.extras_require]`: one requirement in each indented line, or
/// `file:` and the names of requirements files.
pub fn parse(text: &str) -> Setup<'_> {
    let mut found = Setup::default();
    let mut section = "";
    // The list that indented lines belong to.
    let mut list: Option<&mut Requirements<'_>> = None;
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
            list = None;
            if content.starts_with('[') {
                section = content;
                continue;
            }
            let (key, first) = content.split_once('=').unwrap_or((content, ""));
            match (section, key.trim()) {
                ("[options]", "install_requires") => list = Some(&mut found.main),
                ("[options.extras_require]", name) => {
                    found.extras.push((name, Requirements::default()));
                    list = found.extras.last_mut().map(|(_, list)| list);
                }
                _ => {}
            }
            value = first.trim();
        }
        let value = value.split(" #").next().unwrap_or_default().trim();
        let Some(list) = list.as_mut().filter(|_| !value.is_empty()) else {
            continue;
        };
        let place = start + line.find(value).unwrap_or(0);
        let span = place..place + value.len();
        // `%(name)s` stands for another value of the file.
        if value.contains("%(") {
            list.unread.push(span);
            continue;
        }
        match value.strip_prefix("file:") {
            Some(files) => {
                let files = files.split(',').map(str::trim);
                let files = files.filter(|path| !path.is_empty());
                list.parts.extend(files.map(|path| Part::File {
                    path,
                    span: span.clone(),
                }));
            }
            None => list.parts.push(Part::Requirement { text: value, span }),
        }
    }
    found
}
