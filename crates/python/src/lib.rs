//! What a Python module imports when it is executed, and which names it binds, read from its source text.
//!
//! The parser is ruff's; what is kept is small and decides nothing: whether a condition holds and where a module is found depends on the
//! interpreter and its search path. A value of [`ModuleFacts`] comes from any bytes, without a panic and in bounded memory.
//!
//! Source: the Python language reference, "The import system" and "Execution model".

mod bodies;
mod condition;
mod depth;
mod effects;
mod facts;
mod lines;
mod outline;
mod read;
pub mod run;
mod scan;
mod statements;

pub use condition::{Atom, Comparison, Condition, Subject};
pub use facts::{Import, ModuleFacts, Step, Unread};

#[cfg(test)]
mod tests;
