//! Libraries that a statement opens with `ctypes`.

use std::collections::BTreeMap;

use ruff_python_ast::{Expr, ExprCall, Stmt};

const CTYPES: &str = "ctypes";

/// What names of a module mean.
pub(crate) struct Names<'a> {
    /// Names that only a plain `import` binds, with the module.
    pub modules: &'a BTreeMap<&'a str, &'a str>,
    /// Names that only `from M import NAME` binds, with both.
    pub members: &'a BTreeMap<&'a str, (&'a str, &'a str)>,
}

/// The name that a statement gives to `dlopen` by `ctypes.CDLL("NAME")` or `ctypes.cdll.LoadLibrary("NAME")`. A path is none: what is there
/// when the program starts may be mounted.
pub(crate) fn opened<'s>(statement: &'s Stmt, names: &Names) -> Option<&'s str> {
    let value = match statement {
        Stmt::Expr(it) => &it.value,
        Stmt::Assign(it) => &it.value,
        Stmt::AnnAssign(it) => it.value.as_ref()?,
        _ => return None,
    };
    let call = value.as_call_expr().filter(|it| is_open(it, names))?;
    let Some(Expr::StringLiteral(name)) = call.arguments.args.first() else {
        return None;
    };
    let name = name.value.to_str();
    let is_searched = !name.is_empty() && !name.contains(['/', '\0']);
    is_searched.then_some(name)
}

/// Whether a call opens the library that its first argument names: with a handle, it opens none.
fn is_open(call: &ExprCall, names: &Names) -> bool {
    let has_handle = call.arguments.find_keyword("handle").is_some();
    let is_short = call.arguments.args.len() <= 2 && !has_handle;
    let is_loader = match &*call.func {
        Expr::Attribute(method) if method.attr.as_str() == "LoadLibrary" => {
            ["cdll", "pydll"].contains(&member(&method.value, names))
        }
        class => ["CDLL", "PyDLL"].contains(&member(class, names)),
    };
    is_short && is_loader
}

/// What of `ctypes` an expression is; empty for anything else.
fn member<'e>(expression: &'e Expr, names: &Names<'e>) -> &'e str {
    match expression {
        Expr::Name(name) => match names.members.get(name.id.as_str()) {
            Some((CTYPES, member)) => member,
            _ => "",
        },
        Expr::Attribute(attribute) => match &*attribute.value {
            Expr::Name(name) if names.modules.get(name.id.as_str()) == Some(&CTYPES) => {
                &attribute.attr
            }
            _ => "",
        },
        _ => "",
    }
}
