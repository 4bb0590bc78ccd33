//! What a module binds, and what it does to the import system, anywhere in its source.

use std::collections::BTreeSet;

use memchr::memmem;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, ExprContext, ExprSubscript, Pattern, Stmt};

use crate::condition::{Constants, is_attribute};
use crate::facts::{ModuleFacts, Step};

/// Methods of lists that change `sys.path`.
const CHANGES: [&str; 8] = [
    "append", "insert", "extend", "remove", "pop", "clear", "reverse", "sort",
];

/// What the text of a module has if more than its statements and the targets of its assignments matter.
const TRICKS: [&str; 13] = [
    ":=",
    "sys.path",
    "sys.modules",
    "meta_path",
    "path_hooks",
    "globals",
    "locals",
    "vars",
    "exec",
    "addsitedir",
    "__path__",
    "declare_namespace",
    "setattr",
];

/// Visits all statements and expressions of a module.
#[derive(Default)]
pub(crate) struct Effects<'a> {
    facts: ModuleFacts,
    /// Whether expressions are visited.
    has_tricks: bool,
    names: BTreeSet<&'a str>,
    /// Names that are only bound to one constant: whether it is true. `None` for others.
    constants: Constants<'a>,
    /// Whether it has `from M import *`.
    has_stars: bool,
    /// Names of imported modules and objects, in any scope.
    imported: BTreeSet<&'a str>,
    /// Attributes that are set: the name that is the root of the object, and the attribute.
    set: Vec<(&'a str, &'a str)>,
    /// Functions and methods that change `sys.path`.
    changing: BTreeSet<&'a str>,
    /// Functions and methods that the module calls when it is executed.
    called: BTreeSet<&'a str>,
    /// The outermost function around.
    function: Option<&'a str>,
    /// The classes around.
    classes: usize,
}

impl<'a> Effects<'a> {
    pub fn of(source: &str, body: &'a [Stmt]) -> Self {
        let is_in = |trick: &&str| memmem::find(source.as_bytes(), trick.as_bytes()).is_some();
        let mut effects = Effects {
            has_tricks: TRICKS.iter().any(is_in),
            ..Effects::default()
        };
        effects.visit_body(body);
        effects
    }

    pub fn into_facts(self, steps: Vec<Step>) -> ModuleFacts {
        let set = self.set.iter();
        let patched: BTreeSet<&str> = set
            .filter(|(root, _)| self.imported.contains(root))
            .map(|(_, attribute)| *attribute)
            .collect();
        let is_changing = |name: &&str| self.changing.contains(name);
        let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
        ModuleFacts {
            steps,
            has_dynamic_names: self.facts.has_dynamic_names || self.names.contains("__getattr__"),
            changes_search: self.facts.changes_search || self.called.iter().any(is_changing),
            names: owned(self.names),
            patched: owned(patched),
            ..self.facts
        }
    }

    /// The names that are bound to one constant only.
    pub fn constants(&self) -> Constants<'a> {
        match self.has_stars {
            true => Constants::new(),
            false => self.constants.clone(),
        }
    }

    /// Notes an assignment of a constant to a name; its target is visited as well.
    fn assign(&mut self, name: &'a str, value: bool) {
        let is_new = !self.names.contains(name) && !self.constants.contains_key(name);
        let known = self.constants.get(name).copied().flatten();
        self.bind(name);
        if self.function.is_none() && self.classes == 0 {
            let same = is_new || known == Some(value);
            self.constants.insert(name, same.then_some(value));
        }
    }

    fn change_search(&mut self) {
        match self.function {
            Some(function) => drop(self.changing.insert(function)),
            None => self.facts.changes_search = true,
        }
    }

    fn bind(&mut self, name: &'a str) {
        if self.function.is_none() && self.classes == 0 {
            self.names.insert(name);
            self.constants.insert(name, None);
        }
    }

    fn import(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let first = alias.name.split('.').next().unwrap_or_default();
                    let name = alias.asname.as_ref().map_or(first, |it| it.as_str());
                    self.imported.insert(name);
                    self.bind(name);
                }
            }
            Stmt::ImportFrom(import) => {
                let is_sys = import
                    .module
                    .as_ref()
                    .is_some_and(|it| it.as_str() == "sys");
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.imported.insert(name);
                    match name == &alias.name {
                        true => drop(self.constants.insert(name, None)),
                        false => self.bind(name),
                    }
                    self.has_stars |= name.as_str() == "*";
                    // What becomes of them under another name is not followed.
                    let system = ["path", "meta_path", "path_hooks", "modules"];
                    if is_sys && system.contains(&alias.name.as_str()) {
                        self.change_search();
                        self.facts.has_dynamic_names = true;
                    }
                }
            }
            _ => {}
        }
    }

    fn name(&mut self, name: &'a str, context: ExprContext) {
        match (name, context) {
            (_, ExprContext::Store) => self.bind(name),
            ("globals" | "exec", _) => self.facts.has_dynamic_names = true,
            ("vars" | "locals", _) if self.function.is_none() => {
                self.facts.has_dynamic_names = true
            }
            ("addsitedir", _) => self.change_search(),
            _ => {}
        }
        if name == "__path__" {
            self.facts.has_dynamic_submodules = true;
        }
    }

    fn attribute(&mut self, expression: &'a Expr, name: &'a str, context: ExprContext) {
        match name {
            "addsitedir" => self.change_search(),
            "path" if context != ExprContext::Load && is_attribute(expression, "sys", "path") => {
                self.change_search();
            }
            "meta_path" | "path_hooks" if is_attribute(expression, "sys", name) => {
                self.facts.has_dynamic_submodules = true;
                self.change_search();
            }
            "__path__" | "declare_namespace" => self.facts.has_dynamic_submodules = true,
            _ => {}
        }
        if context == ExprContext::Store
            && let Some(root) = root(expression)
        {
            self.set.push((root, name));
        }
    }

    fn subscript(&mut self, subscript: &'a ExprSubscript) {
        if is_attribute(&subscript.value, "sys", "path") && subscript.ctx != ExprContext::Load {
            self.change_search();
        }
        if !is_attribute(&subscript.value, "sys", "modules") {
            return;
        }
        match &*subscript.slice {
            Expr::StringLiteral(name) if subscript.ctx == ExprContext::Store => {
                self.facts.provided.push(name.value.to_str().to_owned());
            }
            Expr::StringLiteral(_) => {}
            Expr::Name(name) if name.id == "__name__" => self.facts.has_dynamic_names = true,
            _ if subscript.ctx == ExprContext::Load => self.facts.has_dynamic_names = true,
            _ => {
                self.facts.has_dynamic_names = true;
                self.facts.has_dynamic_submodules = true;
            }
        }
    }

    fn call(&mut self, call: &'a ExprCall) {
        if self.function.is_none() {
            match &*call.func {
                Expr::Name(name) => drop(self.called.insert(&name.id)),
                Expr::Attribute(method) => drop(self.called.insert(&method.attr)),
                _ => {}
            }
        }
        match &*call.func {
            Expr::Attribute(method) => {
                let name = method.attr.as_str();
                if is_attribute(&method.value, "sys", "path") && CHANGES.contains(&name) {
                    self.change_search();
                }
                if is_attribute(&method.value, "sys", "modules") {
                    match (name, &*call.arguments.args) {
                        ("setdefault", [Expr::StringLiteral(name), ..]) => {
                            self.facts.provided.push(name.value.to_str().to_owned());
                        }
                        ("get", [Expr::StringLiteral(_), ..]) | ("copy" | "keys", _) => {}
                        _ => {
                            self.facts.has_dynamic_names = true;
                            self.facts.has_dynamic_submodules = true;
                        }
                    }
                }
            }
            Expr::Name(name) if name.id == "setattr" => {
                if let [object, Expr::StringLiteral(name), ..] = &*call.arguments.args
                    && let Some(root) = root(object)
                {
                    self.set.push((root, name.value.to_str()));
                }
            }
            _ => {}
        }
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

/// The name at the start of `NAME.attribute.attribute`.
fn root(mut expression: &Expr) -> Option<&str> {
    loop {
        match expression {
            Expr::Attribute(attribute) => expression = &attribute.value,
            Expr::Name(name) => return Some(&name.id),
            _ => return None,
        }
    }
}

impl<'a> Visitor<'a> for Effects<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                self.bind(&function.name);
                function
                    .decorator_list
                    .iter()
                    .for_each(|it| self.visit_decorator(it));
                let outer = self.function;
                self.function = outer.or(Some(&function.name));
                self.visit_parameters(&function.parameters);
                self.visit_body(&function.body);
                self.function = outer;
            }
            Stmt::ClassDef(class) => {
                self.bind(&class.name);
                self.classes += 1;
                visitor::walk_stmt(self, statement);
                self.classes -= 1;
            }
            Stmt::Global(global) => {
                let names = global.names.iter().map(|it| it.as_str());
                self.constants
                    .extend(names.clone().map(|name| (name, None)));
                self.names.extend(names);
            }
            Stmt::Assign(assign) => match (&assign.targets[..], truth(&assign.value)) {
                ([Expr::Name(name)], Some(value)) => self.assign(&name.id, value),
                _ => visitor::walk_stmt(self, statement),
            },
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.import(statement),
            Stmt::AugAssign(assign) => {
                if is_attribute(&assign.target, "sys", "path") {
                    self.change_search();
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
        visitor::walk_expr(self, expression);
    }

    fn visit_except_handler(&mut self, handler: &'a ruff_python_ast::ExceptHandler) {
        let ruff_python_ast::ExceptHandler::ExceptHandler(it) = handler;
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
