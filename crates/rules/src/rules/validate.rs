//! Checks a rule when it is loaded: the types of all expressions, and whether they can be evaluated on a sample.

use std::sync::Arc;

use super::check::{self, Names};
use super::deadline::Deadline;
use super::expression::Expression;
use super::facts::Facts;
use super::functions;
use super::rule::Rule;
use super::scope::{Binding, ELEMENT, Scope};
use super::shape::Shape;
use super::tables::Tables;
use super::value::{elements, null, shared};
use super::variables::{Variables, bind};
use imgcheck_base::error::Result;
use imgcheck_base::limits::{Limit, Limits};

/// The error of a rule that takes too long on the sample.
const TOO_SLOW: &str = "the rule takes too long on a small image";

/// Checks every expression of a rule: syntax, names, fields, functions, the type of its value, and that it can be evaluated on a
/// sample. The tests of the rule must be readable.
///
/// # Errors
///
/// The first fault, with its location.
pub fn validate(rule: &Rule, tables: &Tables) -> Result<()> {
    rule.tests()?;
    let facts = Shape::of_type::<Facts>();
    let Shape::Record(variables) = facts.clone() else {
        return Ok(());
    };
    let mut names = Names { variables, tables };
    for name in rule.bindings.iter().chain(&rule.element_bindings) {
        if names.variables.contains_key(&name.name) {
            let problem = format!("`{}` is a fact: use another name", name.name);
            return Err(name.value.fault(0..1, &problem, None));
        }
    }
    add(&mut names, &rule.bindings)?;
    if let Some(each) = &rule.each {
        let list = check::expect(each, &names, &[Shape::list(Shape::Any)])?;
        let element = match list {
            Shape::List(element) => *element,
            _ => Shape::Any,
        };
        names.variables.insert(ELEMENT.to_owned(), element);
    }
    add(&mut names, &rule.element_bindings)?;
    check_types(rule, &names)?;
    let element = names.variables.get(ELEMENT).map(|shape| shape.sample(""));
    dry_run(rule, tables, &facts.sample(""), element)
}

fn add(names: &mut Names<'_>, bindings: &[Binding]) -> Result<()> {
    for binding in bindings {
        let shape = check::infer(&binding.value, names)?;
        names.variables.insert(binding.name.clone(), shape);
    }
    Ok(())
}

fn check_types(rule: &Rule, names: &Names<'_>) -> Result<()> {
    let expect = |expressions: &mut dyn Iterator<Item = &Expression>, shapes: &[Shape]| {
        for expression in expressions {
            check::expect(expression, names, shapes)?;
        }
        Ok(())
    };
    let texts = || {
        rule.message
            .iter()
            .chain(rule.help.iter().flat_map(|help| help.iter()))
    };
    let conditions = rule.when.iter().chain([&rule.fail]);
    let mut conditions = conditions.chain(texts().filter_map(|case| case.when.as_ref()));
    expect(&mut conditions, &[Shape::Bool])?;
    expect(&mut rule.deduplicate_by.iter(), &[Shape::Text])?;
    expect(&mut rule.cause_of.iter(), &[Shape::list(Shape::Any)])?;
    expect(&mut rule.at.iter(), &[Shape::Text, Shape::Null])?;
    let levels = [rule.severity.expression(), rule.confidence.expression()];
    expect(&mut levels.into_iter().flatten(), &[Shape::Text])?;
    let mut expressions = texts().flat_map(|case| case.text.expressions());
    expressions.try_for_each(|expression| check::infer(expression, names).map(drop))
}

/// Evaluates every expression on a sample, whatever the others give. This finds faults that types do not show, such as `"1" < 2` or
/// an invalid regular expression. `element` stands for `it` where the sample gives no element.
fn dry_run(
    rule: &Rule,
    tables: &Tables,
    sample: &serde_json::Value,
    element: Option<serde_json::Value>,
) -> Result<()> {
    let facts = Facts::default();
    let variables = Variables::new(&facts, tables);
    let deadline: Arc<Deadline> = Arc::default();
    deadline.start(Limits::default().duration(Limit::RuleTime));
    let mut context = functions::context(&deadline);
    context.set_variable_resolver(&variables);
    bind(&mut context, sample)?;
    let mut scope = Scope::new(context, rule.bindings.iter().collect());
    let bindings: Vec<_> = rule.element_bindings.iter().collect();
    let first = match &rule.each {
        None => None,
        Some(each) => match scope.evaluate(each)? {
            Ok(items) => elements(items.as_ref()).and_then(|it| it.first().cloned()),
            Err(_) => None,
        },
    };
    let element = element.and_then(|element| shared(&element).ok());
    let mut scope = scope.of_element(first.or(element).unwrap_or_else(null), &bindings);
    for expression in rule.expressions() {
        let _ = scope.evaluate(expression)?;
    }
    for condition in rule.when.iter().chain([&rule.fail]) {
        let _ = scope.holds(condition)?;
    }
    rule.severity.evaluate(&mut scope)?;
    rule.confidence.evaluate(&mut scope)?;
    match deadline.has_passed() {
        true => Err(rule.fail.fault(0..rule.fail.text().len(), TOO_SLOW, None)),
        false => Ok(()),
    }
}
