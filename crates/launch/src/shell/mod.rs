//! Reads scripts of POSIX shells and bash, and says what they start: see [`interpreter`].

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
mod simple;
mod sourcing;
mod start;
mod state;
mod syntax;
mod variables;
mod ways;
mod words;

pub(super) use host::{Host, Outcome, Presence};
pub(super) use start::{ShellStart, run};
