//! Expressions of a setup.py that read a requirements file.

use imgcheck_python::ast::visitor::{self, Visitor};
use imgcheck_python::ast::{Expr, ExprCall, ExprListComp};
use imgcheck_python::syntax::plain_text;

use super::script::Script;

/// Methods between a file and a list of its lines.
const LINES: &[&str] = &[
    "read",
    "readlines",
    "read_text",
    "splitlines",
    "split",
    "strip",
    "rstrip",
];

/// Names that say that a function changes the lines that it reads.
const CHANGES: &[&str] = &["replace", "sub", "lower", "format"];

impl<'t, 'a> Script<'t, 'a> {
    /// The requirements file whose lines an expression stands for.
    pub(super) fn file(&self, expression: &'a Expr) -> Option<&'t str> {
        match expression {
            Expr::ListComp(list) => self.comprehension(list),
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(_) => self.lines(expression),
                Expr::Name(name) => self.returned(&name.id, call),
                _ => None,
            },
            _ => None,
        }
    }

    /// `open("requirements.txt").read().splitlines()`, or the same of a name that `with open("requirements.txt") as name` defines.
    fn lines(&self, expression: &'a Expr) -> Option<&'t str> {
        match expression {
            Expr::Name(name) => match self.opened(&name.id) {
                [Expr::Call(call)] => self.opened_file(call, &["open"]),
                _ => None,
            },
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) if LINES.contains(&method.attr.as_str()) => {
                    self.lines(&method.value)
                }
                _ => self.opened_file(call, &["open", "Path"]),
            },
            _ => None,
        }
    }

    /// The requirements file in the parentheses of `open(…)`.
    fn opened_file(&self, call: &ExprCall, functions: &[&str]) -> Option<&'t str> {
        let function = call.func.as_name_expr()?;
        let path = plain_text(self.text, call.arguments.args.first()?)?;
        let is_opened = functions.contains(&function.id.as_str()) && path.ends_with(".txt");
        is_opened.then_some(path)
    }

    /// `[line.strip() for line in file]`, of all lines or of those that are not empty, comments or options.
    fn comprehension(&self, list: &'a ExprListComp) -> Option<&'t str> {
        let [generator] = &*list.generators else {
            return None;
        };
        let line = generator.target.as_name_expr()?.id.as_str();
        let is_line = |it: &Expr| it.as_name_expr().is_some_and(|it| it.id == line);
        let is_same = match &*list.elt {
            Expr::Call(call) => {
                let method = call.func.as_attribute_expr()?;
                is_line(&method.value) && matches!(method.attr.as_str(), "strip" | "rstrip")
            }
            other => is_line(other),
        };
        let mut filter = Words::of(self.text);
        generator.ifs.iter().for_each(|it| filter.visit_expr(it));
        let known = ["len", "strip", "startswith", line];
        let is_usual = filter.names.iter().all(|name| known.contains(name))
            && filter
                .texts
                .iter()
                .all(|text| text.chars().all(|c| "#- ".contains(c)));
        let path = self.lines(&generator.iter)?;
        (is_same && is_usual).then_some(path)
    }

    /// A call of a function of this file that returns the lines of a requirements file.
    fn returned(&self, name: &str, call: &ExprCall) -> Option<&'t str> {
        let mut words = Words::of(self.text);
        let function = self.functions.get(name)?;
        words.visit_parameters(&function.parameters);
        words.visit_body(&function.body);
        let has = |names: &[&str]| words.names.iter().any(|name| names.contains(name));
        if !has(&["open", "read_text"]) || has(CHANGES) || !call.arguments.keywords.is_empty() {
            return None;
        }
        let is_file = |path: &&str| path.ends_with(".txt");
        match &*call.arguments.args {
            [] => {
                let mut paths = words.texts.into_iter().filter(is_file);
                let path = paths.next()?;
                paths.all(|other| other == path).then_some(path)
            }
            [path] => plain_text(self.text, path).filter(is_file),
            _ => None,
        }
    }
}

/// The names and plain texts in a part of a file.
struct Words<'t, 'a> {
    text: &'t str,
    names: Vec<&'a str>,
    texts: Vec<&'t str>,
}

impl<'t> Words<'t, '_> {
    fn of(text: &'t str) -> Self {
        Words {
            text,
            names: Vec::new(),
            texts: Vec::new(),
        }
    }
}

impl<'a> Visitor<'a> for Words<'_, 'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => self.names.push(&name.id),
            Expr::Attribute(attribute) => self.names.push(&attribute.attr),
            _ => self.texts.extend(plain_text(self.text, expression)),
        }
        visitor::walk_expr(self, expression);
    }
}
