//! Whether a module certainly ends the process.

use ruff_python_ast::{Expr, Stmt};

use crate::condition::is_attribute;
use crate::syntax::with_statements;

/// Whether the execution of a source certainly ends with SystemExit, or by `os._exit`: nothing before can raise anything else.
pub fn certainly_exits(source: &str) -> bool {
    with_statements(source, exits).unwrap_or_default()
}

fn exits(body: &[Stmt]) -> bool {
    let mut imported: Vec<&str> = Vec::new();
    for statement in body {
        match statement {
            Stmt::Import(import) => {
                let names = import.names.iter();
                let is_plain = |name: &str| ["os", "sys"].contains(&name);
                if !names
                    .clone()
                    .all(|it| it.asname.is_none() && is_plain(&it.name))
                {
                    return false;
                }
                imported.extend(names.map(|it| it.name.as_str()));
            }
            Stmt::Expr(it) if it.value.is_literal_expr() => {}
            Stmt::Expr(it) => return is_exit(&it.value, &imported),
            Stmt::Raise(it) => return it.exc.as_deref().is_some_and(is_system_exit),
            _ => return false,
        }
    }
    false
}

/// `sys.exit()` and `os._exit()` with values that cannot fail.
fn is_exit(expression: &Expr, imported: &[&str]) -> bool {
    let Expr::Call(call) = expression else {
        return false;
    };
    let is_of = |module, name| imported.contains(&module) && is_attribute(&call.func, module, name);
    match &*call.arguments.args {
        _ if !call.arguments.keywords.is_empty() => false,
        [] => is_of("sys", "exit"),
        [status] => {
            is_of("sys", "exit") && status.is_literal_expr()
                || is_of("os", "_exit") && is_status(status)
        }
        _ => false,
    }
}

/// Whether `os._exit` takes a value.
fn is_status(expression: &Expr) -> bool {
    let number = expression.as_number_literal_expr();
    let number = number.and_then(|it| it.value.as_int());
    number.is_some_and(|it| it.as_u8().is_some())
}

/// `SystemExit`, or a call of it with constants.
fn is_system_exit(expression: &Expr) -> bool {
    match expression {
        Expr::Name(name) => name.id.as_str() == "SystemExit",
        Expr::Call(call) => {
            let is_plain = call.arguments.keywords.is_empty();
            let mut values = call.arguments.args.iter();
            is_plain
                && values.all(Expr::is_literal_expr)
                && call.func.is_name_expr()
                && is_system_exit(&call.func)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::certainly_exits;

    #[test]
    fn what_certainly_exits() {
        for exits in [
            "import sys\nsys.exit(3)\n",
            "'''Text.'''\nimport os, sys\nsys.exit()\n",
            "import os\nos._exit(4)\n",
            "raise SystemExit\n",
            "raise SystemExit('no')\nx = 1\n",
        ] {
            assert!(certainly_exits(exits), "{exits}");
        }
        for other in [
            "",
            "sys.exit(3)\n",
            "import absent, sys\nsys.exit(3)\n",
            "import sys\nf()\nsys.exit(3)\n",
            "import sys\nif f():\n    sys.exit(3)\n",
            "import sys\nsys.exit(f())\n",
            "import os\nos._exit('x')\n",
            "import os\nos._exit(1.5)\n",
            "raise ValueError\n",
            "def f():\n    raise SystemExit\n",
        ] {
            assert!(!certainly_exits(other), "{other}");
        }
    }
}
