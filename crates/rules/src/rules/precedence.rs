//! Which rule reports a fault that several rules see: the one that knows its cause.
//!
//! A finding accounts for the element that its rule failed on and for the facts of `cause_of`. The rules that `suppresses` names
//! report nothing that accounts for one of these, so that one fault gives one finding. A finding suppresses none that is more
//! severe: a warning hides no error.

use super::functions::glob;
use super::rule::Rule;
use super::value::Boxed;
use imgcheck_model::finding::Severity;

/// What the findings so far account for.
#[derive(Default)]
pub struct AccountedFor<'r, 'v> {
    by: Vec<(&'r Rule, Severity, Vec<Boxed<'v>>)>,
}

impl<'r, 'v> AccountedFor<'r, 'v> {
    /// Adds what a finding accounts for.
    pub fn add(&mut self, rule: &'r Rule, severity: Severity, values: Vec<Boxed<'v>>) {
        if !values.is_empty() {
            self.by.push((rule, severity, values));
        }
    }

    /// Whether an earlier finding suppresses one that accounts for some values.
    pub fn suppress(&self, rule: &Rule, severity: Severity, values: &[Boxed<'v>]) -> bool {
        self.by.iter().any(|(other, found, accounted)| {
            *found >= severity
                && suppresses(other, rule)
                && values.iter().any(|value| accounted.contains(value))
        })
    }
}

fn suppresses(rule: &Rule, other: &Rule) -> bool {
    let mut patterns = rule.suppresses.iter();
    rule.id != other.id && patterns.any(|pattern| glob(&other.id, pattern))
}

/// The positions of rules in an order in which each comes after all that suppress it. Of two that suppress each other, the first stays
/// first.
pub fn order(rules: &[Rule]) -> Vec<usize> {
    fn visit(
        index: usize,
        rules: &[Rule],
        suppressing: &[usize],
        visited: &mut [bool],
        order: &mut Vec<usize>,
    ) {
        if std::mem::replace(&mut visited[index], true) {
            return;
        }
        for other in suppressing {
            let (this, it) = (&rules[index], &rules[*other]);
            if suppresses(it, this) && !suppresses(this, it) {
                visit(*other, rules, suppressing, visited, order);
            }
        }
        order.push(index);
    }
    let all = 0..rules.len();
    let suppressing: Vec<usize> = all.filter(|at| !rules[*at].suppresses.is_empty()).collect();
    let mut visited = vec![false; rules.len()];
    let mut order = Vec::with_capacity(rules.len());
    for index in 0..rules.len() {
        visit(index, rules, &suppressing, &mut visited, &mut order);
    }
    order
}
