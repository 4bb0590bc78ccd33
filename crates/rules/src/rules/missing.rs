//! The facts that rules lack, so that they do not apply.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::deadline::Deadline;
use super::evaluate::Surroundings;
use super::expression::Expression;
use super::facts::Facts;
use super::functions;
use super::rule::Rule;
use super::scope::Scope;
use super::variables::{Variables, bind};
use imgcheck_base::error::Result;
use imgcheck_base::limits::Limit;

/// The ids of the rules that do not apply because a fact is missing, by the name of the fact. A rule with `each` counts only if its list
/// is missing.
///
/// # Errors
///
/// Same as [`evaluate`](super::evaluate::evaluate).
pub fn missing_facts<'r>(
    rules: impl Iterator<Item = &'r Rule>,
    facts: &Facts,
    surroundings: &Surroundings<'_>,
) -> Result<BTreeMap<String, Vec<String>>> {
    let variables = Variables::new(facts, surroundings.tables);
    let deadline = Arc::new(Deadline::new(&surroundings.bounds.cancellation));
    let mut context = functions::context(&deadline);
    context.set_variable_resolver(&variables);
    bind(&mut context, facts)?;
    let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for rule in rules {
        deadline.start(surroundings.bounds.limits.duration(Limit::RuleTime));
        let mut scope = Scope::new(context.new_inner_scope(), rule.bindings.iter().collect());
        if let Some(fact) = of_rule(rule, &mut scope)? {
            missing.entry(fact).or_default().push(rule.id.clone());
        }
        surroundings.bounds.cancellation.check()?;
    }
    Ok(missing)
}

fn of_rule<'r>(rule: &'r Rule, scope: &mut Scope<'_, '_, 'r>) -> Result<Option<String>> {
    if let Some(each) = &rule.each {
        return of_expression(rule, each, scope);
    }
    if let Some(when) = &rule.when {
        if let Some(fact) = of_expression(rule, when, scope)? {
            return Ok(Some(fact));
        }
        if scope.holds(when)? != Ok(true) {
            return Ok(None);
        }
    }
    of_expression(rule, &rule.fail, scope)
}

/// The fact itself, where a binding of the rule lacks one.
fn of_expression<'r>(
    rule: &'r Rule,
    expression: &'r Expression,
    scope: &mut Scope<'_, '_, 'r>,
) -> Result<Option<String>> {
    let mut expression = expression;
    // A binding mentions only bindings before it.
    for _ in 0..=rule.bindings.len() {
        let Some(name) = scope.missing(expression)? else {
            return Ok(None);
        };
        match rule.bindings.iter().find(|binding| binding.name == name) {
            Some(binding) => expression = &binding.value,
            None => return Ok(Some(name)),
        }
    }
    Ok(None)
}
