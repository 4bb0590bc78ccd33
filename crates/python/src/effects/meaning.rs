//! What a name of a module means.

use ruff_python_ast::StmtFunctionDef;

/// What a name of a module is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning<'a> {
    /// A module, by a plain `import`.
    Module(&'a str),
    /// A name of a module, by `from M import NAME`.
    Member(&'a str, &'a str),
    /// A function without decorators.
    Function(&'a StmtFunctionDef),
}
