//! What a setup.py passes to `setup()`, as far as it can be read without running it.

use std::cell::Cell;

use imgcheck_python::ast::{Expr, ExprCall, Operator, Stmt};
use imgcheck_python::syntax::{self, plain_text, span};

use super::list::{Part, Requirements, Setup};
use super::script::Script;

/// The maximum number of names that lead to each other.
const MAX_NAMES: usize = 8;

/// The maximum number of expressions that are followed: a name that is used twice is followed twice.
const MAX_EXPRESSIONS: usize = 10_000;

/// Functions that keep the elements of a list.
const SAME: &[&str] = &["list", "tuple", "sorted", "set"];

/// Whether a file calls `setup()`. One that is not valid Python does if it looks like it.
pub fn calls_setup(text: &str) -> bool {
    let calls = |body: &[Stmt]| Script::of(text, body).calls_setup;
    syntax::with_statements(text, calls).unwrap_or_else(|_| text.contains("setup("))
}

/// `install_requires` and `extras_require`. A file that is not valid Python is unread.
pub fn parse(text: &str) -> Setup<'_> {
    let read = |body: &[Stmt]| {
        let script = Script::of(text, body);
        let reader = Reader {
            script: &script,
            left: Cell::new(MAX_EXPRESSIONS),
        };
        reader.setup()
    };
    syntax::with_statements(text, read).unwrap_or_else(|_| Setup {
        main: Requirements::unread(0..text.len()),
        ..Setup::default()
    })
}

/// Follows the expressions of a script.
struct Reader<'s, 't, 'a> {
    script: &'s Script<'t, 'a>,
    /// How many expressions may still be followed.
    left: Cell<usize>,
}

impl<'t, 'a> Reader<'_, 't, 'a> {
    fn setup(&self) -> Setup<'t> {
        let mut setup = Setup::default();
        match self.script.arguments("install_requires") {
            [] => {}
            [argument] => setup.main = self.list(&argument.value, MAX_NAMES),
            [first, ..] => setup.main = Requirements::unread(span(*first)),
        }
        match self.script.arguments("extras_require") {
            [] => {}
            [argument] => self.extras(&argument.value, true, &mut setup),
            [first, ..] => setup.unread.push(span(*first)),
        }
        setup
    }

    /// The requirements of an expression, in which at most `names` names lead to each other.
    fn list(&self, expression: &'a Expr, names: usize) -> Requirements<'t> {
        let unread = || Requirements::unread(span(expression));
        let left = self.left.get();
        if left == 0 {
            return unread();
        }
        self.left.set(left - 1);
        match expression {
            Expr::List(list) => self.elements(&list.elts, names),
            Expr::Tuple(list) => self.elements(&list.elts, names),
            Expr::Set(list) => self.elements(&list.elts, names),
            Expr::BinOp(sum) if sum.op == Operator::Add => {
                let mut found = self.list(&sum.left, names);
                found.add(self.list(&sum.right, names));
                found
            }
            Expr::Name(name) if names > 0 => match self.script.values(&name.id) {
                [value] => {
                    let mut found = self.list(value, names - 1);
                    let changes = self.script.changes(&name.id);
                    found.unread.extend(changes.iter().map(|it| span(*it)));
                    found
                }
                _ => unread(),
            },
            Expr::Call(call) if keeps_elements(call) => match &*call.arguments.args {
                [] => Requirements::default(),
                [list] => self.list(list, names),
                _ => unread(),
            },
            // setuptools takes a text for a list.
            Expr::StringLiteral(_) => self.elements(std::slice::from_ref(expression), names),
            _ => match self.script.file(expression) {
                Some(path) => Requirements::file(path, span(expression)),
                None => unread(),
            },
        }
    }

    fn elements(&self, elements: &'a [Expr], names: usize) -> Requirements<'t> {
        let mut found = Requirements::default();
        for element in elements {
            match (element, plain_text(self.script.text, element)) {
                (_, Some(text)) => {
                    let start = span(element).start + 1;
                    let span = start..start + text.len();
                    found.parts.push(Part::Requirement { text, span });
                }
                (Expr::Starred(starred), _) => found.add(self.list(&starred.value, names)),
                _ => found.unread.push(span(element)),
            }
        }
        found
    }

    /// The extras of a dictionary, or of a name that is assigned one.
    fn extras(&self, expression: &'a Expr, follows_names: bool, setup: &mut Setup<'t>) {
        match expression {
            Expr::Dict(dictionary) => {
                for item in &dictionary.items {
                    let name = item.key.as_ref();
                    match name.and_then(|name| plain_text(self.script.text, name)) {
                        Some(name) => setup.extras.push((name, self.list(&item.value, MAX_NAMES))),
                        None => setup.unread.push(span(&item.value)),
                    }
                }
            }
            Expr::Name(name) if follows_names => {
                let [value] = self.script.values(&name.id) else {
                    return setup.unread.push(span(expression));
                };
                self.extras(value, false, setup);
                for change in self.script.changes(&name.id) {
                    match self.item(change) {
                        Some(extra) => setup.extras.push(extra),
                        None => setup.unread.push(span(*change)),
                    }
                }
            }
            _ => setup.unread.push(span(expression)),
        }
    }

    /// `extras["name"] = […]`
    fn item(&self, statement: &'a Stmt) -> Option<(&'t str, Requirements<'t>)> {
        let [(Expr::Subscript(item), value)] = syntax::assignments(statement)[..] else {
            return None;
        };
        let name = plain_text(self.script.text, &item.slice)?;
        let is_direct = item.value.is_name_expr();
        is_direct.then(|| (name, self.list(value, MAX_NAMES)))
    }
}

/// Whether a call returns the elements of its argument.
fn keeps_elements(call: &ExprCall) -> bool {
    let function = call.func.as_name_expr();
    function.is_some_and(|it| SAME.contains(&it.id.as_str())) && call.arguments.keywords.is_empty()
}
