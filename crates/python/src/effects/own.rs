//! Expressions that are the module itself, its names, or all modules: to read them changes nothing, and what may be done with them elsewhere is
//! not followed.

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{CmpOp, Expr, ExprCall, ExprContext, ExprSubscript};

use super::meaning::texts;
use super::{Effects, GETATTR, own_submodule};
use crate::condition::is_attribute;

/// What an expression is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// The dictionary of the module's names, as `globals()` returns it.
    Names,
    /// The module, as in `sys.modules[__name__]`. Any module that is looked up by a name which is no literal may be this one.
    Module,
    /// `sys.modules`.
    Modules,
}

/// Functions that only read their first argument.
const READERS: [&str; 19] = [
    "all",
    "any",
    "bool",
    "delattr",
    "dict",
    "dir",
    "enumerate",
    "getattr",
    "hasattr",
    "id",
    "iter",
    "len",
    "list",
    "print",
    "repr",
    "set",
    "sorted",
    "tuple",
    "type",
];

/// Methods of dictionaries that bind nothing.
const READING_METHODS: [&str; 9] = [
    "__contains__",
    "__getitem__",
    "clear",
    "copy",
    "get",
    "items",
    "keys",
    "pop",
    "values",
];

impl<'a> Effects<'a> {
    /// What an expression is of this module.
    pub(super) fn own(&self, expression: &Expr) -> Option<Own> {
        match expression {
            _ if is_attribute(expression, "sys", "modules") => Some(Own::Modules),
            Expr::Attribute(it) if &it.attr == "__dict__" => {
                let value = self.own(&it.value);
                value.filter(|it| *it == Own::Module).map(|_| Own::Names)
            }
            Expr::Subscript(it) if it.ctx == ExprContext::Load => {
                let is_modules = self.own(&it.value) == Some(Own::Modules);
                (is_modules && is_unknown(&it.slice)).then_some(Own::Module)
            }
            Expr::Call(it) => self.own_call(it),
            _ => None,
        }
    }

    fn own_call(&self, call: &ExprCall) -> Option<Own> {
        let first = call.arguments.args.first();
        match &*call.func {
            Expr::Name(name) => match (name.id.as_str(), first) {
                ("globals", _) if !self.has_local_globals => Some(Own::Names),
                ("vars" | "locals", None) if self.function.is_none() => Some(Own::Names),
                ("vars", Some(of)) if self.own(of) == Some(Own::Module) => Some(Own::Names),
                _ => None,
            },
            Expr::Attribute(method) if ["get", "pop"].contains(&method.attr.as_str()) => {
                let is_modules = self.own(&method.value) == Some(Own::Modules);
                (is_modules && first.is_some_and(is_unknown)).then_some(Own::Module)
            }
            _ => None,
        }
    }

    /// Notes what an expression does with the module, and visits the rest of it; `false` if it does nothing with it.
    pub(super) fn uses_own(&mut self, expression: &'a Expr) -> bool {
        if let Some(own) = self.own(expression) {
            self.escapes(own);
            self.visit_keys(expression);
            return true;
        }
        match expression {
            Expr::Subscript(it) => {
                let Some(own) = self.own(&it.value) else {
                    return false;
                };
                self.sets_item(own, it);
                self.visit_keys(&it.value);
                self.visit_expr(&it.slice);
            }
            Expr::Attribute(it) => {
                match (self.own(&it.value), it.ctx) {
                    (Some(Own::Module), ExprContext::Store) if &it.attr != "__class__" => {
                        self.sets(&it.value, &it.attr);
                    }
                    (Some(Own::Module), ExprContext::Load | ExprContext::Del) => {}
                    (Some(own), _) => self.escapes(own),
                    (None, _) => return false,
                }
                self.visit_keys(&it.value);
            }
            Expr::Call(call) => return self.calls_own(call),
            Expr::Compare(compare) => {
                let is_own = |it: &Expr| self.own(it).is_some();
                let mut right = compare.comparators.iter();
                let is_search = compare
                    .ops
                    .iter()
                    .all(|it| matches!(it, CmpOp::In | CmpOp::NotIn));
                if !is_search || !right.any(is_own) {
                    return false;
                }
                self.visit_expr(&compare.left);
                compare.comparators.iter().for_each(|it| self.reads(it));
            }
            _ => return false,
        }
        true
    }

    /// Visits an expression that is only read.
    pub(super) fn reads(&mut self, expression: &'a Expr) {
        match self.own(expression) {
            Some(_) => self.visit_keys(expression),
            None => self.visit_expr(expression),
        }
    }

    fn calls_own(&mut self, call: &'a ExprCall) -> bool {
        let arguments = &call.arguments;
        let first = arguments.args.first();
        match &*call.func {
            Expr::Attribute(method) => {
                let Some(own) = self.own(&method.value).filter(|it| *it != Own::Module) else {
                    return false;
                };
                self.calls_method(own, &method.attr, call);
                self.visit_keys(&method.value);
                arguments.args.iter().for_each(|it| self.visit_expr(it));
            }
            Expr::Name(name) => {
                let Some(own) = first.and_then(|it| self.own(it)) else {
                    return false;
                };
                match (name.id.as_str(), first, arguments.args.get(1)) {
                    (reader, ..) if READERS.contains(&reader) => {}
                    ("setattr", _, Some(Expr::Name(name))) if self.is_asked(&name.id) => {}
                    ("setattr", Some(module), Some(key)) => match self.keys(key) {
                        Some(names) => names.into_iter().for_each(|it| self.sets(module, it)),
                        None => {
                            self.escapes(own);
                            self.fills();
                        }
                    },
                    _ => self.escapes(own),
                }
                arguments.args.iter().for_each(|it| self.reads(it));
            }
            _ => return false,
        }
        arguments
            .keywords
            .iter()
            .for_each(|it| self.visit_expr(&it.value));
        true
    }

    fn calls_method(&mut self, own: Own, method: &str, call: &'a ExprCall) {
        let first = call.arguments.args.first();
        match (own, method, first) {
            (_, reading, _) if READING_METHODS.contains(&reading) => {}
            (Own::Modules, "setdefault", Some(key)) => self.provides(key),
            (Own::Names, "setdefault", Some(Expr::StringLiteral(name))) => {
                self.bind_own(name.value.to_str());
            }
            _ => self.escapes(own),
        }
    }

    fn sets_item(&mut self, own: Own, subscript: &'a ExprSubscript) {
        match (own, subscript.ctx, &*subscript.slice) {
            (_, ExprContext::Load | ExprContext::Del, _) => {}
            (Own::Modules, _, Expr::Name(name)) if name.id == "__name__" => {
                self.may_bind_any_name();
            }
            (Own::Modules, _, key) => self.provides(key),
            (Own::Names, _, Expr::Name(name)) if self.is_asked(name.id.as_str()) => {}
            (Own::Names, _, key) => match self.keys(key) {
                Some(names) => names.into_iter().for_each(|it| self.bind_own(it)),
                None => self.escapes(own),
            },
            _ => self.escapes(own),
        }
    }

    /// Notes that the function around sets names of any module.
    pub(super) fn fills(&mut self) {
        self.filling.extend(self.function);
    }

    /// Whether a variable of the current function is a module of `sys.modules`.
    pub(super) fn is_alias(&self, variable: &str) -> bool {
        self.aliases.contains(&(self.number(), variable))
    }

    /// Notes the variables that are a module of `sys.modules`.
    pub(super) fn alias(&mut self, targets: &'a [Expr], value: &Expr) {
        if self.own(value) == Some(Own::Module) {
            let names = targets.iter().filter_map(|it| it.as_name_expr());
            let number = self.number();
            self.aliases
                .extend(names.map(|it| (number, it.id.as_str())));
        }
    }

    /// Notes a name of a module that is set, which may be this one or another.
    fn sets(&mut self, module: &Expr, name: &'a str) {
        self.bind_own(name);
        let key = module
            .as_subscript_expr()
            .and_then(|it| it.slice.as_name_expr());
        if key.is_none_or(|it| it.id != "__name__") {
            self.set_elsewhere.insert(name);
        }
    }

    /// What a key can be: itself, or all that a loop goes through.
    pub(super) fn keys(&self, key: &'a Expr) -> Option<Vec<&'a str>> {
        match key {
            Expr::StringLiteral(name) => Some(vec![name.value.to_str()]),
            Expr::Name(name) => {
                let mut loops = self.loops.iter().rev();
                let (_, list) = loops.find(|(variable, _)| *variable == name.id.as_str())?;
                texts(list)
            }
            _ => None,
        }
    }

    /// Whether a variable is the name that `__getattr__` is called with, which keeps its answer as a name of the module.
    fn is_asked(&self, variable: &str) -> bool {
        self.function == Some(GETATTR) && self.parameter == Some(variable)
    }

    /// Notes a key of `sys.modules` that is set.
    fn provides(&mut self, key: &'a Expr) {
        match key {
            Expr::StringLiteral(name) => self.facts.provided.push(name.value.to_str().to_owned()),
            key => match own_submodule(key) {
                Some((name, true)) => self.facts.provided.push(name),
                Some((prefix, false)) => self.brings_submodules(&prefix),
                None => match self.class_of(key) {
                    Some(class) => self.brings_submodules(&format!(".{class}")),
                    None => self.escapes(Own::Modules),
                },
            },
        }
    }

    /// `C` of `C.__name__`, a class of the module that is a module below it for others, as `typing.io` was.
    fn class_of(&self, key: &'a Expr) -> Option<&'a str> {
        let attribute = key.as_attribute_expr().filter(|it| &it.attr == "__name__");
        let class = attribute.and_then(|it| it.value.as_name_expr())?;
        Some(class.id.as_str()).filter(|it| self.is_class(it))
    }

    /// The module, its names or all modules are somewhere else.
    fn escapes(&mut self, own: Own) {
        self.may_bind_any_name();
        if own == Own::Modules {
            self.brings_submodules("");
        }
        if self.function.is_none() {
            self.dynamic_from.get_or_insert(self.statement);
        }
    }

    /// Visits the keys by which an expression finds the module.
    fn visit_keys(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Attribute(it) => self.visit_keys(&it.value),
            Expr::Subscript(it) => {
                self.visit_keys(&it.value);
                self.visit_expr(&it.slice);
            }
            Expr::Call(it) => it.arguments.args.iter().for_each(|it| self.reads(it)),
            _ => {}
        }
    }
}

/// Whether a key of `sys.modules` may be the name of this module.
fn is_unknown(key: &Expr) -> bool {
    !key.is_string_literal_expr() && own_submodule(key).is_none()
}
