//! Builds that a file describes: which Dockerfile, in which context, with which arguments.

use std::ops::Range;

use super::context::{Context, Neighbour, joined};
use super::dockerfile::{self, Build};
use super::facts::{SearchDirectory, Stage};
use super::text::Text;
use imgcheck_base::error::Result;
use imgcheck_base::lexical::simplified;

/// A build.
#[derive(Debug, Default)]
pub struct Request {
    /// The directory of the build context, relative to the file; empty for the directory of the file.
    pub context: String,
    /// The Dockerfile, relative to the context.
    pub dockerfile: Option<String>,
    /// Whether the path of the Dockerfile is relative to the file that names it, and not to the context.
    pub is_beside: bool,
    /// The Dockerfile itself, if the file has its text.
    pub inline: Option<String>,
    pub build: Build,
    /// Where the file names the Dockerfile, or has its text.
    pub place: Range<usize>,
    /// Where the file names the target.
    pub target_place: Range<usize>,
}

/// The stages of a build. Without its Dockerfile, which may be elsewhere, one that says so.
///
/// # Errors
/// The Dockerfile is invalid, or does not have the target.
pub fn stages(text: &Text<'_>, context: &Context<'_>, request: &Request) -> Result<Vec<Stage>> {
    let directory = simplified(&request.context);
    let within = |path: &str| joined(&directory, path);
    let neighbours = |path: &str| context.found(&within(path));
    let inner = context.of_build(&neighbours, &context.name(&directory));
    if let Some(inline) = &request.inline {
        let dockerfile = text.embedded(inline, request.place.start)?;
        return read(text, &dockerfile, &inner, request);
    }
    let path = request.dockerfile.as_deref().unwrap_or("Dockerfile");
    let path = match request.is_beside {
        true => simplified(path),
        false => within(path),
    };
    let Neighbour::Text(content) = context.neighbour(text, &path)? else {
        let is_remote = request.context.contains(':');
        let shown = if is_remote { &request.context } else { &path };
        return Ok(vec![unread(text, shown, &request.place)]);
    };
    let name = context.name(&path);
    let dockerfile = context.text(&name, &content)?;
    read(text, &dockerfile, &inner, request)
}

fn read(
    text: &Text<'_>,
    dockerfile: &Text<'_>,
    context: &Context<'_>,
    request: &Request,
) -> Result<Vec<Stage>> {
    let stages = dockerfile::read(dockerfile, context, &request.build)?;
    let Some(target) = &request.build.target else {
        return Ok(stages);
    };
    let has = stages
        .iter()
        .any(|stage| stage.name.eq_ignore_ascii_case(target));
    // A number is the position of a stage.
    if has || target.is_empty() || target.contains('$') || target.parse::<usize>().is_ok() {
        return Ok(stages);
    }
    let name = dockerfile.name;
    let problem = format!("target stage `{target}` could not be found in `{name}`");
    let names = stages.iter().map(|stage| stage.name.as_str());
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    let help = match names.is_empty() {
        true => "name the stage: `FROM IMAGE AS NAME`".to_owned(),
        false => format!("its stages are {}", names.join(", ")),
    };
    Err(text.fault(request.target_place.clone(), &problem, Some(&help)))
}

/// In place of the stages that a file leads to, where it is not read.
pub fn unread(text: &Text<'_>, file: &str, place: &Range<usize>) -> Stage {
    Stage {
        unread: vec![SearchDirectory {
            text: file.to_owned(),
            location: text.location(text.without_quotes(place.clone())),
        }],
        ..Stage::default()
    }
}

/// Adds the stages of a build to those of others.
pub fn append(stages: &mut Vec<Stage>, others: Vec<Stage>) {
    let start = stages.len();
    stages.extend(others.into_iter().map(|mut stage| {
        stage.index += start;
        if let Some(base) = &mut stage.base {
            base.stage += start;
        }
        stage
    }));
}
