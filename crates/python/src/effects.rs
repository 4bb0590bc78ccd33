//! What a module binds, and what it does to the import system, anywhere in its source.

mod getattr;
mod meaning;
mod names;
mod own;
mod unchanged;
mod visit;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem;
use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Expr, ExprCall, ExprContext, ExprSubscript, Stmt};
use ruff_text_size::TextSize;

use crate::bodies::GETATTR;
use crate::condition::{Constants, is_attribute};
use crate::facts::{DynamicSubmodules, ModuleFacts, Step};
use crate::installs::{installs, may_install};
use crate::lines::Lines;
use crate::outline::Outline;
use meaning::Meaning;

/// Methods of lists that change `sys.path`.
const CHANGES: [&str; 8] = [
    "append", "insert", "extend", "remove", "pop", "clear", "reverse", "sort",
];

/// Lists and dictionaries that a `__getattr__` may compare with: with more, it may answer any name.
const MOST_CONSTANTS: usize = 16;

/// What binds a name in an expression; in a function, only for itself.
const WALRUS: &str = ":=";

/// What the text of a module has if more than its statements and the targets of its assignments matter.
const TRICKS: [&str; 14] = [
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

/// What decides about where modules are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// `sys.path`.
    Path,
    /// `sys.meta_path` and `sys.path_hooks`.
    Finders,
}

impl Change {
    const ALL: [Change; 2] = [Change::Path, Change::Finders];
}

/// Visits all statements and expressions of a module.
#[derive(Default)]
pub(crate) struct Effects<'a> {
    facts: ModuleFacts,
    /// Whether expressions are visited.
    has_tricks: bool,
    names: BTreeSet<&'a str>,
    /// Names that are only bound to one constant: whether it is true. `None` for others.
    constants: Constants<'a>,
    /// From where on it may have assigned to names that its text does not show.
    dynamic_from: Option<TextSize>,
    /// Whether it is below `if __name__ == "__main__"`.
    is_main: bool,
    /// In a handler of a `try` that only imports this module below itself.
    guard: Option<&'a str>,
    /// What it changes of the search for modules, and whether only as a program.
    changes: BTreeSet<(bool, Change)>,
    /// Where the last statement starts.
    statement: TextSize,
    /// From where on the module may have names that its text does not show.
    dynamic_names: Option<TextSize>,
    /// From where on it may have a `__getattr__`.
    getattr: Option<TextSize>,
    /// The names that its `__getattr__` answers; none if it may answer any.
    answered: BTreeSet<&'a str>,
    /// The first parameter of the outermost function around.
    parameter: Option<&'a str>,
    /// The loops around through a list: the variable, and the elements.
    loops: Vec<(&'a str, &'a [Expr])>,
    /// Whether the current function has a variable with the name `globals`.
    has_local_globals: bool,
    /// Whether it has `from M import *`.
    has_stars: bool,
    /// Names of imported modules and objects, with the number of the function around; 0 if there is none.
    imported: BTreeSet<(usize, &'a str)>,
    /// Attributes that are set: the number of the function around, the name that is the root of the object, and the attribute.
    set: Vec<(usize, &'a str, &'a str)>,
    /// Attributes that are set on modules of `sys.modules`, which need not be this one.
    set_elsewhere: BTreeSet<&'a str>,
    /// Objects whose attributes are set by names that are no literals: the number of the function around, the name that is the root of the object, and its
    /// last one.
    filled: BTreeSet<(usize, &'a str, &'a str)>,
    /// Variables that are modules of `sys.modules`: the number of the function around, and the name.
    aliases: BTreeSet<(usize, &'a str)>,
    /// Functions that set attributes of such modules by names that are no literals.
    filling: BTreeSet<&'a str>,
    /// How many outermost functions there were.
    functions: usize,
    /// Functions and methods that change something of it.
    changing: BTreeSet<(Change, &'a str)>,
    /// Functions and methods that the module calls when it is executed, and whether only as a program.
    called: BTreeSet<(bool, &'a str)>,
    /// Code that may bring modules without files: the outermost function around it, if there is one, how all of them begin, and where the function or
    /// else the code starts.
    submodules: BTreeMap<(Option<&'a str>, String), TextSize>,
    /// Names that have one meaning; `None` for others.
    plain: BTreeMap<&'a str, Option<Meaning<'a>>>,
    /// The outermost function around.
    function: Option<&'a str>,
    /// Where it starts.
    function_start: TextSize,
    /// The classes around.
    classes: usize,
}

impl<'a> Effects<'a> {
    pub fn of(outline: &Outline, body: &'a [Stmt]) -> Self {
        let text = outline.text().as_bytes();
        let is_in = |trick: &&str| memmem::find(text, trick.as_bytes()).is_some();
        let mut effects = Effects {
            has_tricks: [WALRUS].iter().chain(&TRICKS).any(is_in) || may_install(outline.text()),
            ..Effects::default()
        };
        effects.visit_body(body);
        effects.follow_getattr(outline.source());
        effects
    }

    pub fn into_facts(self, outline: &Outline, steps: Vec<Step>) -> ModuleFacts {
        let mut lines = Lines::of(outline.source());
        let is_imported = |function: usize, name: &'a str| {
            let mut functions = [0, function].into_iter();
            functions.any(|it| self.imported.contains(&(it, name)))
        };
        let set = self.set.iter();
        let set = set.filter(|(function, root, _)| is_imported(*function, root));
        let patched = set.map(|(_, _, attribute)| *attribute);
        let patched: BTreeSet<&str> = patched.chain(self.set_elsewhere.iter().copied()).collect();
        let filled = self
            .filled
            .iter()
            .filter(|(function, root, _)| is_imported(*function, root));
        let filled = filled.map(|(_, _, last)| *last).collect();
        let does = |as_main: bool, change: Change| {
            let of_change = self.changing.iter().filter(|(it, _)| *it == change);
            let mut names = of_change.map(|(_, name)| (as_main, *name));
            self.changes.contains(&(as_main, change)) || names.any(|it| self.called.contains(&it))
        };
        let [changes_search, adds_finders] = Change::ALL.map(|it| does(false, it));
        let as_main = Change::ALL.iter().any(|it| does(true, *it));
        let mut dynamic: Vec<(TextSize, &str, &String)> = self
            .submodules
            .iter()
            .map(|((function, prefix), start)| (*start, function.unwrap_or_default(), prefix))
            .collect();
        dynamic.sort_unstable();
        let place = self.dynamic_names.map(|offset| outline.place(offset));
        let dynamic_names_from = place.map(|place| Lines::of(outline.source()).at(place));
        let dynamic = dynamic
            .into_iter()
            .map(|(start, function, prefix)| DynamicSubmodules {
                line: lines.at(outline.place(start)),
                function: function.to_owned(),
                prefix: prefix.clone(),
            });
        let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
        ModuleFacts {
            has_dynamic_submodules: !self.submodules.is_empty(),
            dynamic_submodules: dynamic.collect(),
            steps,
            dynamic_names_from,
            changes_search,
            adds_finders,
            has_search_changing_functions: !self.changing.is_empty(),
            changes_search_as_main: changes_search || adds_finders || as_main,
            names: owned(self.names),
            answered: owned(self.answered),
            patched: owned(patched),
            filled: owned(filled),
            filling: owned(self.filling),
            ..self.facts
        }
    }

    /// Where the outermost function around starts, or else the statement: what is there is certainly not executed before.
    fn start(&self) -> TextSize {
        match self.function {
            Some(_) => self.function_start,
            None => self.statement,
        }
    }

    /// Notes code that may bring modules without files, all of whose names go on with `prefix` after that of this one.
    fn brings_submodules(&mut self, prefix: &str) {
        let start = self.start();
        let code = (self.function, prefix.to_owned());
        self.submodules.entry(code).or_insert(start);
    }

    /// Notes code that may change where modules below this one are found.
    fn uses_path(&mut self) {
        self.facts.uses_path = true;
        self.brings_submodules("");
    }

    /// Notes code that may bind names which the text does not show.
    fn may_bind_any_name(&mut self) {
        let known = self.dynamic_names.unwrap_or(TextSize::new(u32::MAX));
        self.dynamic_names = Some(self.start().min(known));
    }

    /// Notes which names a `__getattr__` answers, or that it may answer any.
    fn follow_getattr(&mut self, source: &str) {
        let Some(start) = self.getattr else {
            return;
        };
        // Each costs a search of the whole source.
        let known: RefCell<BTreeMap<String, bool>> = RefCell::default();
        let is_unchanged = |name: &str| {
            let mut known = known.borrow_mut();
            let is_full = known.len() >= MOST_CONSTANTS;
            known.get(name).copied().unwrap_or_else(|| {
                let is_unchanged = !is_full && unchanged::is_unchanged(source, name);
                if !is_full {
                    known.insert(name.to_owned(), is_unchanged);
                }
                is_unchanged
            })
        };
        let constant = |name: &str| match self.plain.get(name)? {
            Some(Meaning::Constant(value)) if is_unchanged(name) => Some(*value),
            _ => None,
        };
        let answered = match self.plain.get(GETATTR) {
            Some(Some(Meaning::Function(function))) => getattr::answered(function, &constant),
            _ => None,
        };
        match answered {
            Some(names) => self.answered = names,
            None => {
                let known = self.dynamic_names.unwrap_or(start);
                self.dynamic_names = Some(start.min(known));
            }
        }
    }

    /// From where on constants may have other values.
    pub fn dynamic_from(&self) -> Option<TextSize> {
        self.dynamic_from
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

    fn change(&mut self, change: Change) {
        match (self.function, self.guard, change) {
            (Some(function), ..) => drop(self.changing.insert((change, function))),
            (None, Some(guard), Change::Path) if !self.is_main => {
                // As a program, it has no module below itself.
                self.changes.insert((true, change));
                self.facts.search_guards.push(guard.to_owned());
            }
            _ => drop(self.changes.insert((self.is_main, change))),
        }
    }

    /// The number of the outermost function around.
    fn number(&self) -> usize {
        self.function.map_or(0, |_| self.functions)
    }

    fn name(&mut self, name: &'a str, context: ExprContext) {
        match (name, context) {
            (_, ExprContext::Store) => self.bind(name),
            ("globals", _) if self.has_local_globals => {}
            ("globals" | "exec", _) => {
                self.may_bind_any_name();
                if self.function.is_none() {
                    self.dynamic_from.get_or_insert(self.statement);
                }
            }
            ("addsitedir", _) => self.change(Change::Path),
            ("global_enum", _) => self.may_bind_any_name(),
            _ => {}
        }
        if name == "__path__" {
            self.uses_path();
        }
    }

    fn attribute(&mut self, expression: &'a Expr, name: &'a str, context: ExprContext) {
        match name {
            "addsitedir" => self.change(Change::Path),
            "path" if context != ExprContext::Load && is_attribute(expression, "sys", "path") => {
                self.change(Change::Path);
            }
            "meta_path" | "path_hooks" if is_attribute(expression, "sys", name) => {
                self.brings_submodules("");
                self.change(Change::Finders);
            }
            "__path__" | "declare_namespace" => self.uses_path(),
            // They make the members of an enumeration names of its module (`enum.py`).
            "global_enum" | "_convert_" | "_convert" => self.may_bind_any_name(),
            _ => {}
        }
        if context != ExprContext::Store {
            return;
        }
        match root(expression) {
            Expr::Name(root) => self.set.push((self.number(), &root.id, name)),
            Expr::Subscript(it)
                if it.slice.is_string_literal_expr()
                    && is_attribute(&it.value, "sys", "modules") =>
            {
                self.set_elsewhere.insert(name);
            }
            _ => {}
        }
    }

    fn subscript(&mut self, subscript: &'a ExprSubscript) {
        if is_attribute(&subscript.value, "sys", "path") && subscript.ctx != ExprContext::Load {
            self.change(Change::Path);
        }
    }

    fn call(&mut self, call: &'a ExprCall) {
        if installs(call) {
            self.change(Change::Path);
        }
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
                    self.change(Change::Path);
                }
            }
            Expr::Name(name) if name.id == "setattr" => {
                if let [object, key, ..] = &*call.arguments.args
                    && let Expr::Name(root) = root(object)
                {
                    let root = root.id.as_str();
                    match (self.keys(key), object) {
                        (Some(names), Expr::Name(_)) if self.is_alias(root) => {
                            self.set_elsewhere.extend(names);
                        }
                        (None, Expr::Name(_)) if self.is_alias(root) => self.fills(),
                        (Some(names), _) => {
                            let number = self.number();
                            let set = names.into_iter().map(|name| (number, root, name));
                            self.set.extend(set);
                        }
                        (None, Expr::Attribute(it)) => {
                            self.filled.insert((self.number(), root, &it.attr));
                        }
                        (None, _) => drop(self.filled.insert((self.number(), root, root))),
                    }
                }
            }
            _ => {}
        }
    }
}

/// What follows `__name__` in `f"{__name__}.ops"`, and whether that is all of it.
fn own_submodule(key: &Expr) -> Option<(String, bool)> {
    let Expr::FString(text) = key else {
        return None;
    };
    let mut parts = text.value.elements();
    let own = parts
        .next()?
        .as_interpolation()?
        .expression
        .as_name_expr()?;
    let rest = parts.next()?.as_literal()?.value.to_string();
    let is_own = own.id == "__name__" && rest.starts_with('.');
    is_own.then(|| (rest, parts.next().is_none()))
}

/// What is at the start of `START.attribute.attribute`.
fn root(mut expression: &Expr) -> &Expr {
    while let Expr::Attribute(attribute) = expression {
        expression = &attribute.value;
    }
    expression
}
