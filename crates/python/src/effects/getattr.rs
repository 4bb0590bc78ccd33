//! The names that the `__getattr__` of a module answers (PEP 562).
//!
//! Most end with AttributeError for all names but those of a list, or of the keys of a dictionary. Whatever else one may return is taken for an
//! answer to any name.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{CmpOp, ExceptHandler, Expr, ExprCompare, Stmt, StmtFunctionDef};

use super::meaning::texts;

type Names<'a> = BTreeSet<&'a str>;

/// The names with which a statement can be reached.
#[derive(Debug, Clone)]
enum Reached<'a> {
    Any,
    With(Names<'a>),
}

impl<'a> Reached<'a> {
    const NEVER: Reached<'a> = Reached::With(Names::new());

    fn and(&self, names: &Names<'a>) -> Self {
        Reached::With(match self {
            Reached::Any => names.clone(),
            Reached::With(known) => known & names,
        })
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Reached::With(one), Reached::With(other)) => Reached::With(&one | &other),
            _ => Reached::Any,
        }
    }
}

/// Follows a `__getattr__`.
struct Getattr<'a, 'c> {
    parameter: &'a str,
    constants: &'c dyn Fn(&str) -> Option<&'a Expr>,
    /// Variables that are bound once: `None` for all names but these, if that is known.
    found: BTreeMap<&'a str, Option<Names<'a>>>,
    answered: Names<'a>,
}

/// The names for which a `__getattr__` may return something; `None` if it may for any. `constants` has the lists and dictionaries of the module
/// that nothing changes.
pub(super) fn answered<'a>(
    function: &'a StmtFunctionDef,
    constants: &dyn Fn(&str) -> Option<&'a Expr>,
) -> Option<Names<'a>> {
    let mut parameters = function.parameters.iter();
    let (Some(parameter), None, true) = (
        parameters.next(),
        parameters.next(),
        function.decorator_list.is_empty(),
    ) else {
        return None;
    };
    let mut getattr = Getattr {
        parameter: parameter.name(),
        constants,
        found: BTreeMap::new(),
        answered: Names::new(),
    };
    let end = getattr.block(&function.body, Reached::Any)?;
    getattr.answer(end)?;
    Some(getattr.answered)
}

impl<'a> Getattr<'a, '_> {
    /// Notes that something is returned.
    fn answer(&mut self, reached: Reached<'a>) -> Option<()> {
        match reached {
            Reached::Any => None,
            Reached::With(names) => {
                self.answered.extend(names);
                Some(())
            }
        }
    }

    /// With which names the end of a block is reached; `None` if any may be answered before.
    fn block(&mut self, body: &'a [Stmt], mut reached: Reached<'a>) -> Option<Reached<'a>> {
        for statement in body {
            reached = self.statement(statement, reached)?;
        }
        Some(reached)
    }

    fn statement(&mut self, statement: &'a Stmt, reached: Reached<'a>) -> Option<Reached<'a>> {
        Some(match statement {
            Stmt::Return(it) => {
                let value = it.value.as_deref();
                let is_own = value.is_some_and(|it| self.is_own_name(it));
                let reached = value.map_or(reached.clone(), |it| self.evaluated(it, reached));
                if !is_own {
                    self.answer(reached)?;
                }
                Reached::NEVER
            }
            Stmt::Raise(_) => Reached::NEVER,
            Stmt::If(it) => {
                let first = (Some(&*it.test), &*it.body);
                let others = it.elif_else_clauses.iter();
                let others = others.map(|it| (it.test.as_ref(), &*it.body));
                let mut rest = reached;
                let mut end = Reached::NEVER;
                for (test, body) in std::iter::once(first).chain(others) {
                    let (yes, no) = match test {
                        Some(test) => self.test(test, &rest),
                        None => (rest, Reached::NEVER),
                    };
                    end = end.or(self.block(body, yes)?);
                    rest = no;
                }
                end.or(rest)
            }
            Stmt::Try(it) => {
                let body = self.block(&it.body, reached.clone())?;
                let mut end = self.block(&it.orelse, body)?;
                for ExceptHandler::ExceptHandler(handler) in &it.handlers {
                    end = end.or(self.block(&handler.body, reached.clone())?);
                }
                self.block(&it.finalbody, end)?
            }
            // It may catch what its body raises.
            Stmt::With(it) => self.block(&it.body, reached.clone())?.or(reached),
            Stmt::Assign(it) => {
                for target in &it.targets {
                    self.assign(target, &it.value)?;
                }
                self.evaluated(&it.value, reached)
            }
            Stmt::Expr(it) => self.evaluated(&it.value, reached),
            Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Pass(_) | Stmt::Global(_) => reached,
            _ => return None,
        })
    }

    fn assign(&mut self, target: &'a Expr, value: &'a Expr) -> Option<()> {
        match target {
            Expr::Name(name) if name.id == self.parameter => return None,
            Expr::Name(name) => {
                let names = self.looked_up(value);
                let names = names.filter(|_| !self.found.contains_key(name.id.as_str()));
                self.found.insert(&name.id, names);
            }
            Expr::Tuple(it) => it.elts.iter().try_for_each(|it| self.assign(it, target))?,
            _ => {}
        }
        Some(())
    }

    /// With which names a condition holds, and with which it does not; both may have more.
    fn test(&self, test: &'a Expr, reached: &Reached<'a>) -> (Reached<'a>, Reached<'a>) {
        let swap = |(yes, no)| (no, yes);
        match test {
            Expr::UnaryOp(it) if it.op.is_not() => swap(self.test(&it.operand, reached)),
            Expr::BoolOp(it) if it.op.is_and() => {
                let mut yes = reached.clone();
                for value in &it.values {
                    yes = self.test(value, &yes).0;
                }
                (yes, reached.clone())
            }
            Expr::BoolOp(it) => {
                let (mut yes, mut no) = (Reached::NEVER, reached.clone());
                for value in &it.values {
                    let (holds, fails) = self.test(value, &no);
                    (yes, no) = (yes.or(holds), fails);
                }
                (yes, no)
            }
            Expr::Compare(it) => self.comparison(it, reached),
            Expr::Name(name) => match self.found.get(name.id.as_str()) {
                Some(Some(names)) => (reached.and(names), reached.clone()),
                _ => (reached.clone(), reached.clone()),
            },
            _ => (reached.clone(), reached.clone()),
        }
    }

    fn comparison(
        &self,
        compare: &'a ExprCompare,
        reached: &Reached<'a>,
    ) -> (Reached<'a>, Reached<'a>) {
        let all = || reached.clone();
        let ([op], [right]) = (&*compare.ops, &*compare.comparators) else {
            return (all(), all());
        };
        let names = match (&*compare.left, op) {
            (left, CmpOp::In | CmpOp::NotIn) if self.is_parameter(left) => self.members(right),
            (left, CmpOp::Eq | CmpOp::NotEq) if self.is_parameter(left) => {
                let literal = right.as_string_literal_expr();
                literal.map(|it| Names::from([it.value.to_str()]))
            }
            (Expr::Name(name), CmpOp::Is | CmpOp::IsNot) if right.is_none_literal_expr() => {
                self.found.get(name.id.as_str()).cloned().flatten()
            }
            _ => None,
        };
        let Some(names) = names else {
            return (all(), all());
        };
        match op {
            CmpOp::In | CmpOp::Eq | CmpOp::IsNot => (reached.and(&names), all()),
            _ => (all(), reached.and(&names)),
        }
    }

    /// With which names an expression has a value: `D[name]` has one only with the keys of `D`.
    fn evaluated(&self, expression: &'a Expr, reached: Reached<'a>) -> Reached<'a> {
        match expression {
            Expr::Subscript(it) => match self.members(&it.value) {
                Some(names) if self.is_parameter(&it.slice) => reached.and(&names),
                _ => self.evaluated(&it.slice, self.evaluated(&it.value, reached)),
            },
            Expr::Attribute(it) => self.evaluated(&it.value, reached),
            Expr::Call(it) => {
                let function = self.evaluated(&it.func, reached);
                let arguments = it.arguments.args.iter();
                arguments.fold(function, |reached, it| self.evaluated(it, reached))
            }
            Expr::Tuple(it) => it
                .elts
                .iter()
                .fold(reached, |reached, it| self.evaluated(it, reached)),
            _ => reached,
        }
    }

    /// The names for which `D.get(name)` is something.
    fn looked_up(&self, value: &'a Expr) -> Option<Names<'a>> {
        let call = value.as_call_expr()?;
        let method = call
            .func
            .as_attribute_expr()
            .filter(|it| &it.attr == "get")?;
        let is_none = |it: &Expr| it.is_none_literal_expr();
        let is_plain = match &*call.arguments.args {
            [key] => self.is_parameter(key),
            [key, default] => self.is_parameter(key) && is_none(default),
            _ => false,
        };
        self.members(&method.value).filter(|_| is_plain)
    }

    fn is_parameter(&self, expression: &Expr) -> bool {
        matches!(expression, Expr::Name(name) if name.id == self.parameter)
    }

    /// `globals()[name]`: the module has the name anyway.
    fn is_own_name(&self, expression: &Expr) -> bool {
        let Expr::Subscript(it) = expression else {
            return false;
        };
        is_globals(&it.value) && self.is_parameter(&it.slice)
    }

    /// The members of a list or the like, or the keys of a dictionary.
    fn members(&self, expression: &'a Expr) -> Option<Names<'a>> {
        match expression {
            Expr::List(it) => texts(&it.elts),
            Expr::Tuple(it) => texts(&it.elts),
            Expr::Set(it) => texts(&it.elts),
            Expr::Dict(it) => it.items.iter().try_fold(Names::new(), |mut names, item| {
                names.insert(item.key.as_ref()?.as_string_literal_expr()?.value.to_str());
                Some(names)
            }),
            Expr::BinOp(it) => Some(&self.members(&it.left)? | &self.members(&it.right)?),
            Expr::Call(it) => match (&*it.func, &*it.arguments.args) {
                _ if is_globals(expression) => Some(Names::new()),
                (Expr::Name(name), [of]) if is_collection(&name.id) => self.members(of),
                (Expr::Attribute(method), []) if &method.attr == "keys" => {
                    self.members(&method.value)
                }
                _ => None,
            },
            Expr::Name(name) => self.members((self.constants)(&name.id)?),
            _ => None,
        }
    }
}

fn is_globals(expression: &Expr) -> bool {
    let call = expression.as_call_expr();
    let function = call.and_then(|it| it.func.as_name_expr());
    function.is_some_and(|it| it.id == "globals")
}

fn is_collection(name: &str) -> bool {
    ["dict", "frozenset", "list", "set", "tuple"].contains(&name)
}
