//! Reads the files that an image is built from: Dockerfile, requirements.txt, environment.yml, pyproject.toml.
//!
//! [`read`] turns a file into [`Sources`]: base images, installed packages and variables, each with its location. Rules judge them.

mod bake;
mod build;
mod command;
mod compared;
pub mod compose;
mod condition;
mod conflicts;
mod context;
mod described;
mod distributions;
mod dockerfile;
mod environment;
mod facts;
mod faults;
mod form;
mod heredoc;
mod ignores;
mod index_faults;
mod install;
mod kind;
mod load;
mod lock;
mod marker;
mod never_built;
mod ngc;
mod other_cudas;
mod pin;
mod pin_knowledge;
mod pin_tables;
mod pyproject;
mod replacements;
mod requirements;
mod script;
mod settings;
mod settle;
mod setup;
mod source_builds;
mod sources;
mod stage;
mod system_libraries;
mod text;
mod unpinned;
mod variables;
mod words;

use imgcheck_base::error::{Error, Result};
use imgcheck_model::knowledge::Knowledge;

pub use command::commands;
pub use context::{Neighbour, Neighbours};
pub use facts::{Base, BaseFinding, Pin, SearchDirectory, Stage, Variable};
pub use faults::{
    IndexFault, NeverBuilt, OtherCuda, PinConflict, Replacement, SourceBuild, SystemLibrary,
    Unpinned,
};
pub use ignores::InlineIgnore;
pub use install::Argument;
pub use kind::{FileKind, is_template};
pub use load::{MAX_FILE, beginning, load, neighbour, text_of};
pub use script::Script;
pub use sources::Sources;
pub use text::Text;
pub(crate) use words::option_and_value;

use context::Context;

/// Reads a file; `name` is shown in errors.
///
/// # Errors
/// [`Error::Malformed`] with the position of a syntax error.
pub fn read(
    name: &str,
    text: &str,
    kind: FileKind,
    knowledge: &Knowledge,
    neighbours: Neighbours<'_>,
) -> Result<Sources> {
    let directory = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let context = Context::new(knowledge, neighbours, directory);
    sources(name, text, kind, context)
}

/// Reads a Dockerfile with a build context, to which `neighbours` are relative.
///
/// # Errors
/// Same as [`read`].
pub fn read_in(
    directory: &str,
    name: &str,
    text: &str,
    kind: FileKind,
    knowledge: &Knowledge,
    neighbours: Neighbours<'_>,
) -> Result<Sources> {
    let context = Context::new(knowledge, neighbours, directory);
    sources(name, text, kind, context.into_build_context())
}

fn sources(name: &str, text: &str, kind: FileKind, context: Context<'_>) -> Result<Sources> {
    let stages = self::stages(name, text, kind, &context).map_err(Error::in_judged_file)?;
    let seen = context.into_seen();
    Ok(Sources {
        file: name.to_owned(),
        kind: kind.name().to_owned(),
        stages,
        read: seen.files,
        ignores: seen.ignores,
        ..Sources::default()
    })
}

fn stages(name: &str, text: &str, kind: FileKind, context: &Context<'_>) -> Result<Vec<Stage>> {
    let text = context.text(name, text)?;
    match kind {
        FileKind::Dockerfile => dockerfile::read(&text, context, &dockerfile::Build::default()),
        FileKind::Requirements => requirements::read(&text, context),
        FileKind::Environment => environment::read(&text, context),
        FileKind::Pyproject => pyproject::read(&text, context),
        FileKind::Compose => compose::read(&text, context),
        FileKind::Lock => lock::read(&text, context),
        FileKind::Bake => bake::read(&text, context),
        FileKind::Pixi => pyproject::read_pixi(&text, context),
        FileKind::Setup => setup::read(&text, context),
        FileKind::Cog
        | FileKind::Bento
        | FileKind::Skypilot
        | FileKind::Dstack
        | FileKind::Devcontainer => described::read(&text, kind, context),
    }
}
