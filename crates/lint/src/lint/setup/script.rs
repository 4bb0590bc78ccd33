//! The statements of a Python file, by the names that they are about.

use std::collections::BTreeMap;

use imgcheck_python::ast::visitor::{self, Visitor};
use imgcheck_python::ast::{Expr, Keyword, Stmt, StmtFunctionDef, WithItem};
use imgcheck_python::syntax;

/// A Python file. Statements count wherever they stand.
pub(super) struct Script<'t, 'a> {
    pub text: &'t str,
    pub calls_setup: bool,
    pub functions: BTreeMap<&'a str, &'a StmtFunctionDef>,
    /// What calls pass by name.
    arguments: BTreeMap<&'a str, Vec<&'a Keyword>>,
    /// What is assigned to a name.
    values: BTreeMap<&'a str, Vec<&'a Expr>>,
    /// Other statements that begin with a name, and may change its value.
    changes: BTreeMap<&'a str, Vec<&'a Stmt>>,
    /// What `with … as NAME` opens.
    opened: BTreeMap<&'a str, Vec<&'a Expr>>,
}

impl<'t, 'a> Script<'t, 'a> {
    pub fn of(text: &'t str, body: &'a [Stmt]) -> Self {
        let mut script = Script {
            text,
            calls_setup: false,
            functions: BTreeMap::new(),
            arguments: BTreeMap::new(),
            values: BTreeMap::new(),
            changes: BTreeMap::new(),
            opened: BTreeMap::new(),
        };
        script.visit_body(body);
        script
    }

    pub fn arguments(&self, name: &str) -> &[&'a Keyword] {
        self.arguments.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn values(&self, name: &str) -> &[&'a Expr] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn changes(&self, name: &str) -> &[&'a Stmt] {
        self.changes.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn opened(&self, name: &str) -> &[&'a Expr] {
        self.opened.get(name).map_or(&[], Vec::as_slice)
    }
}

impl<'a> Visitor<'a> for Script<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        for (target, value) in syntax::assignments(statement) {
            if let Expr::Name(name) = target {
                self.values.entry(&name.id).or_default().push(value);
            }
        }
        if let Stmt::FunctionDef(function) = statement {
            self.functions.entry(&function.name).or_insert(function);
        }
        if let Some(name) = changed(statement) {
            self.changes.entry(name).or_default().push(statement);
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression {
            self.calls_setup |= match &*call.func {
                Expr::Name(name) => name.id == "setup",
                Expr::Attribute(attribute) => attribute.attr.as_str() == "setup",
                _ => false,
            };
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_keyword(&mut self, keyword: &'a Keyword) {
        if let Some(name) = &keyword.arg {
            self.arguments.entry(name).or_default().push(keyword);
        }
        visitor::walk_keyword(self, keyword);
    }

    fn visit_with_item(&mut self, item: &'a WithItem) {
        if let Some(Expr::Name(name)) = item.optional_vars.as_deref() {
            let opened = self.opened.entry(&name.id).or_default();
            opened.push(&item.context_expr);
        }
        visitor::walk_with_item(self, item);
    }
}

/// The name whose value a statement may change: `NAME += …`, `NAME[…] = …`, `NAME.append(…)`.
fn changed(statement: &Stmt) -> Option<&str> {
    let mut part = match statement {
        Stmt::AugAssign(it) => &*it.target,
        Stmt::Assign(it) => match &*it.targets {
            [target @ (Expr::Subscript(_) | Expr::Attribute(_)), ..] => target,
            _ => return None,
        },
        Stmt::Expr(it) => match &*it.value {
            Expr::Call(call) if call.func.is_attribute_expr() => &*call.func,
            _ => return None,
        },
        _ => return None,
    };
    loop {
        part = match part {
            Expr::Attribute(it) => &it.value,
            Expr::Subscript(it) => &it.value,
            Expr::Call(it) => &it.func,
            Expr::Name(name) => return Some(&name.id),
            _ => return None,
        };
    }
}
