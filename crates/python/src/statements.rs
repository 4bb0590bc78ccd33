//! The steps of a module's execution.

use std::collections::BTreeMap;

use ruff_python_ast::{
    ElifElseClause, ExceptHandler, Expr, Stmt, StmtFunctionDef, StmtIf, StmtTry, StmtWith,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::calls::{self, called};
use crate::condition::{Condition, Constants, is_attribute};
use crate::effects::Effects;
use crate::facts::{Import, Step, Use};
use crate::libraries::{Names, opened};
use crate::lines::Lines;
use crate::outline::Outline;
use crate::uses::Uses;

/// An exception that is given as an expression.
const EXPRESSION: &str = "?";

/// Functions inside one another that are followed.
const MOST_NESTED: usize = 4;

/// Calls of functions that are followed in one module.
const MOST_CALLS: usize = 64;

/// What is known of the names of a module.
pub(crate) struct Bound<'a> {
    pub constants: Constants<'a>,
    /// From where on constants may have other values.
    pub dynamic_from: Option<TextSize>,
    /// Names that only a plain `import` binds, with the module.
    pub modules: BTreeMap<&'a str, &'a str>,
    /// Names that only `from M import NAME` binds, with both.
    pub members: BTreeMap<&'a str, (&'a str, &'a str)>,
    /// Functions that calls by name certainly execute.
    pub functions: BTreeMap<&'a str, &'a StmtFunctionDef>,
    /// From where on names may have other meanings.
    pub dynamic_names_from: Option<TextSize>,
}

/// Collects steps.
pub(crate) struct Statements<'t, 'c> {
    bound: &'c Bound<'c>,
    none: Constants<'c>,
    outline: &'t Outline<'t>,
    lines: Lines<'t>,
    steps: Vec<Step>,
    /// How many `try` are around the current statement.
    tries: usize,
    /// How many classes are.
    classes: usize,
    /// The functions whose calls led to it, outermost first.
    functions: Vec<&'c StmtFunctionDef>,
    /// How many calls were followed.
    calls: usize,
    /// The statement of the module that is executed.
    executed: TextRange,
}

impl<'t, 'c> Statements<'t, 'c> {
    pub fn of(outline: &'t Outline<'t>, body: &[Stmt], bound: &'c Bound<'c>) -> Vec<Step> {
        let mut statements = Statements {
            bound,
            none: Constants::new(),
            outline,
            lines: Lines::of(outline.source()),
            steps: Vec::new(),
            tries: 0,
            classes: 0,
            functions: Vec::new(),
            calls: 0,
            executed: TextRange::default(),
        };
        let mut uses = Uses::of(&bound.modules);
        for statement in body {
            for (at, module, name) in uses.of_statement(statement) {
                let line = statements.line(at);
                let (module, name) = (module.to_owned(), name.to_owned());
                statements.steps.push(Step::Use(Use { line, module, name }));
            }
            statements.statement(statement);
        }
        statements.steps
    }

    fn body(&mut self, body: &[Stmt]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn line(&mut self, range: TextRange) -> u32 {
        self.lines.at(self.outline.place(range.start()))
    }

    /// The line of the module's statement that led to the current function; 0 if there is none.
    fn called_from(&mut self) -> u32 {
        match self.functions.is_empty() {
            true => 0,
            false => self.line(self.executed),
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        if self.functions.is_empty() {
            self.executed = statement.range();
        }
        match statement {
            Stmt::Import(import) if !import.is_lazy => {
                let line = self.line(import.range);
                let called_from = self.called_from();
                let modules = import.names.iter().map(|alias| Import {
                    line,
                    called_from,
                    module: alias.name.to_string(),
                    ..Import::default()
                });
                self.steps.extend(modules.map(Step::Import));
            }
            Stmt::ImportFrom(import) if !import.is_lazy => {
                let line = self.line(import.range);
                let called_from = self.called_from();
                let module = import.module.as_ref();
                self.steps.push(Step::Import(Import {
                    line,
                    called_from,
                    level: import.level,
                    module: module.map(ToString::to_string).unwrap_or_default(),
                    names: import.names.iter().map(|it| it.name.to_string()).collect(),
                }));
            }
            Stmt::If(it) => self.choice(it),
            Stmt::Try(it) => self.guard(it),
            Stmt::With(it) => self.context(it),
            // The body of a class runs where the class is defined.
            Stmt::ClassDef(class) => {
                self.classes += 1;
                self.body(&class.body);
                self.classes -= 1;
            }
            Stmt::For(it) => self.maybe(&[&it.body, &it.orelse]),
            Stmt::While(it) => self.maybe(&[&it.body, &it.orelse]),
            Stmt::Match(it) => {
                let bodies: Vec<&[Stmt]> = it.cases.iter().map(|case| &*case.body).collect();
                self.maybe(&bodies);
            }
            Stmt::Raise(raise) => {
                self.follow(statement);
                let class = raise.exc.as_deref().map(exception);
                self.steps.push(Step::Raise(class.unwrap_or_default()));
            }
            Stmt::Expr(it) if is_exit(&it.value) => {
                self.follow(statement);
                self.steps.push(Step::Exit);
            }
            // PEP 810: a lazy import is executed at the first use of its name.
            Stmt::Import(_) | Stmt::ImportFrom(_) => {}
            Stmt::FunctionDef(_) | Stmt::Pass(_) | Stmt::Global(_) => {}
            Stmt::Assign(it) if it.value.is_literal_expr() => {}
            Stmt::Expr(it) if it.value.is_literal_expr() => {}
            _ => {
                self.follow(statement);
                self.open(statement);
                self.other();
            }
        }
    }

    /// Notes the library that a statement of the module opens.
    fn open(&mut self, statement: &Stmt) {
        let at = statement.start();
        let is_dynamic = self.bound.dynamic_names_from.is_some_and(|it| it < at);
        if is_dynamic || self.classes > 0 || !self.functions.is_empty() {
            return;
        }
        let names = Names {
            modules: &self.bound.modules,
            members: &self.bound.members,
        };
        if let Some(name) = opened(statement, &names) {
            let line = self.line(statement.range());
            self.steps.push(Step::Open(line, name.to_owned()));
        }
    }

    /// Goes through the functions of the module that a statement calls, as far as they are certainly executed.
    fn follow(&mut self, statement: &Stmt) {
        for name in called(statement) {
            let Some(function) = self.function(name) else {
                continue;
            };
            self.calls += 1;
            let before = self.steps.len();
            self.functions.push(function);
            self.body(calls::certain(&function.body));
            self.functions.pop();
            let mut steps = self.steps[before..].iter();
            if !steps.any(|it| matches!(it, Step::Import(_))) {
                self.steps.truncate(before);
            }
        }
    }

    /// The function that a name certainly means where the current statement is executed.
    fn function(&self, name: &str) -> Option<&'c StmtFunctionDef> {
        let function = *self.bound.functions.get(name)?;
        let at = self.executed.start();
        let is_dynamic = self.bound.dynamic_names_from.is_some_and(|it| it < at);
        let is_defined = function.end() <= at && !is_dynamic && self.classes == 0;
        let is_followed = self.functions.len() < MOST_NESTED && self.calls < MOST_CALLS;
        let is_recursive = self.functions.iter().any(|it| it.name == function.name);
        let around = self.functions.last();
        let is_local = || around.is_some_and(|it| Effects::is_local(it, name));
        let is_certain = is_defined && is_followed && !is_recursive && !is_local();
        (is_certain && !calls::is_generator(function)).then_some(function)
    }

    /// Notes, in a `try`, that anything may be raised.
    fn other(&mut self) {
        if self.tries > 0 && self.steps.last() != Some(&Step::Other) {
            self.steps.push(Step::Other);
        }
    }

    fn choice(&mut self, it: &StmtIf) {
        let before = self.steps.len();
        let clauses = &it.elif_else_clauses;
        self.branch(&self.condition(&it.test), &it.body, clauses);
        self.drop_if_idle(before);
    }

    fn condition(&self, test: &Expr) -> Condition {
        let is_dynamic = self.bound.dynamic_from.is_some_and(|it| it < test.start());
        let constants = if is_dynamic || !self.functions.is_empty() {
            &self.none
        } else {
            &self.bound.constants
        };
        Condition::of(test, constants)
    }

    fn branch(&mut self, test: &Condition, body: &[Stmt], clauses: &[ElifElseClause]) {
        self.steps.push(Step::If(test.clone()));
        self.body(body);
        let Some((clause, rest)) = clauses.split_first() else {
            self.steps.push(Step::End);
            return;
        };
        self.steps.push(Step::Else);
        match &clause.test {
            None => self.body(&clause.body),
            // The first condition that decides about imports is near the start.
            Some(_) if clauses.len() > 8 => {
                let bodies: Vec<&[Stmt]> = clauses.iter().map(|it| &*it.body).collect();
                self.maybe(&bodies);
            }
            Some(test) => self.branch(&self.condition(test), &clause.body, rest),
        }
        self.steps.push(Step::End);
    }

    fn guard(&mut self, it: &StmtTry) {
        let before = self.steps.len();
        self.steps.push(Step::Try);
        self.tries += 1;
        self.body(&it.body);
        self.tries -= 1;
        for ExceptHandler::ExceptHandler(handler) in &it.handlers {
            let caught = handler.type_.as_deref().map(exceptions);
            self.steps.push(Step::Except(caught.unwrap_or_default()));
            self.body(&handler.body);
        }
        if !it.orelse.is_empty() {
            self.steps.push(Step::Else);
            self.body(&it.orelse);
        }
        if !it.finalbody.is_empty() {
            self.steps.push(Step::Finally);
            self.body(&it.finalbody);
        }
        self.steps.push(Step::End);
        self.drop_if_idle(before);
    }

    /// `with`: only what is known not to catch exceptions is as if it were not there.
    fn context(&mut self, it: &StmtWith) {
        let managers: Vec<String> = it
            .items
            .iter()
            .map(|item| match &item.context_expr {
                Expr::Call(call) => exception(&call.func),
                _ => EXPRESSION.to_owned(),
            })
            .collect();
        let all = |names: &[&str]| managers.iter().all(|it| names.contains(&it.as_str()));
        if all(&["catch_warnings", "open"]) {
            self.body(&it.body);
            return;
        }
        let before = self.steps.len();
        if all(&["suppress"]) {
            let caught = it.items.iter().flat_map(|item| match &item.context_expr {
                Expr::Call(call) => call.arguments.args.iter().flat_map(exceptions).collect(),
                _ => Vec::new(),
            });
            let caught = caught.collect();
            self.steps.push(Step::Try);
            self.tries += 1;
            self.body(&it.body);
            self.tries -= 1;
            self.steps.extend([Step::Except(caught), Step::End]);
            self.drop_if_idle(before);
            return;
        }
        self.maybe(&[&it.body]);
    }

    fn maybe(&mut self, bodies: &[&[Stmt]]) {
        let before = self.steps.len();
        self.steps.push(Step::Maybe);
        for body in bodies {
            self.body(body);
        }
        self.steps.push(Step::End);
        self.drop_if_idle(before);
    }

    /// Removes a block that imports nothing, unless it certainly ends the import.
    fn drop_if_idle(&mut self, start: usize) {
        let matters = |step: &Step| match step {
            Step::Import(_) | Step::Open(..) => true,
            Step::If(condition) => !condition.is_unknown(),
            _ => false,
        };
        if !self.steps[start..].iter().any(matters) {
            self.steps.truncate(start);
            self.other();
        }
    }
}

/// The names of the exceptions of an `except`.
fn exceptions(expression: &Expr) -> Vec<String> {
    match expression {
        Expr::Tuple(tuple) => tuple.elts.iter().map(exception).collect(),
        other => vec![exception(other)],
    }
}

/// The name of a class, or of that of a call, without module.
fn exception(expression: &Expr) -> String {
    match expression {
        Expr::Name(name) => name.id.to_string(),
        Expr::Attribute(attribute) => attribute.attr.to_string(),
        Expr::Call(call) if !call.func.is_call_expr() => exception(&call.func),
        _ => EXPRESSION.to_owned(),
    }
}

fn is_exit(expression: &Expr) -> bool {
    let Expr::Call(call) = expression else {
        return false;
    };
    let is_named = |name: &str| ["exit", "quit"].contains(&name);
    let is_exec = |name: &str| name == "_exit" || name.starts_with("exec");
    match &*call.func {
        Expr::Name(name) => is_named(&name.id),
        Expr::Attribute(attribute) => {
            is_attribute(&call.func, "sys", "exit")
                || is_exec(&attribute.attr) && is_attribute(&call.func, "os", &attribute.attr)
        }
        _ => false,
    }
}
