//! From source text to facts.

use std::io;

use ruff_python_ast::ModModule;
use ruff_python_parser::Parsed;

use crate::effects::Effects;
use crate::facts::{ModuleFacts, Unread};
use crate::newer;
use crate::outline::Outline;
use crate::statements::{Bound, Statements};
use crate::syntax;

impl ModuleFacts {
    /// The facts of a module with this source.
    ///
    /// # Errors
    /// The source is deeply nested, and a thread with a large stack cannot be started.
    pub fn of(source: &str) -> io::Result<Self> {
        bounded(source, Outline::of)
    }

    /// The same with the newer syntax of all functions, which takes several times as long.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_whole(source: &str) -> io::Result<Self> {
        bounded(source, Outline::whole)
    }
}

/// The facts of a source that is not too long.
fn bounded<'t>(source: &'t str, outline: fn(&'t str) -> Outline<'t>) -> io::Result<ModuleFacts> {
    match source.len() as u64 > ModuleFacts::MOST_BYTES {
        true => Ok(ModuleFacts::unread(Unread::TooLong)),
        false => examine(&outline(source)),
    }
}

/// # Errors
/// As [`ModuleFacts::of`].
pub(crate) fn examine(outline: &Outline) -> io::Result<ModuleFacts> {
    let facts = |parsed: &Parsed<ModModule>| {
        let body = parsed.suite();
        let effects = Effects::of(outline, body);
        let bound = Bound {
            constants: effects.constants(),
            dynamic_from: effects.dynamic_from(),
            modules: effects.modules(),
            members: effects.members(),
            functions: effects.functions(),
            dynamic_names_from: effects.dynamic_names(),
        };
        let steps = Statements::of(outline, body, &bound);
        ModuleFacts {
            newer_syntax: newer::of(outline, parsed),
            ..effects.into_facts(outline, steps)
        }
    };
    match syntax::parse(outline.text(), outline.depth(), facts)? {
        Err(Unread::Syntax) if !outline.is_whole() => examine(&Outline::whole(outline.source())),
        facts => Ok(facts.unwrap_or_else(ModuleFacts::unread)),
    }
}
