//! From source text to facts.

use std::io;
use std::panic::resume_unwind;
use std::thread;

use ruff_python_ast::PySourceType;
use ruff_python_parser::parse_unchecked_source;

use crate::depth::{self, Depth};
use crate::effects::Effects;
use crate::facts::{ModuleFacts, Unread};
use crate::outline::Outline;
use crate::statements::Statements;

/// The stack of a thread that parses nested sources. Its pages are used only as far as the nesting goes.
const STACK: usize = 256 << 20;

impl ModuleFacts {
    /// The facts of a module with this source.
    ///
    /// # Errors
    /// The source is deeply nested, and a thread with a large stack cannot be started.
    pub fn of(source: &str) -> io::Result<Self> {
        if source.len() as u64 > Self::MOST_BYTES {
            return Ok(ModuleFacts::unread(Unread::TooLong));
        }
        let outline = &Outline::of(source);
        match depth::of(outline.text()) {
            Depth::Shallow => Ok(examine(outline)),
            Depth::Deep => thread::scope(|scope| {
                let thread = thread::Builder::new().stack_size(STACK);
                let examined = thread.spawn_scoped(scope, || examine(outline))?;
                Ok(examined.join().unwrap_or_else(|panic| resume_unwind(panic)))
            }),
            Depth::TooDeep => Ok(ModuleFacts::unread(Unread::TooDeep)),
        }
    }
}

pub(crate) fn examine(outline: &Outline) -> ModuleFacts {
    let parsed = parse_unchecked_source(outline.text(), PySourceType::Python);
    if !parsed.errors().is_empty() {
        return ModuleFacts::unread(Unread::Syntax);
    }
    let body = parsed.suite();
    let effects = Effects::of(outline.text(), body);
    let steps = Statements::of(outline, body, &effects.constants(), effects.dynamic_from());
    effects.into_facts(outline, steps)
}
