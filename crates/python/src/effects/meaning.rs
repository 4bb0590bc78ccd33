//! What a name of a module means.

use ruff_python_ast::{Expr, StmtFunctionDef};

/// What a name of a module is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning<'a> {
    /// A module, by a plain `import`.
    Module(&'a str),
    /// A name of a module, by `from M import NAME`.
    Member(&'a str, &'a str),
    /// A function without decorators.
    Function(&'a StmtFunctionDef),
    /// A class.
    Class,
    /// A list or the like, or a dictionary.
    Constant(&'a Expr),
}
