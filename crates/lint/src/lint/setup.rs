//! `setup.cfg` and `setup.py`: the packages of `install_requires` and `extras_require`. A setup.py is not run: texts in lists, lists
//! that are added, and requirements files that it reads are followed, and the rest is reported as unread.

mod configuration;
mod files;
mod list;
mod python;
mod script;

use std::ops::Range;

use self::list::{Part, Requirements, Setup};
use super::context::{Context, Neighbour};
use super::facts::{Pin, SearchDirectory, Stage};
use super::install::Project;
use super::pin;
use super::requirements::{self, Gathered};
use super::stage::{Recorder, only, too_many};
use super::text::Text;
use imgcheck_base::error::Result;
use imgcheck_base::version::requirement::normalized;

/// The maximum number of extras, because each is compared with the main packages.
const MAX_EXTRAS: usize = 256;

/// How much of what is not read is shown, in characters.
const MAX_SHOWN: usize = 60;

/// Looks up a file of the project: its path for messages and its contents.
pub type Files<'f> = &'f dyn Fn(&str) -> Result<Option<(String, String)>>;

/// Whether a setup.py is one of setuptools.
pub fn is_setup(text: &str) -> bool {
    python::calls_setup(text)
}

/// Reads a setup.cfg or setup.py.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    check(text)?;
    let files = |path: &str| beside(text, path, context);
    let mut setup = parse(text);
    let mut main = Recorder::new(context);
    main.command();
    for pin in pins(text, &mut setup.main, context, &files)? {
        main.add(pin, text)?;
    }
    let mut recorders = vec![(main.clone(), "")];
    for (name, extra) in setup.extras.iter_mut().take(MAX_EXTRAS) {
        let mut recorder = main.clone();
        for pin in pins(text, extra, context, &files)? {
            recorder.add(pin, text)?;
        }
        recorders.push((recorder, name));
        if let Some(problem) = too_many(recorders.iter().map(|(recorder, _)| recorder)) {
            return Err(text.fault(0..1, &problem, None));
        }
    }
    let of_extras = setup.extras.iter().flat_map(|(_, extra)| &extra.unread);
    let unread = setup
        .main
        .unread
        .iter()
        .chain(&setup.unread)
        .chain(of_extras);
    let unread = unread.map(|span| shown(text, span)).collect();
    let stages = recorders.into_iter().enumerate();
    let stages = stages.map(|(index, (recorder, name))| Stage {
        index,
        name: name.to_owned(),
        ..only(recorder)
    });
    let mut stages: Vec<Stage> = stages.collect();
    stages[0].unread = unread;
    Ok(stages)
}

/// The packages that the installation of a project brings, with its extras.
///
/// # Errors
/// A requirement is invalid.
pub fn packages(
    text: &Text<'_>,
    project: &Project,
    context: &Context<'_>,
    files: Files<'_>,
) -> Result<Vec<Pin>> {
    let mut setup = parse(text);
    let mut found = pins(text, &mut setup.main, context, files)?;
    let is_chosen = |name: &str| {
        let is = |extra: &String| normalized(extra) == normalized(name);
        project.extras.iter().any(is)
    };
    for (_, extra) in setup.extras.iter_mut().filter(|(name, _)| is_chosen(name)) {
        found.extend(pins(text, extra, context, files)?);
    }
    Ok(found)
}

/// Looks up a file beside the one of a project: its path and contents.
pub fn beside(
    text: &Text<'_>,
    path: &str,
    context: &Context<'_>,
) -> Result<Option<(String, String)>> {
    Ok(match context.neighbour(text, path)? {
        Neighbour::Text(content) => Some((path.to_owned(), content)),
        Neighbour::Unread | Neighbour::Missing => None,
    })
}

/// Rejects a file of another form.
fn check(text: &Text<'_>) -> Result<()> {
    let lines = text.text.lines().map(str::trim_start);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let (is_one, problem, help) = match text.name.ends_with(".py") {
        true => (
            is_setup(text.text),
            "missing call of `setup()`",
            "a setup.py calls `setup()` of setuptools",
        ),
        false => (
            lines.next().is_none_or(|line| line.starts_with('[')),
            "missing section such as `[options]`",
            "a setup.cfg starts with a section; a setup.py is recognized by its name",
        ),
    };
    match is_one {
        true => Ok(()),
        false => Err(text.fault(0..1, problem, Some(help))),
    }
}

fn parse<'t>(text: &Text<'t>) -> Setup<'t> {
    match text.name.ends_with(".py") {
        true => python::parse(text.text),
        false => configuration::parse(text.text),
    }
}

/// The packages of a list. A file that cannot be read becomes a part that is not.
fn pins(
    text: &Text<'_>,
    list: &mut Requirements<'_>,
    context: &Context<'_>,
    files: Files<'_>,
) -> Result<Vec<Pin>> {
    let mut found = Vec::new();
    for part in &list.parts {
        match part {
            Part::Requirement { text: line, span } => {
                let pin = pin::python(line).map_err(|problem| {
                    let problem = format!("invalid requirement: {problem}");
                    let help = "write a requirement such as `torch==2.8.0`";
                    text.fault(span.clone(), &problem, Some(help))
                })?;
                found.extend(pin.map(|pin| Pin {
                    location: text.location(span.clone()),
                    ..pin
                }));
            }
            Part::File { path, span } => match of_file(path, context, files)? {
                Some(pins) => found.extend(pins),
                None => list.unread.push(span.clone()),
            },
        }
    }
    Ok(found)
}

/// The packages of a requirements file; setuptools ignores the options in it.
pub fn of_file(path: &str, context: &Context<'_>, files: Files<'_>) -> Result<Option<Vec<Pin>>> {
    let Some((path, content)) = files(path)? else {
        return Ok(None);
    };
    let name = context.name(&path);
    let other = context.text(&name, &content)?;
    let mut gathered = Gathered::default();
    // What is wrong with the file itself is reported where it is linted.
    let read = requirements::gather(&other, &path, context, false, &mut gathered);
    Ok(read.ok().map(|()| gathered.pins))
}

/// The unread expression, as it is shown.
fn shown(text: &Text<'_>, span: &Range<usize>) -> SearchDirectory {
    let written = text.text.get(span.clone()).unwrap_or_default();
    let line = written.lines().next().unwrap_or_default().trim();
    SearchDirectory {
        text: line.chars().take(MAX_SHOWN).collect(),
        location: text.location(span.clone()),
    }
}

#[cfg(test)]
mod tests;
