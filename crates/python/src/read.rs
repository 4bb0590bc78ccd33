//! From source text to facts.

use ruff_python_ast::Stmt;

use crate::effects::Effects;
use crate::facts::ModuleFacts;
use crate::statements::Statements;
use crate::syntax;

impl ModuleFacts {
    /// The facts of a module with this source.
    pub fn of(source: &str) -> Self {
        let examine = |body: &[Stmt]| {
            let effects = Effects::of(source, body);
            let steps = Statements::of(source, body, &effects.constants());
            effects.into_facts(steps)
        };
        syntax::with_statements(source, examine).unwrap_or_else(ModuleFacts::unread)
    }
}
