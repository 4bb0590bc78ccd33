//! pip's requirements and constraints files: <https://pip.pypa.io/en/stable/reference/requirements-file-format/>.

mod options;

use std::ops::Range;

use super::pin::{self, Index};
use super::stage::{MAX_PINS, Recorder, only};
use super::text::Text;
use super::{Context, Neighbour, Pin, Stage};
use crate::error::Result;

/// How many files one file may name, all told.
const MAX_FILES: usize = 64;

/// What requirements files ask for together.
#[derive(Default)]
pub struct Gathered {
    /// The packages, not yet told where they come from.
    pub pins: Vec<Pin>,
    /// Where they come from.
    pub index: Index,
    /// The files that were read, relative to the first.
    read: Vec<String>,
    /// Whether the first was not named by another file: then all that it names must be there.
    alone: bool,
}

impl Gathered {
    /// Nothing yet, but where packages come from.
    pub fn from_index(index: Index) -> Self {
        Gathered {
            index,
            ..Gathered::default()
        }
    }
}

/// Reads a file alone.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    let mut gathered = Gathered {
        alone: true,
        ..Gathered::default()
    };
    gather(text, text.file_name(), context, false, &mut gathered)?;
    let mut recorder = Recorder::new(context);
    recorder.command();
    for mut pin in gathered.pins {
        gathered.index.apply(&mut pin);
        recorder.add(pin, text)?;
    }
    Ok(vec![only(recorder)])
}

/// Reads a file and those that it names. `path` is where it is, relative to where neighbours are looked for.
pub fn gather(
    text: &Text<'_>,
    path: &str,
    context: &Context<'_>,
    constraint: bool,
    gathered: &mut Gathered,
) -> Result<()> {
    gathered.read.push(path.to_owned());
    for line in lines(text.text) {
        entry(text, path, &line, context, constraint, gathered)?;
    }
    Ok(())
}

/// Reads one line: a requirement or an option.
pub fn entry(
    text: &Text<'_>,
    path: &str,
    line: &Line,
    context: &Context<'_>,
    constraint: bool,
    gathered: &mut Gathered,
) -> Result<()> {
    if !line.text.starts_with('-') {
        // One too many is told when it is added.
        if gathered.pins.len() <= MAX_PINS {
            gathered.pins.extend(requirement(text, line, constraint)?);
        }
        return Ok(());
    }
    for (name, value) in options::read(text, line, &line.text)? {
        match name {
            "-r" | "--requirement" => {
                include(text, path, (value, line), context, constraint, gathered)?;
            }
            "-c" | "--constraint" => {
                include(text, path, (value, line), context, true, gathered)?;
            }
            _ => index_option(&mut gathered.index, name, value),
        }
    }
    Ok(())
}

/// Takes an option that says where packages come from.
pub fn index_option(index: &mut Index, name: &str, value: &str) {
    match name {
        "-i" | "--index-url" | "--default-index" => index.instead = Some(value.to_owned()),
        "--extra-index-url" | "-f" | "--find-links" | "--index" => {
            // uv names an index: `--index pytorch=https://…`.
            let url = value
                .split_once("=http")
                .map_or(value, |(name, _)| &value[name.len() + 1..]);
            index.besides.push(url.to_owned());
        }
        "--torch-backend" => index.backend = Some(value.to_owned()),
        _ => {}
    }
}

fn include(
    text: &Text<'_>,
    path: &str,
    (file, line): (&str, &Line),
    context: &Context<'_>,
    constraint: bool,
    gathered: &mut Gathered,
) -> Result<()> {
    let relative = match path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{}", file.trim_start_matches("./")),
        None => file.trim_start_matches("./").to_owned(),
    };
    if gathered.read.len() >= MAX_FILES || gathered.read.contains(&relative) {
        return Ok(());
    }
    let other = match context.neighbour(text, &relative)? {
        Neighbour::Text(other) => other,
        // pip replaces ${NAME} by variables of its own environment.
        Neighbour::Missing if gathered.alone && !file.contains("${") => {
            let help = "pip looks for it beside the file that names it";
            let problem = format!("there is no file `{relative}`");
            return Err(text.fault(line.span.clone(), &problem, Some(help)));
        }
        _ => return Ok(()),
    };
    let name = match text.name.strip_suffix(path) {
        Some(folder) => format!("{folder}{relative}"),
        None => relative.clone(),
    };
    gather(
        &Text::new(&name, &other)?,
        &relative,
        context,
        constraint,
        gathered,
    )
}

fn requirement(text: &Text<'_>, line: &Line, constraint: bool) -> Result<Option<Pin>> {
    // Options of one requirement stand behind it: `--hash=sha256:…`.
    let (written, behind) = line
        .text
        .split_at(line.text.find(" --").unwrap_or(line.text.len()));
    let written = written.trim();
    options::read(text, line, behind)?;
    let location = || {
        let shown = text.text.get(line.span.clone()).unwrap_or_default();
        let end = shown
            .find(" --")
            .or_else(|| shown.find('\\'))
            .unwrap_or(shown.len());
        line.span.start..line.span.start + shown[..end].trim_end().len()
    };
    match pin::python(written) {
        Ok(pin) => Ok(pin.map(|pin| Pin {
            constraint,
            location: text.location(location()),
            ..pin
        })),
        // pip replaces ${NAME} by variables of its own environment.
        Err(_) if written.contains("${") => Ok(None),
        Err(problem) => Err(text.fault(
            location(),
            &format!("this is no requirement: {problem}"),
            Some("pip takes lines such as `torch==2.8.0`, `-r other.txt` and `--index-url URL`"),
        )),
    }
}

/// A line, or several that a `\` joins, without the comment.
pub struct Line {
    /// What it says.
    pub text: String,
    /// The place of its first line in the file.
    pub span: Range<usize>,
}

fn lines(text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut current: Option<Line> = None;
    for physical in text.split_inclusive('\n') {
        let start = at;
        at += physical.len();
        let (content, goes_on) = match physical.trim_end().strip_suffix('\\') {
            Some(content) if !content.trim_start().starts_with('#') => (content, true),
            _ => (physical.trim_end(), false),
        };
        let content = without_comment(content);
        let line = current.get_or_insert_with(|| {
            let start = start + (content.len() - content.trim_start().len());
            Line {
                text: String::new(),
                span: start..start + content.trim().len(),
            }
        });
        line.text.push_str(content);
        if !goes_on {
            found.extend(current.take());
        }
    }
    found.extend(current);
    found.retain(|line| !line.text.trim().is_empty());
    for line in &mut found {
        line.text = line.text.trim().to_owned();
    }
    found
}

/// A comment begins with `#` at the start of a line or after white space.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if c == '#' && before.is_whitespace() {
            return &line[..at];
        }
        before = c;
    }
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lines_and_options() {
        let text = "# c\na==1 \\\n  --hash=x \\\n  --hash=y\nb #c\n\n--index-url=https://x/cu118\n-r  y.txt\nu#frag";
        let found: Vec<String> = lines(text).into_iter().map(|line| line.text).collect();
        assert_eq!(
            found,
            [
                "a==1   --hash=x   --hash=y",
                "b",
                "--index-url=https://x/cu118",
                "-r  y.txt",
                "u#frag"
            ]
        );
    }
}
