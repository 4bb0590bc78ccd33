//! pip's requirements and constraints files: <https://pip.pypa.io/en/stable/reference/requirements-file-format/>.

mod line;
mod options;

use super::context::{Context, Neighbour, joined};
use super::facts::{Pin, SearchDirectory, Stage};
use super::pin::{self, Index};
use super::stage::{MAX_PINS, Recorder, constrain, only};
use super::text::Text;
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;

pub use line::Line;
use line::lines;

/// The strategy with which uv asks all indexes.
pub const BEST_MATCH: &str = "unsafe-best-match";

/// The maximum number of included files.
const MAX_FILES: usize = 64;

/// The requirements of several files.
#[derive(Default)]
pub struct Gathered {
    /// The packages, without their origin.
    pub pins: Vec<Pin>,
    /// Where they come from.
    pub index: Index,
    /// Names of files that are not those of the build context, and are not read.
    pub hidden: Vec<String>,
    /// Files that are not read, and whose requirements are missing.
    pub unread: Vec<SearchDirectory>,
    /// The files that were read, relative to the first.
    read: Vec<String>,
    /// Whether the first file was named by the user, so that all files it includes must exist.
    alone: bool,
}

impl Gathered {
    /// Starts with the options of a command.
    pub fn from_index(index: Index) -> Self {
        Gathered {
            index,
            ..Gathered::default()
        }
    }
}

/// Reads a requirements file.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    let mut gathered = Gathered {
        alone: true,
        ..Gathered::default()
    };
    gather(text, text.file_name(), context, false, &mut gathered)?;
    let mut recorder = Recorder::new(context);
    recorder.command();
    constrain(&mut gathered.pins);
    for mut pin in gathered.pins {
        gathered.index.apply(&mut pin);
        recorder.add(pin, text)?;
    }
    Ok(vec![Stage {
        unread: gathered.unread,
        ..only(recorder)
    }])
}

/// Reads a file and those that it includes. `path` is relative to the directory of the first.
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

/// Reads a line: a requirement or options.
pub fn entry(
    text: &Text<'_>,
    path: &str,
    line: &Line,
    context: &Context<'_>,
    constraint: bool,
    gathered: &mut Gathered,
) -> Result<()> {
    if !line.text.starts_with('-') {
        // One package too many is reported when it is added.
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

/// Applies an option that sets the origin of packages.
pub fn index_option(index: &mut Index, name: &str, value: &str) {
    match name {
        "-i" | "--index-url" | "--default-index" => index.instead = Some(value.to_owned()),
        "--extra-index-url" | "-f" | "--find-links" | "--index" => {
            // uv allows a named index: `--index pytorch=https://…`.
            let url = value
                .split_once("=http")
                .map_or(value, |(name, _)| &value[name.len() + 1..]);
            index.besides.push(url.to_owned());
        }
        "--index-strategy" => index.best_match = value == BEST_MATCH,
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
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let relative = joined(folder, file);
    if gathered.read.len() >= MAX_FILES || gathered.read.contains(&relative) {
        return Ok(());
    }
    let is_hidden = gathered.hidden.iter().any(|it| it == name_of(file));
    if is_hidden {
        return Ok(());
    }
    let other = match context.neighbour(text, &relative)? {
        Neighbour::Text(other) => other,
        // pip expands ${NAME} from its environment.
        Neighbour::Missing if gathered.alone && !file.contains("${") => {
            let help = "paths are relative to the file that includes them";
            let problem = format!("file `{relative}` not found");
            return Err(text.fault(line.span.clone(), &problem, Some(help)));
        }
        _ => {
            // The base image may have a constraints file.
            let is_elsewhere = file.contains("://") || (constraint && file.starts_with('/'));
            if !is_elsewhere && gathered.unread.len() < MAX_FILES {
                gathered.unread.push(SearchDirectory {
                    text: file.to_owned(),
                    location: text.location(line.span.clone()),
                });
            }
            return Ok(());
        }
    };
    let name = context.name(&relative);
    let other = context.text(&name, &other)?;
    gather(&other, &relative, context, constraint, gathered)
}

fn requirement(text: &Text<'_>, line: &Line, constraint: bool) -> Result<Option<Pin>> {
    // Options of a requirement follow it: `--hash=sha256:…`.
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
        // pip expands ${NAME} from its environment.
        Err(_) if written.contains("${") => Ok(None),
        Err(problem) => Err(text.fault(
            location(),
            &format!("invalid requirement: {problem}"),
            Some("write lines such as `torch==2.8.0`, `-r other.txt` or `--index-url URL`"),
        )),
    }
}
