//! What a source mentions anywhere, also in functions that may never be called.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};

use crate::facts::Unread;
use crate::syntax;

/// The modules, names and texts in a source.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Modules of `import M` and, with leading dots if relative, of `from M import …`.
    pub imports: BTreeSet<String>,
    /// Names and attributes: `sys.path` without `sys`, `?.path` for that of another expression.
    pub names: BTreeSet<String>,
    /// String literals that are not documentation.
    pub texts: BTreeSet<String>,
}

impl Mentions {
    /// Reads a source.
    ///
    /// # Errors
    /// The source is too long, nested too deeply or not valid Python.
    pub fn of(source: &str) -> Result<Self, Unread> {
        syntax::with_statements(source, |body| {
            let mut mentions = Mentions::default();
            mentions.visit_body(body);
            mentions
        })
    }
}

impl<'a> Visitor<'a> for Mentions {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.imports.insert(alias.name.to_string());
                    // Its attributes have another name.
                    if alias.asname.is_some() {
                        self.names.insert(alias.name.to_string());
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |module| module);
                let dots = ".".repeat(import.level as usize);
                self.imports.insert(dots + module);
                let names = import.names.iter().map(|alias| &alias.name);
                self.names
                    .extend(names.map(|name| format!("{module}.{name}")));
            }
            Stmt::Expr(it) if it.value.is_string_literal_expr() => {}
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => drop(self.names.insert(name.id.to_string())),
            Expr::StringLiteral(it) => drop(self.texts.insert(it.value.to_str().to_owned())),
            Expr::Attribute(attribute) => {
                let name = &attribute.attr;
                match &*attribute.value {
                    Expr::Name(root) => drop(self.names.insert(format!("{}.{name}", root.id))),
                    value => {
                        self.names.insert(format!("?.{name}"));
                        self.visit_expr(value);
                    }
                }
            }
            _ => visitor::walk_expr(self, expression),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn everything_is_mentioned_once() {
        let source = "'a'\nimport os, sys as s\nfrom .x import y\ndef f():\n  from . import z\n  s.path\n  g = sys\n  return h('b').c['d']\n";
        let found = Mentions::of(source).unwrap();
        let texts = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(texts(&found.imports), ". .x os sys");
        assert_eq!(texts(&found.names), ".z ?.c g h s.path sys x.y");
        assert_eq!(texts(&found.texts), "b d");
        assert_eq!(Mentions::of("a ="), Err(Unread::Syntax));
    }
}
