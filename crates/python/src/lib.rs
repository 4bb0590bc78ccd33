//! What a Python module imports when it is executed, which names it binds and what it assigns, read from its source text.
//!
//! The parser is ruff's; what is kept is small and decides nothing: whether a condition holds and where a module is found depends on the
//! interpreter and its search path. A value of [`ModuleFacts`] comes from any bytes, without a panic and in bounded memory.
//!
//! Source: the Python language reference, "The import system" and "Execution model".

mod bodies;
mod calls;
mod condition;
mod depth;
mod effects;
mod exit;
mod facts;
mod installs;
mod libraries;
mod lines;
mod mentions;
mod newer;
mod outline;
mod read;
pub mod run;
mod scan;
mod statements;
pub mod syntax;
mod uses;

pub use condition::{Atom, Comparison, Condition, Subject};
pub use exit::certainly_exits;
pub use facts::{DynamicSubmodules, Import, ModuleFacts, Step, Unread, Use};
pub use mentions::Mentions;
pub use newer::NewerSyntax;
pub use ruff_python_ast as ast;

#[cfg(test)]
mod tests;
