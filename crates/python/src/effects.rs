//! What a module binds, and what it does to the import system, anywhere in its source.

use std::collections::BTreeSet;

use memchr::memmem;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Comprehension, Expr, ExprCall, ExprContext, ExprSubscript, Pattern, Stmt};
use ruff_text_size::{Ranged, TextSize};

use crate::condition::{Condition, Constants, Subject, is_attribute};
use crate::facts::{ModuleFacts, Step};
use crate::lines::Lines;
use crate::outline::Outline;

/// Methods of lists that change `sys.path`.
const CHANGES: [&str; 8] = [
    "append", "insert", "extend", "remove", "pop", "clear", "reverse", "sort",
];

/// The function of a module that is called for names which it does not have (PEP 562).
const GETATTR: &str = "__getattr__";

/// What binds a name in an expression; in a function, only for itself.
const WALRUS: &str = ":=";

/// What the text of a module has if more than its statements and the targets of its assignments matter.
pub(crate) const TRICKS: [&str; 14] = [
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
    "global_enum",
    "_convert",
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
    /// Whether it may assign to names that its text does not show.
    has_dynamic_constants: bool,
    /// Whether it is below `if __name__ == "__main__"`.
    is_main: bool,
    /// Whether that changes what imports find.
    main_changes_search: bool,
    /// Where the last statement starts.
    statement: TextSize,
    /// Where `__getattr__` is bound first.
    getattr: Option<TextSize>,
    /// Whether it has `from M import *`.
    has_stars: bool,
    /// Names of imported modules and objects, with the number of the function around; 0 if there is none.
    imported: BTreeSet<(usize, &'a str)>,
    /// Attributes that are set: the number of the function around, the name that is the root of the object, and the attribute.
    set: Vec<(usize, &'a str, &'a str)>,
    /// How many outermost functions there were.
    functions: usize,
    /// Functions and methods that change `sys.path`.
    changing: BTreeSet<&'a str>,
    /// Functions and methods that the module calls when it is executed, and whether only as a program.
    called: BTreeSet<(bool, &'a str)>,
    /// The outermost function around.
    function: Option<&'a str>,
    /// The classes around.
    classes: usize,
}

impl<'a> Effects<'a> {
    pub fn of(source: &str, body: &'a [Stmt]) -> Self {
        let is_in = |trick: &&str| memmem::find(source.as_bytes(), trick.as_bytes()).is_some();
        let mut effects = Effects {
            has_tricks: [WALRUS].iter().chain(&TRICKS).any(is_in),
            ..Effects::default()
        };
        effects.visit_body(body);
        effects
    }

    pub fn into_facts(self, outline: &Outline, steps: Vec<Step>) -> ModuleFacts {
        let mut lines = Lines::of(outline.source());
        let set = self.set.iter();
        let patched: BTreeSet<&str> = set
            .filter(|(function, root, _)| {
                let functions = [0, *function];
                functions
                    .iter()
                    .any(|it| self.imported.contains(&(*it, *root)))
            })
            .map(|(_, _, attribute)| *attribute)
            .collect();
        let is_called = |as_main: bool| {
            let mut changing = self.changing.iter();
            changing.any(|name| self.called.contains(&(as_main, *name)))
        };
        let changes_search = self.facts.changes_search || is_called(false);
        let getattr = self.getattr.filter(|_| !self.facts.has_dynamic_names);
        let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
        ModuleFacts {
            steps,
            has_dynamic_names: self.facts.has_dynamic_names || self.names.contains(GETATTR),
            changes_search,
            changes_search_as_main: changes_search || self.main_changes_search || is_called(true),
            getattr_line: getattr.map_or(0, |offset| lines.at(outline.place(offset))),
            names: owned(self.names),
            patched: owned(patched),
            ..self.facts
        }
    }

    /// The names that are bound to one constant only.
    pub fn constants(&self) -> Constants<'a> {
        match self.has_stars || self.has_dynamic_constants {
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
            None if self.is_main => self.main_changes_search = true,
            None => self.facts.changes_search = true,
        }
    }

    /// The number of the outermost function around.
    fn number(&self) -> usize {
        self.function.map_or(0, |_| self.functions)
    }

    fn bind(&mut self, name: &'a str) {
        if self.function.is_none() && self.classes == 0 {
            self.names.insert(name);
            self.constants.insert(name, None);
            if name == GETATTR {
                self.getattr.get_or_insert(self.statement);
            }
        }
    }

    fn import(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let first = alias.name.split('.').next().unwrap_or_default();
                    let name = alias.asname.as_ref().map_or(first, |it| it.as_str());
                    self.imported.insert((self.number(), name));
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
                    self.imported.insert((self.number(), name));
                    match name == &alias.name {
                        true if self.function.is_some() => {}
                        true if name == GETATTR => self.bind(name),
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
            ("globals" | "exec", _) => {
                self.facts.has_dynamic_names = true;
                self.has_dynamic_constants |= self.function.is_none();
            }
            ("vars" | "locals", _) if self.function.is_none() => {
                self.facts.has_dynamic_names = true
            }
            ("addsitedir", _) => self.change_search(),
            ("global_enum", _) => self.facts.has_dynamic_names = true,
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
            // They make the members of an enumeration names of its module (`enum.py`).
            "global_enum" | "_convert_" | "_convert" => self.facts.has_dynamic_names = true,
            _ => {}
        }
        if context == ExprContext::Store
            && let Some(root) = root(expression)
        {
            self.set.push((self.number(), root, name));
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
                Expr::Name(name) => drop(self.called.insert((self.is_main, &name.id))),
                Expr::Attribute(method) => {
                    self.called.insert((self.is_main, &method.attr));
                }
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
                    self.set.push((self.number(), root, name.value.to_str()));
                }
            }
            _ => {}
        }
    }
}

/// Whether a condition is `__name__ == "__main__"`.
fn is_main(test: &Expr) -> bool {
    let condition = Condition::of(test, &Constants::new());
    matches!(&condition.atoms[..], [atom] if !atom.negated && atom.subject == Subject::IsMain)
}

/// Whether an expression is a list of `sys` that finds modules: to go through it changes nothing.
fn is_finders(expression: &Expr) -> bool {
    is_attribute(expression, "sys", "meta_path") || is_attribute(expression, "sys", "path_hooks")
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
        self.statement = statement.start();
        match statement {
            Stmt::FunctionDef(function) => {
                self.bind(&function.name);
                function
                    .decorator_list
                    .iter()
                    .for_each(|it| self.visit_decorator(it));
                let outer = self.function;
                self.functions += usize::from(outer.is_none());
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
            Stmt::If(it) if is_main(&it.test) => {
                let outer = std::mem::replace(&mut self.is_main, true);
                self.visit_body(&it.body);
                self.is_main = outer;
                for clause in &it.elif_else_clauses {
                    self.visit_elif_else_clause(clause);
                }
            }
            Stmt::For(it) if is_finders(&it.iter) => {
                self.visit_expr(&it.target);
                self.visit_body(&it.body);
                self.visit_body(&it.orelse);
            }
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

    /// Its targets are names of its own.
    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        if !is_finders(&comprehension.iter) {
            self.visit_expr(&comprehension.iter);
        }
        comprehension.ifs.iter().for_each(|it| self.visit_expr(it));
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
