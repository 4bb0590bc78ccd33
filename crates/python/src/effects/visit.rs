//! Goes through the statements and expressions of a module.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Comprehension, ExceptHandler, Expr, ExprContext, Pattern, Stmt};
use ruff_text_size::Ranged;

use super::meaning::Meaning;
use super::{Change, Effects};
use crate::condition::{Condition, Constants, Subject, is_attribute};

impl<'a> Visitor<'a> for Effects<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.statement = statement.start();
        match statement {
            Stmt::FunctionDef(function) => {
                let is_plain = !function.is_async && function.decorator_list.is_empty();
                let meaning = is_plain.then_some(Meaning::Function(function));
                self.bind_meaning(&function.name, meaning);
                function
                    .decorator_list
                    .iter()
                    .for_each(|it| self.visit_decorator(it));
                let outer = self.function;
                if outer.is_none() {
                    self.functions += 1;
                    self.function_start = statement.start();
                }
                self.function = outer.or(Some(&function.name));
                if outer.is_none() {
                    let mut parameters = function.parameters.iter();
                    self.parameter = parameters.next().map(|it| it.name().as_str());
                }
                self.visit_parameters(&function.parameters);
                self.visit_body(&function.body);
                self.function = outer;
                self.has_local_globals &= outer.is_some();
            }
            Stmt::ClassDef(class) => {
                self.bind_meaning(&class.name, Some(Meaning::Class));
                self.classes += 1;
                visitor::walk_stmt(self, statement);
                self.classes -= 1;
            }
            Stmt::Global(global) => {
                global.names.iter().for_each(|it| self.bind_own(it));
            }
            Stmt::Assign(assign) => match (&assign.targets[..], truth(&assign.value)) {
                ([Expr::Name(name)], Some(value)) => self.assign(&name.id, value),
                ([Expr::Name(name)], None) if is_display(&assign.value) => {
                    self.bind_meaning(&name.id, Some(Meaning::Constant(&assign.value)));
                    self.visit_expr(&assign.value);
                }
                (targets, _) => {
                    if self.has_tricks {
                        self.alias(targets, &assign.value);
                    }
                    visitor::walk_stmt(self, statement);
                }
            },
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.import(statement),
            Stmt::If(it) if is_main(&it.test) => {
                let outer = std::mem::replace(&mut self.is_main, true);
                self.visit_body(&it.body);
                self.is_main = outer;
                for clause in &it.elif_else_clauses {
                    self.visit_elif_else_clause(clause);
                }
            }
            Stmt::Try(it) if self.function.is_none() && guard(&it.body).is_some() => {
                self.visit_body(&it.body);
                let outer = std::mem::replace(&mut self.guard, guard(&it.body));
                it.handlers
                    .iter()
                    .for_each(|it| self.visit_except_handler(it));
                self.guard = outer;
                self.visit_body(&it.orelse);
                self.visit_body(&it.finalbody);
            }
            Stmt::AnnAssign(it) => {
                match (&*it.target, it.value.as_deref()) {
                    (Expr::Name(name), Some(value)) if is_display(value) => {
                        self.bind_meaning(&name.id, Some(Meaning::Constant(value)));
                    }
                    (target, _) => self.visit_expr(target),
                }
                self.visit_annotation(&it.annotation);
                it.value.iter().for_each(|it| self.visit_expr(it));
            }
            Stmt::For(it) if self.own(&it.iter).is_some() || is_search_list(&it.iter) => {
                self.visit_expr(&it.target);
                self.visit_body(&it.body);
                self.visit_body(&it.orelse);
            }
            Stmt::For(it) => {
                let depth = self.loops.len();
                if let (Expr::Name(name), Some(elements)) = (&*it.target, elements(&it.iter)) {
                    self.loops.push((&name.id, elements));
                }
                visitor::walk_stmt(self, statement);
                self.loops.truncate(depth);
            }
            Stmt::AugAssign(assign) => {
                if is_attribute(&assign.target, "sys", "path") {
                    self.change(Change::Path);
                }
                visitor::walk_stmt(self, statement);
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        let is_target = match expression {
            Expr::Name(_) => true,
            Expr::Attribute(it) => it.ctx == ExprContext::Store,
            Expr::Tuple(it) => it.ctx == ExprContext::Store,
            Expr::List(it) => it.ctx == ExprContext::Store,
            Expr::Starred(it) => it.ctx == ExprContext::Store,
            _ => false,
        };
        if !self.has_tricks && !is_target {
            return;
        }
        match expression {
            Expr::Name(name) => self.name(&name.id, name.ctx),
            Expr::Attribute(it) => self.attribute(expression, &it.attr, it.ctx),
            Expr::Subscript(it) => self.subscript(it),
            Expr::Call(it) => self.call(it),
            _ => {}
        }
        if !self.uses_own(expression) {
            visitor::walk_expr(self, expression);
        }
    }

    /// Its targets are names of its own.
    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        if !is_search_list(&comprehension.iter) {
            self.reads(&comprehension.iter);
        }
        comprehension.ifs.iter().for_each(|it| self.visit_expr(it));
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(it) = handler;
        it.name.iter().for_each(|name| self.bind(name));
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(it) => it.name.as_ref(),
            Pattern::MatchStar(it) => it.name.as_ref(),
            Pattern::MatchMapping(it) => it.rest.as_ref(),
            _ => None,
        };
        name.into_iter().for_each(|name| self.bind(name));
        visitor::walk_pattern(self, pattern);
    }
}

/// Whether a condition is `__name__ == "__main__"`.
fn is_main(test: &Expr) -> bool {
    let condition = Condition::of(test, &Constants::new());
    matches!(&condition.atoms[..], [atom] if !atom.negated && atom.subject == Subject::IsMain)
}

/// Whether an expression is a list by which modules are found: to go through it changes nothing.
fn is_search_list(expression: &Expr) -> bool {
    let is_path = matches!(expression, Expr::Name(name) if name.id == "__path__");
    let lists = ["meta_path", "path_hooks"];
    is_path || lists.iter().any(|it| is_attribute(expression, "sys", it))
}

/// Whether an expression is a list or the like, or a dictionary.
fn is_display(expression: &Expr) -> bool {
    let is_plain = |it: &Expr| {
        matches!(
            it,
            Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) | Expr::Dict(_)
        )
    };
    match expression {
        // `frozenset([…])`
        Expr::Call(it) => it.func.is_name_expr() && it.arguments.args.iter().all(is_plain),
        other => is_plain(other),
    }
}

/// The elements of a list or tuple.
fn elements(expression: &Expr) -> Option<&[Expr]> {
    match expression {
        Expr::List(it) => Some(&it.elts),
        Expr::Tuple(it) => Some(&it.elts),
        _ => None,
    }
}

/// Whether a constant is true.
fn truth(expression: &Expr) -> Option<bool> {
    match expression {
        Expr::BooleanLiteral(literal) => Some(literal.value),
        Expr::NoneLiteral(_) => Some(false),
        _ => None,
    }
}

/// `X` for a body that is `from .X import NAME, …`.
fn guard(body: &[Stmt]) -> Option<&str> {
    let [Stmt::ImportFrom(import)] = body else {
        return None;
    };
    let has_star = import.names.iter().any(|it| &it.name == "*");
    let module = import.module.as_deref()?;
    (import.level == 1 && !has_star && !module.contains('.')).then_some(module)
}
