//! Reads scripts of POSIX shells and bash, and says what they start: see `interpreter`. Others who look at scripts get their [`syntax`]
//! tree.

mod arguments;
mod builtins;
mod commands;
mod compound;
mod conditions;
mod cursor;
mod declarations;
mod driver;
mod expand;
pub(super) mod host;
mod interpreter;
mod loops;
mod parameters;
mod parser;
mod paths;
mod pattern;
mod recovery;
mod simple;
mod sourcing;
mod start;
mod state;
pub mod syntax;
mod variables;
mod ways;
mod words;

pub use commands::tolerant;
pub(super) use host::{Host, MissingFile, Outcome, Presence};
pub(super) use start::{ShellStart, run};
pub use words::is_name;

/// The words of a command line from which a shell only takes the quotes away; `None` if it does more with them, or nothing.
pub(super) fn plain_words(text: &str) -> Option<Vec<String>> {
    let script = commands::script(text, false, false);
    let is_valid = script.problem.is_none();
    syntax::only_words(&script.lines).filter(|_| is_valid)
}
