//! Attributes of imported modules that the execution of a statement certainly needs.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::TextRange;

/// The first uses of each module that are noted.
const MOST_OF_MODULE: usize = 8;

/// A use: its place, the module, and the attribute.
pub(crate) type Found<'s> = (TextRange, &'s str, &'s str);

/// Finds uses, each once.
pub(crate) struct Uses<'m, 's> {
    /// Names of modules.
    modules: &'m BTreeMap<&'m str, &'m str>,
    seen: BTreeMap<&'s str, BTreeSet<&'s str>>,
}

impl<'m: 's, 's> Uses<'m, 's> {
    pub fn of(modules: &'m BTreeMap<&'m str, &'m str>) -> Self {
        Uses {
            modules,
            seen: BTreeMap::new(),
        }
    }

    /// The new uses of a statement of a module, without those in its blocks.
    pub fn of_statement(&mut self, statement: &'s Stmt) -> Vec<Found<'s>> {
        let mut found = Vec::new();
        if !self.modules.is_empty() {
            for expression in evaluated(statement) {
                self.evaluate(expression, &mut found);
            }
        }
        found
    }

    /// What the evaluation of an expression needs, whatever its values are.
    fn evaluate(&mut self, expression: &'s Expr, found: &mut Vec<Found<'s>>) {
        if let Expr::Attribute(attribute) = expression
            && let Expr::Name(name) = &*attribute.value
        {
            let module = self.modules.get(name.id.as_str());
            if let Some(module) = module.filter(|_| attribute.ctx.is_load()) {
                self.note(attribute.range, module, &attribute.attr, found);
            }
            return;
        }
        let mut all = |parts: &mut dyn Iterator<Item = &'s Expr>| {
            parts.for_each(|part| self.evaluate(part, found));
        };
        match expression {
            Expr::Attribute(it) => all(&mut std::iter::once(&*it.value)),
            Expr::Call(it) => {
                all(&mut std::iter::once(&*it.func));
                all(&mut it.arguments.args.iter());
                all(&mut it.arguments.keywords.iter().map(|it| &it.value));
            }
            Expr::Subscript(it) => all(&mut [&*it.value, &*it.slice].into_iter()),
            Expr::BinOp(it) => all(&mut [&*it.left, &*it.right].into_iter()),
            Expr::UnaryOp(it) => all(&mut std::iter::once(&*it.operand)),
            Expr::Compare(it) => all(&mut std::iter::once(&*it.left).chain(it.comparators.first())),
            Expr::BoolOp(it) => all(&mut it.values.iter().take(1)),
            Expr::If(it) => all(&mut std::iter::once(&*it.test)),
            Expr::Tuple(it) => all(&mut it.elts.iter()),
            Expr::List(it) => all(&mut it.elts.iter()),
            Expr::Set(it) => all(&mut it.elts.iter()),
            Expr::Dict(it) => all(&mut it.items.iter().map(|it| &it.value)),
            Expr::Starred(it) => all(&mut std::iter::once(&*it.value)),
            _ => {}
        }
    }

    fn note(&mut self, at: TextRange, module: &'s str, name: &'s str, found: &mut Vec<Found<'s>>) {
        // No file hides it.
        if module == "sys" {
            return;
        }
        let seen = self.seen.entry(module).or_default();
        if seen.len() < MOST_OF_MODULE && seen.insert(name) {
            found.push((TextRange::empty(at.start()), module, name));
        }
    }
}

/// The expressions that a statement evaluates before any of its blocks. Annotations may not be evaluated.
fn evaluated(statement: &Stmt) -> Vec<&Expr> {
    match statement {
        Stmt::Expr(it) => vec![&*it.value],
        Stmt::Assign(it) => vec![&*it.value],
        Stmt::AugAssign(it) => vec![&*it.value],
        Stmt::AnnAssign(it) => it.value.iter().map(|it| &**it).collect(),
        Stmt::If(it) => vec![&*it.test],
        Stmt::For(it) => vec![&*it.iter],
        Stmt::While(it) => vec![&*it.test],
        Stmt::With(it) => it.items.iter().take(1).map(|it| &it.context_expr).collect(),
        Stmt::FunctionDef(it) => {
            let decorators = it.decorator_list.iter().map(|it| &it.expression);
            let parameters = it.parameters.iter_non_variadic_params();
            decorators
                .chain(parameters.filter_map(|it| it.default.as_deref()))
                .collect()
        }
        Stmt::ClassDef(it) => {
            let decorators = it.decorator_list.iter().map(|it| &it.expression);
            let bases = it.arguments.iter().flat_map(|it| {
                let keywords = it.keywords.iter().map(|it| &it.value);
                it.args.iter().chain(keywords)
            });
            decorators.chain(bases).collect()
        }
        _ => Vec::new(),
    }
}
