//! Calls that execute a function of the same module.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};

/// The names of the functions that a statement calls, in order: `f()`, `x = f()`, and first `f`, then `exit` in `exit(f())`.
pub(crate) fn called(statement: &Stmt) -> Vec<&str> {
    let value = match statement {
        Stmt::Expr(it) => Some(&it.value),
        Stmt::Assign(it) => Some(&it.value),
        Stmt::AnnAssign(it) => it.value.as_ref(),
        Stmt::Raise(it) => it.exc.as_ref(),
        _ => None,
    };
    let mut names = Vec::new();
    let mut next = value.and_then(|it| it.as_call_expr());
    while let Some(call) = next {
        names.extend(call.func.as_name_expr().map(|it| it.id.as_str()));
        next = call.arguments.args.first().and_then(Expr::as_call_expr);
    }
    names.reverse();
    names
}

/// The statements of a function that every call executes, unless one of them raises.
pub(crate) fn certain(body: &[Stmt]) -> &[Stmt] {
    let returns = |it: &Stmt| Found::of(|found| found.visit_stmt(it)).is_return;
    let end = body.iter().position(returns);
    &body[..end.unwrap_or(body.len())]
}

/// Whether a call of a function executes nothing of its body.
pub(crate) fn is_generator(function: &StmtFunctionDef) -> bool {
    Found::of(|found| found.visit_body(&function.body)).is_yield
}

/// What statements have outside of functions of their own.
#[derive(Default)]
struct Found {
    is_return: bool,
    is_yield: bool,
}

impl Found {
    fn of(visit: impl FnOnce(&mut Found)) -> Self {
        let mut found = Found::default();
        visit(&mut found);
        found
    }
}

impl<'a> Visitor<'a> for Found {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.is_return |= statement.is_return_stmt();
        if !statement.is_function_def_stmt() {
            visitor::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        self.is_yield |= expression.is_yield_expr() || expression.is_yield_from_expr();
        if !expression.is_lambda_expr() {
            visitor::walk_expr(self, expression);
        }
    }
}
