//! Builds that a file describes: which Dockerfile, in which context, with which arguments.

use super::context::{Context, Neighbour};
use super::dockerfile::{self, Build};
use super::facts::Stage;
use super::text::Text;
use imgcheck_base::error::Result;

/// A build.
#[derive(Debug, Default)]
pub struct Request {
    /// The directory of the build context, relative to the file; empty for the directory of the file.
    pub context: String,
    /// The Dockerfile, relative to the context.
    pub dockerfile: Option<String>,
    pub build: Build,
}

/// The stages of a build; empty if its Dockerfile is not below the directory of the file.
pub fn stages(text: &Text<'_>, context: &Context<'_>, request: &Request) -> Result<Vec<Stage>> {
    let directory = request.context.trim_start_matches("./");
    let directory = directory.trim_end_matches('/');
    let within = |path: &str| match directory {
        "" | "." => path.to_owned(),
        directory => format!("{directory}/{path}"),
    };
    let file = request.dockerfile.as_deref().unwrap_or("Dockerfile");
    let path = within(file.trim_start_matches("./"));
    let Neighbour::Text(content) = context.neighbour(text, &path)? else {
        return Ok(Vec::new());
    };
    let name = context.name(&path);
    let dockerfile = context.text(&name, &content)?;
    let neighbours = |path: &str| context.found(&within(path));
    let inner = context.of_build(&neighbours, &context.name(directory));
    dockerfile::read(&dockerfile, &inner, &request.build)
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
