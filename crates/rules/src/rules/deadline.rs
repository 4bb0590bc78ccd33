//! The time limit of a rule, and the cancellation of the request. Expressions ask for them before they walk a list, by itself or
//! with `in`; no other single operation takes long, except `distinct()`, which compares all elements of a list.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, ListExpr, operators};
use imgcheck_base::cancellation::Cancellation;

/// The function that a guarded expression calls. No rule can name it.
pub const FUNCTION: &str = "@inTime";

/// The time of the rule that is being evaluated.
#[derive(Debug, Default)]
pub struct Deadline {
    state: Mutex<Option<State>>,
    cancellation: Cancellation,
}

#[derive(Debug, Clone, Copy)]
struct State {
    end: Instant,
    passed: bool,
}

impl Deadline {
    /// A deadline that also passes when the request is cancelled.
    pub fn new(cancellation: &Cancellation) -> Self {
        Deadline {
            state: Mutex::default(),
            cancellation: cancellation.clone(),
        }
    }

    /// Starts the time of the next rule.
    pub fn start(&self, limit: Duration) {
        let end = Instant::now() + limit;
        *self.state() = Some(State { end, passed: false });
    }

    /// Whether there is time left. Once it is over it stays over.
    pub fn is_in_time(&self) -> bool {
        let mut state = self.state();
        state.as_mut().is_none_or(|state| {
            state.passed |= Instant::now() >= state.end || self.cancellation.check().is_err();
            !state.passed
        })
    }

    /// Whether an expression was cut short: its value means nothing then.
    pub fn has_passed(&self) -> bool {
        self.state().is_some_and(|state| state.passed)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes all lists that an expression walks empty once the time is over: `list` becomes `@inTime() ? list : []`.
pub fn guard(tree: &mut IdedExpr) {
    match &mut tree.expr {
        Expr::Call(call) => {
            let parts = call.target.as_deref_mut().into_iter();
            parts.chain(&mut call.args).for_each(guard);
            if call.func_name == operators::IN
                && let Some(list) = call.args.last_mut()
            {
                *list = while_in_time(std::mem::take(list));
            }
        }
        Expr::Comprehension(walk) => {
            [
                &mut walk.iter_range,
                &mut walk.accu_init,
                &mut walk.loop_cond,
                &mut walk.loop_step,
                &mut walk.result,
            ]
            .into_iter()
            .for_each(guard);
            let list = std::mem::take(&mut walk.iter_range);
            walk.iter_range = while_in_time(list);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(guard),
        Expr::Map(map) => map.entries.iter_mut().for_each(|it| entry(&mut it.expr)),
        Expr::Struct(fields) => fields.entries.iter_mut().for_each(|it| entry(&mut it.expr)),
        Expr::Select(select) => guard(&mut select.operand),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
    }
}

fn entry(entry: &mut EntryExpr) {
    match entry {
        EntryExpr::StructField(field) => guard(&mut field.value),
        EntryExpr::MapEntry(entry) => {
            guard(&mut entry.key);
            guard(&mut entry.value);
        }
    }
}

fn while_in_time(list: IdedExpr) -> IdedExpr {
    let id = list.id;
    let call = |func_name: &str, args| {
        let func_name = func_name.to_owned();
        let target = None;
        let expr = Expr::Call(CallExpr {
            func_name,
            target,
            args,
        });
        IdedExpr { id, expr }
    };
    let empty = IdedExpr {
        id,
        expr: Expr::List(ListExpr::default()),
    };
    call(
        operators::CONDITIONAL,
        vec![call(FUNCTION, Vec::new()), list, empty],
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use cel::Value;
    use cel::parser::PrattParser;

    use super::*;
    use crate::rules::functions::context;

    fn evaluate(expression: &str, limit: Duration) -> (Value, bool) {
        let mut tree = PrattParser::new().parse(expression).unwrap();
        guard(&mut tree);
        let deadline = Arc::new(Deadline::default());
        deadline.start(limit);
        let value = Value::resolve(&tree, &context(&deadline)).unwrap();
        (value, deadline.has_passed())
    }

    #[test]
    fn lists_are_walked_while_there_is_time() {
        let expression = "[1, 2].map(a, [a].filter(b, b > 1)).map(c, size(c)) == [0, 1]";
        let hour = Duration::from_secs(3600);
        assert_eq!(evaluate(expression, hour), (Value::Bool(true), false));
        assert_eq!(
            evaluate(expression, Duration::ZERO),
            (Value::Bool(false), true)
        );
    }

    #[test]
    fn quantifiers_in_quantifiers_end() {
        let list = format!("[{}]", vec!["1"; 100].join(","));
        let all = |inner: &str| format!("{list}.all(x, {inner})");
        let nested = (0..8).fold("true".to_owned(), |inner, _| all(&inner));
        let (_, passed) = evaluate(&nested, Duration::from_millis(50));
        assert!(passed);
    }
}
