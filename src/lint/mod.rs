//! Reads the files that an image is built from: Dockerfile, requirements.txt, environment.yml, pyproject.toml.
//!
//! [`read`] turns a file into [`Sources`]: base images, installed packages and variables, each with its location. Rules judge them.

mod command;
mod compose;
mod context;
mod dockerfile;
mod environment;
mod facts;
mod heredoc;
mod install;
mod kind;
mod load;
mod lock;
mod marker;
mod pin;
mod pyproject;
mod requirements;
mod settle;
mod shell;
mod stage;
mod text;
mod variables;

use crate::error::{Error, Result};
use crate::stack::Catalogue;

pub use command::commands;
pub use context::{Neighbour, Neighbours};
pub use facts::{Base, BaseFinding, Pin, SearchDirectory, Sources, Stage, Variable};
pub use kind::{FileKind, is_template};
pub use load::{MAX_FILE, load, neighbour, text_of};
pub use shell::Script;
pub use text::Text;

use context::Context;

/// Reads a file; `name` is shown in errors.
///
/// # Errors
/// [`Error::Malformed`] with the position of a syntax error.
pub fn read(
    name: &str,
    text: &str,
    kind: FileKind,
    catalogue: &Catalogue,
    neighbours: Neighbours<'_>,
) -> Result<Sources> {
    let stages = stages(name, text, kind, catalogue, neighbours).map_err(Error::in_judged_file)?;
    Ok(Sources {
        file: name.to_owned(),
        kind: kind.name().to_owned(),
        stages,
    })
}

fn stages(
    name: &str,
    text: &str,
    kind: FileKind,
    catalogue: &Catalogue,
    neighbours: Neighbours<'_>,
) -> Result<Vec<Stage>> {
    let text = Text::new(name, text)?;
    let directory = text.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let context = Context::new(catalogue, neighbours, directory);
    match kind {
        FileKind::Dockerfile => dockerfile::read(&text, &context, &dockerfile::Build::default()),
        FileKind::Requirements => requirements::read(&text, &context),
        FileKind::Environment => environment::read(&text, &context),
        FileKind::Pyproject => pyproject::read(&text, &context),
        FileKind::Compose => compose::read(&text, &context),
        FileKind::Lock => lock::read(&text, &context),
    }
}
