//! From source text to facts.

use std::thread;

use ruff_python_ast::PySourceType;
use ruff_python_parser::parse_unchecked_source;

use crate::depth::{self, Depth};
use crate::effects::Effects;
use crate::facts::{ModuleFacts, Unread};
use crate::statements::Statements;

/// The stack of a thread that parses nested sources. Its pages are used only as far as the nesting goes.
const STACK: usize = 256 << 20;

impl ModuleFacts {
    /// The facts of a module with this source.
    pub fn of(source: &str) -> Self {
        if source.len() as u64 > Self::MOST_BYTES {
            return ModuleFacts::unread(Unread::TooLong);
        }
        match depth::of(source) {
            Depth::Shallow => examine(source),
            Depth::Deep => thread::scope(|scope| {
                let thread = thread::Builder::new().stack_size(STACK);
                let examined = thread.spawn_scoped(scope, || examine(source));
                let examined = examined.ok().and_then(|thread| thread.join().ok());
                examined.unwrap_or_else(|| ModuleFacts::unread(Unread::TooDeep))
            }),
            Depth::TooDeep => ModuleFacts::unread(Unread::TooDeep),
        }
    }
}

fn examine(source: &str) -> ModuleFacts {
    let parsed = parse_unchecked_source(source, PySourceType::Python);
    if !parsed.errors().is_empty() {
        return ModuleFacts::unread(Unread::Syntax);
    }
    let body = parsed.suite();
    let effects = Effects::of(source, body);
    let steps = Statements::of(source, body, &effects.constants());
    effects.into_facts(steps)
}
