//! Evaluates rules on facts.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use cel::objects::Key;
use cel::{Context, Value};
use xxhash_rust::xxh3::xxh3_128;

use super::deadline::Deadline;
use super::expression::{Expression, Missing};
use super::facts::Facts;
use super::file::{Level, Named, Rule};
use super::precedence::{self, Explained};
use super::{functions, knowledge, loader, pages};
use crate::claims::Claim;
use crate::error::{Error, Result};
use crate::finding::{Finding, Location};
use crate::limits::{Limit, Limits};

/// All findings of some rules, the worst first, then by rule, in the order of the claims.
///
/// # Errors
///
/// An expression does what it cannot do, or a rule passes a limit; missing facts are no error.
pub fn evaluate<'r>(
    rules: impl Iterator<Item = &'r Rule>,
    facts: &Facts,
    limits: &Limits,
) -> Result<Vec<Finding>> {
    let on_demand = OnDemand::new(facts);
    let deadline: Arc<Deadline> = Arc::default();
    let mut context = functions::context(&deadline);
    context.set_variable_resolver(&on_demand);
    bind(&mut context, facts)?;
    let mut findings = Vec::new();
    let mut explained = Explained::default();
    for rule in precedence::order(rules.collect()) {
        let evaluation = Evaluation {
            rule,
            facts,
            limits,
            deadline: &deadline,
        };
        evaluation.run_in_time(&context, &mut explained, &mut findings)?;
    }
    findings.sort_by(|a: &Finding, b: &Finding| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| a.rule.cmp(&b.rule))
    });
    distinguish(&mut findings);
    Ok(findings)
}

/// Evaluates every expression of a rule on a sample, whatever the others give: finds what the shapes of values do not
/// tell, such as `"1" < 2` or a regular expression that is none.
///
/// # Errors
///
/// An expression cannot be evaluated.
pub fn dry_run(rule: &Rule) -> Result<()> {
    let facts = Facts::sample();
    let on_demand = OnDemand::new(&facts);
    let deadline: Arc<Deadline> = Arc::default();
    let mut context = functions::context(&deadline);
    deadline.start(Limits::default().duration(Limit::RuleTime));
    context.set_variable_resolver(&on_demand);
    bind(&mut context, &facts)?;
    let item = match &rule.each {
        None => Value::Null,
        Some(each) => match each.evaluate(&context)? {
            Ok(Value::List(items)) if !items.is_empty() => items[0].clone(),
            _ => return Ok(()),
        },
    };
    context.add_variable_from_value("it", item);
    for condition in rule.when.iter().chain([&rule.fail]) {
        let _ = condition.holds(&context)?;
    }
    for expression in [&rule.once, &rule.explains, &rule.at].into_iter().flatten() {
        let _ = expression.evaluate(&context)?;
    }
    level(&rule.severity, &context)?;
    level(&rule.confidence, &context)?;
    rule.message.render(&context)?;
    rule.help
        .as_ref()
        .map_or(Ok(String::new()), |help| help.render(&context))?;
    match deadline.has_passed() {
        true => Err(rule.fail.fault(0..rule.fail.text().len(), TOO_SLOW, None)),
        false => Ok(()),
    }
}

/// What is said of a rule that needs long for some dozen facts.
const TOO_SLOW: &str = "the rule takes too long on a small image";

/// Facts that are many and seldom asked for, made when an expression first names them.
struct OnDemand<'f> {
    facts: &'f Facts,
    mapped: OnceLock<Option<Box<dyn Val>>>,
}

impl<'f> OnDemand<'f> {
    fn new(facts: &'f Facts) -> Self {
        OnDemand {
            facts,
            mapped: OnceLock::new(),
        }
    }

    fn mapped(&self) -> Option<Box<dyn Val>> {
        let mapped = loader::mapped(self.facts.loader.as_ref()?);
        cel::to_value(mapped).ok()?.try_into().ok()
    }
}

impl VariableResolver for OnDemand<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        if variable != "loader.mapped" {
            return knowledge::builtin().resolve(variable);
        }
        let mapped = self.mapped.get_or_init(|| self.mapped());
        mapped.as_deref().map(CowVal::Borrowed)
    }
}

/// Makes the roots of the facts variables; a root that is absent is none.
fn bind(context: &mut Context<'_, '_>, facts: &Facts) -> Result<()> {
    let inner = |error: cel::SerializationError| Error::Rule {
        problem: format!("the facts cannot be given to the rules: {error}"),
    };
    let Value::Map(roots) = cel::to_value(facts).map_err(inner)? else {
        return Ok(());
    };
    for (name, value) in roots.map.iter() {
        context.add_variable_from_value(name.to_string(), value.clone());
    }
    Ok(())
}

struct Evaluation<'a> {
    rule: &'a Rule,
    facts: &'a Facts,
    limits: &'a Limits,
    deadline: &'a Deadline,
}

impl<'a> Evaluation<'a> {
    fn run(
        &self,
        context: &Context<'_, '_>,
        explained: &mut Explained<'a>,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        let Some(each) = &self.rule.each else {
            if self.fails(context)? {
                let finding = self.finding(context, None, None)?;
                explained.add(
                    self.rule,
                    finding.severity,
                    self.accounts_for(context, None)?,
                );
                findings.push(finding);
            }
            return Ok(());
        };
        let Ok(Value::List(items)) = each.evaluate(context)? else {
            return Ok(());
        };
        self.limits
            .check(Limit::RuleItems, items.len() as u64)
            .map_err(|passed| Error::limit(self.subject(), passed))?;
        let mut seen = HashSet::new();
        for (done, item) in items.iter().enumerate() {
            if !self.deadline.is_in_time() {
                let (done, all) = (done, items.len());
                return Err(self.too_slow(&format!(" has looked at {done} of {all} elements")));
            }
            let mut inner = context.new_inner_scope();
            inner.add_variable_from_value("it", item.clone());
            if !self.fails(&inner)? {
                continue;
            }
            let severity = level(&self.rule.severity, &inner)?;
            let accounts = self.accounts_for(&inner, Some(item))?;
            if explained.covers(self.rule, severity, &accounts) {
                continue;
            }
            explained.add(self.rule, severity, accounts);
            let key = self.key(&inner)?;
            if key.is_none() || seen.insert(key.clone()) {
                findings.push(self.finding(&inner, Some(item), key.as_deref())?);
            }
        }
        Ok(())
    }

    /// The same within the time that a rule has.
    fn run_in_time(
        &self,
        context: &Context<'_, '_>,
        explained: &mut Explained<'a>,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        self.deadline.start(self.limits.duration(Limit::RuleTime));
        match self.run(context, explained, findings) {
            Err(error @ Error::Limit { .. }) => Err(error),
            // What came of lists that were cut off is worth nothing, an error neither.
            _ if !self.deadline.is_in_time() => Err(self.too_slow("")),
            outcome => outcome,
        }
    }

    fn subject(&self) -> String {
        format!("rule {} ({})", self.rule.id, self.rule.source.name)
    }

    /// `so_far` tells what was done in the time.
    fn too_slow(&self, so_far: &str) -> Error {
        let allowed = self.limits.of(Limit::RuleTime);
        let passed = self.limits.passed(Limit::RuleTime, allowed + 1);
        Error::limit(format!("{}{so_far}", self.subject()), passed)
    }

    /// Whether the rule applies and fails.
    fn fails(&self, context: &Context<'_, '_>) -> Result<bool> {
        for condition in self.rule.when.iter().chain([&self.rule.fail]) {
            if condition.holds(context)? != Ok(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What tells apart the findings of a rule that speaks once about several elements.
    fn key(&self, context: &Context<'_, '_>) -> Result<Option<String>> {
        let once = self.rule.once.as_ref().map(|once| once.evaluate(context));
        Ok(match once.transpose()? {
            Some(Ok(Value::String(key))) => Some(key.to_string()),
            _ => None,
        })
    }

    /// The element itself, and what the rule says that it explains.
    fn accounts_for(&self, context: &Context<'_, '_>, item: Option<&Value>) -> Result<Vec<Value>> {
        let mut values: Vec<Value> = item.cloned().into_iter().collect();
        let explains = self
            .rule
            .explains
            .as_ref()
            .map(|list| list.evaluate(context));
        if let Some(Ok(Value::List(list))) = explains.transpose()? {
            values.extend(list.iter().cloned());
        }
        Ok(values)
    }

    fn finding(
        &self,
        context: &Context<'_, '_>,
        item: Option<&Value>,
        key: Option<&str>,
    ) -> Result<Finding> {
        let rule = self.rule;
        let path = self.path(context)?;
        let part = path.as_deref().and_then(|path| self.facts.part_at(path));
        let location = item.and_then(location);
        Ok(Finding {
            rule: rule.id.clone(),
            severity: level(&rule.severity, context)?,
            confidence: level(&rule.confidence, context)?,
            message: rule.message.render(context)?,
            claim: item.and_then(claim),
            help: rule
                .help
                .as_ref()
                .map(|help| help.render(context))
                .transpose()?,
            layer: path.as_deref().and_then(|path| self.facts.layer_of(path)),
            evidence: part.map(|part| part.evidence.clone()).unwrap_or_default(),
            fingerprint: self.fingerprint(path.as_deref(), location.as_ref(), item, key),
            location,
            path,
            docs: pages::url(rule),
        })
    }

    fn path(&self, context: &Context<'_, '_>) -> Result<Option<String>> {
        let Some(at) = &self.rule.at else {
            return Ok(None);
        };
        Ok(match at.evaluate(context)? {
            Ok(Value::String(path)) if !path.is_empty() => Some(path.to_string()),
            _ => None,
        })
    }

    /// Names the fault, not the image that has it: the same for every tag and every rebuild, and wherever in a file it
    /// stands.
    fn fingerprint(
        &self,
        path: Option<&str>,
        location: Option<&Location>,
        item: Option<&Value>,
        key: Option<&str>,
    ) -> String {
        let image = &self.facts.image;
        let subject = key.map(str::to_owned).or_else(|| subject(item?));
        let subject = subject.unwrap_or_default();
        let mut parts = vec![
            self.rule.id.as_str(),
            &image.registry,
            &image.repository,
            path.unwrap_or_default(),
            &subject,
        ];
        parts.extend(location.map(|location| location.file.trim_start_matches("./")));
        format!("{:032x}", xxh3_128(parts.join("\0").as_bytes()))
    }
}

/// What an element of `each` is about: the element itself if it is text, else its `subject`, `name` or `claim`.
fn subject(item: &Value) -> Option<String> {
    match item {
        Value::String(text) => Some(text.to_string()),
        Value::Map(map) => ["subject", "name", "claim"]
            .into_iter()
            .find_map(|key| subject(map.map.get(&Key::from(key))?)),
        _ => None,
    }
}

/// The claim that a rule looks at: the element of `each` itself, or its `claim`, or the first of its `claims`.
fn claim(item: &Value) -> Option<Claim> {
    let Value::Map(fields) = item else {
        return None;
    };
    if let Some(inner) = fields.map.get(&Key::from("claim")) {
        return claim(inner);
    }
    if let Some(Value::List(several)) = fields.map.get(&Key::from("claims")) {
        return claim(several.first()?);
    }
    let text = |name: &str| match fields.map.get(&Key::from(name))? {
        Value::String(text) => Some(text.to_string()),
        _ => None,
    };
    Some(Claim {
        subject: text("subject")?,
        version: text("version")?,
        origin: text("origin")?,
        text: text("text")?,
    })
}

/// Where a rule looks in a file: the `location` of the element of `each`, or the element itself.
fn location(item: &Value) -> Option<Location> {
    let field = |value: &Value, name: &str| match value {
        Value::Map(fields) => fields.map.get(&Key::from(name)).cloned(),
        _ => None,
    };
    let place = field(item, "location").unwrap_or_else(|| item.clone());
    let text = |name: &str| match field(&place, name)? {
        Value::String(text) => Some(text.to_string()),
        _ => None,
    };
    let number = |name: &str| match field(&place, name)? {
        Value::Int(number) => usize::try_from(number).ok(),
        Value::UInt(number) => usize::try_from(number).ok(),
        _ => None,
    };
    let location = Location {
        file: text("file")?,
        line: number("line")?,
        column: number("column")?,
        end_column: number("end_column")?,
        text: text("text")?,
    };
    // Facts of a test need no place.
    (location.line > 0).then_some(location)
}

/// Numbers findings that would have the same fingerprint, in their order.
fn distinguish(findings: &mut [Finding]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for finding in findings {
        let count = seen.entry(finding.fingerprint.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            finding.fingerprint = format!("{}-{count}", finding.fingerprint);
        }
    }
}

/// A level, where an expression decides it: the name that it gives, or the mildest if facts for it are missing.
fn level<T: Named>(level: &Level<T>, context: &Context<'_, '_>) -> Result<T> {
    let expression: &Expression = match level {
        Level::Fixed(level) => return Ok(*level),
        Level::Decided(expression) => expression,
    };
    let named = match expression.evaluate(context)? {
        Ok(Value::String(name)) => T::named(&name),
        Ok(_) => None,
        Err(Missing) => T::ALL.last().map(|(_, level)| *level),
    };
    named.ok_or_else(|| {
        let names: Vec<&str> = T::ALL.iter().map(|(name, _)| *name).collect();
        let problem = format!("this must give one of {}", names.join(", "));
        expression.fault(0..expression.text().len(), &problem, None)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_rule_that_takes_too_long_is_an_error_that_names_it() {
        let text = "id: team-slow\ntitle: t\nseverity: note\nsince: \"1\"\neach: '[1, 2, 3]'\nfail: 'true'\nmessage: m\nwhy: w\n";
        let rule = Rule::read("team/slow.yaml", text).unwrap();
        let run = |limits: Limits| evaluate([&rule].into_iter(), &Facts::default(), &limits);
        let mut limits = Limits::default();
        assert_eq!(run(limits).unwrap().len(), 3);
        limits.set(Limit::RuleTime, 0);
        let error = run(limits).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        let error = error.to_string();
        for words in [
            "rule team-slow (team/slow.yaml)",
            "0 of 3 elements",
            "the limit rule-time",
            "help:",
        ] {
            assert!(error.contains(words), "no {words:?} in: {error}");
        }
        limits.set(Limit::RuleTime, 10);
        limits.set(Limit::RuleItems, 2);
        let error = run(limits).unwrap_err().to_string();
        assert!(
            error.contains("rule-items") && error.contains("this has 3 or more"),
            "{error}"
        );
    }
}
