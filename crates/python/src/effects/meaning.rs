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

/// The texts of expressions that are all literals.
pub(super) fn texts<'a, T: FromIterator<&'a str>>(all: &'a [Expr]) -> Option<T> {
    let texts = all.iter().map(|it| it.as_string_literal_expr());
    texts.map(|it| Some(it?.value.to_str())).collect()
}
