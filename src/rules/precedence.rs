//! Which rule speaks where several see the same fault: the one that knows most of it.
//!
//! A rule accounts for the element that it fails on, and for what its `explains` lists. A rule whose `yields` names that rule is
//! silent where it would account for one of the same things, so that one fault gives one finding. It never yields to a milder
//! finding: a warning hides no error.

use cel::Value;

use super::file::Rule;
use super::functions::glob;
use crate::finding::Severity;

/// What findings account for.
#[derive(Default)]
pub struct Explained<'r> {
    by: Vec<(&'r Rule, Severity, Vec<Value>)>,
}

impl<'r> Explained<'r> {
    /// Adds what a finding accounts for.
    pub fn add(&mut self, rule: &'r Rule, severity: Severity, values: Vec<Value>) {
        if !values.is_empty() {
            self.by.push((rule, severity, values));
        }
    }

    /// Whether a rule is to be silent where it would account for some values.
    pub fn covers(&self, rule: &Rule, severity: Severity, accounts: &[Value]) -> bool {
        self.by.iter().any(|(other, found, values)| {
            *found >= severity
                && yields(rule, other)
                && accounts.iter().any(|value| values.contains(value))
        })
    }
}

fn yields(rule: &Rule, to: &Rule) -> bool {
    rule.id != to.id && rule.yields.iter().any(|pattern| glob(&to.id, pattern))
}

/// The rules in an order in which each comes after all that it yields to. Of two that yield to each other, the first stays first.
pub fn order(rules: Vec<&Rule>) -> Vec<&Rule> {
    fn visit<'r>(
        index: usize,
        rules: &[&'r Rule],
        visited: &mut [bool],
        order: &mut Vec<&'r Rule>,
    ) {
        if std::mem::replace(&mut visited[index], true) {
            return;
        }
        for (other, to) in rules.iter().enumerate() {
            if yields(rules[index], to) {
                visit(other, rules, visited, order);
            }
        }
        order.push(rules[index]);
    }
    let mut visited = vec![false; rules.len()];
    let mut order = Vec::with_capacity(rules.len());
    for index in 0..rules.len() {
        visit(index, &rules, &mut visited, &mut order);
    }
    order
}
