//! Treats an environment file, such as a `requirements.txt`, as the stage of a Dockerfile.

use std::ops::Range;

use super::super::context::Context;
use super::super::facts::{Base, Stage, Variable};
use super::super::requirements::Gathered;
use super::super::script::Script;
use super::super::stage::Recorder;
use super::super::text::Text;
use super::copies::Copy;
use super::state::State;
use imgcheck_base::error::Result;

/// What a file describes.
#[derive(Default)]
pub struct Described {
    /// The image; `None` if it is not known.
    pub image: Option<Base>,
    /// The Python of the environment, such as `3.11`.
    pub python: Option<String>,
    /// Variables of the container.
    pub env: Vec<Variable>,
    /// The packages that are installed first.
    pub gathered: Gathered,
    /// Scripts that run then, each as its parts with their places.
    pub commands: Vec<Vec<(String, Range<usize>)>>,
    /// Whether the commands run in the directory of the file.
    pub sees_files: bool,
}

/// The stage that a file describes.
///
/// # Errors
/// There are too many packages.
pub fn described(text: &Text<'_>, context: &Context<'_>, described: Described) -> Result<Stage> {
    let mut state = State::new(Recorder::new(context), described.image);
    if described.sees_files {
        state.copies.push(Copy {
            source: ".".to_owned(),
            target: "/".to_owned(),
        });
    }
    for variable in described.env {
        state.configure(&variable.name, Some(variable.value.clone()));
        state.stage.env.push(variable);
    }
    let python = described.python.into_iter();
    state.stage.pythons = python.map(|it| (String::new(), it)).collect();
    let Gathered {
        pins,
        index,
        unread,
        ..
    } = described.gathered;
    state.recorder.command();
    for mut pin in pins {
        index.apply(&mut pin);
        state.recorder.add(pin, text)?;
    }
    for parts in described.commands {
        let script = parts
            .iter()
            .fold(Script::default(), |script, (part, span)| {
                script.with_scalar(text.text, part, span.clone())
            });
        // What is no script for a shell says nothing.
        let _ = state.run(text, &script);
    }
    // The commands run where files may be that are not beside this one.
    state.stage.unread = unread;
    let stage = state.finish(true, false);
    // What starts them may bring Python first.
    Ok(Stage {
        first_pips: Vec::new(),
        uncopied: Vec::new(),
        plain_system: false,
        ..stage
    })
}
