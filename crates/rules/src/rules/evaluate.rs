//! Evaluates rules on facts.

use std::collections::{HashMap, HashSet};
use std::slice;
use std::sync::Arc;

use cel::common::value::Val;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::deadline::Deadline;
use super::element::Consequence;
use super::expression::{Expression, Missing};
use super::facts::Facts;
use super::precedence::AccountedFor;
use super::questions::Questions;
use super::rule::Rule;
use super::scope::{Constants, Scope};
use super::tables::Tables;
use super::value::{self, Boxed};
use super::variables::{Variables, bind};
use super::{element, functions};
use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limit;
use imgcheck_model::finding::{Finding, Location};
use imgcheck_model::targets::TargetFacts;

/// What rules are evaluated with, beside the facts.
pub struct Surroundings<'s> {
    /// The knowledge tables.
    pub tables: &'s Tables,
    /// The time and the number of elements that a rule may take, and what ends the evaluation early.
    pub bounds: &'s Bounds,
}

/// All findings of some rules, each of which comes after those that [suppress](super::precedence) it: the worst first, of these what fails
/// first, then by rule, in the order of the elements.
///
/// # Errors
///
/// An expression cannot be evaluated, a rule exceeds a limit, or the request was cancelled. A missing fact is not an error.
pub fn evaluate<'r>(
    rules: impl Iterator<Item = &'r Rule>,
    facts: &Facts,
    surroundings: &Surroundings<'_>,
) -> Result<Vec<Finding>> {
    let targets = slice::from_ref(&facts.targets);
    let findings = evaluate_on_each(rules, facts, targets, surroundings)?;
    Ok(findings.into_iter().flatten().collect())
}

/// Same as [`evaluate`], once for each of several lists of targets, which take the place of that in the facts.
///
/// # Errors
///
/// Same as [`evaluate`].
pub fn evaluate_on_each<'r>(
    rules: impl Iterator<Item = &'r Rule>,
    facts: &Facts,
    targets: &[Vec<TargetFacts>],
    surroundings: &Surroundings<'_>,
) -> Result<Vec<Vec<Finding>>> {
    let variables = Variables::new(facts, surroundings.tables);
    let deadline = Arc::new(Deadline::new(&surroundings.bounds.cancellation));
    let mut context = functions::context(&deadline);
    context.set_variable_resolver(&variables);
    bind(&mut context, facts)?;
    let rules: Vec<&Rule> = rules.collect();
    let constants: Vec<Constants> = rules.iter().map(|_| Constants::default()).collect();
    let on_targets = |targets: &[TargetFacts]| {
        let mut context = context.new_inner_scope();
        bind(&mut context, &OnTargets { targets })?;
        let questions = Questions::of(targets, &facts.policy);
        let mut findings = Vec::new();
        let mut accounted = AccountedFor::default();
        for (rule, constants) in rules.iter().zip(&constants) {
            let evaluation = Evaluation {
                rule,
                facts,
                bounds: surroundings.bounds,
                deadline: &deadline,
                is_asked: facts.image.scanned && questions.include(rule) == Some(true),
            };
            let scope = Scope::new(context.new_inner_scope(), rule.bindings.iter().collect());
            let scope = scope.sharing(constants);
            let outcome = evaluation.run_in_time(scope, &mut accounted, &mut findings);
            surroundings.bounds.cancellation.check()?;
            outcome?;
            variables.check()?;
        }
        Ok(ordered(findings))
    };
    targets.iter().map(|it| on_targets(it)).collect()
}

/// What takes the place of the targets in the facts.
#[derive(Serialize)]
struct OnTargets<'t> {
    targets: &'t [TargetFacts],
}

/// What fails first comes first.
fn ordered(mut findings: Vec<(Consequence, Finding)>) -> Vec<Finding> {
    findings.sort_by(|(a_when, a), (b_when, b)| {
        let order = b.severity.cmp(&a.severity).then(a_when.cmp(b_when));
        order.then_with(|| a.rule.cmp(&b.rule))
    });
    let mut findings: Vec<Finding> = findings.into_iter().map(|(_, finding)| finding).collect();
    distinguish(&mut findings);
    findings
}

struct Evaluation<'a> {
    rule: &'a Rule,
    facts: &'a Facts,
    bounds: &'a Bounds,
    deadline: &'a Deadline,
    /// The user asked what the rule answers, so that a missing fact is a finding.
    is_asked: bool,
}

impl<'a> Evaluation<'a> {
    /// Evaluates the rule within the time that it has.
    fn run_in_time<'v>(
        &self,
        scope: Scope<'_, 'v, 'a>,
        accounted: &mut AccountedFor<'a, 'v>,
        findings: &mut Vec<(Consequence, Finding)>,
    ) -> Result<()> {
        self.deadline
            .start(self.bounds.limits.duration(Limit::RuleTime));
        match self.run(scope, accounted, findings) {
            Err(error @ Error::Limit { .. }) => Err(error),
            // After the deadline lists appear empty, so results and errors mean nothing.
            _ if !self.deadline.is_in_time() => Err(self.too_slow("")),
            outcome => outcome,
        }
    }

    fn run<'v>(
        &self,
        mut scope: Scope<'_, 'v, 'a>,
        accounted: &mut AccountedFor<'a, 'v>,
        findings: &mut Vec<(Consequence, Finding)>,
    ) -> Result<()> {
        let Some(each) = &self.rule.each else {
            match self.fails(&mut scope)? {
                Ok(true) => {
                    let values = self.accounts_for(&mut scope, None)?;
                    let finding = self.finding(&mut scope, None, None)?;
                    let consequence = element::consequence(&values);
                    accounted.add(self.rule, finding.severity, values);
                    findings.push((consequence, finding));
                }
                Ok(false) => {}
                Err(Missing) => findings.extend(self.unanswered(&mut scope)?),
            }
            return Ok(());
        };
        let items = scope.evaluate(each)?.ok();
        let Some(items) = items.as_deref().and_then(value::elements) else {
            findings.extend(self.unanswered(&mut scope)?);
            return Ok(());
        };
        self.bounds
            .check(Limit::RuleItems, items.len() as u64, &self.subject())?;
        if !items.is_empty() {
            // What every element needs is evaluated once.
            for expression in self.conditions() {
                scope.bind(expression)?;
            }
        }
        let bindings: Vec<_> = self.rule.element_bindings.iter().collect();
        let mut seen = HashSet::new();
        let mut is_unanswered = false;
        for (done, item) in items.iter().enumerate() {
            if !self.deadline.is_in_time() {
                let all = items.len();
                return Err(self.too_slow(&format!(" after {done} of {all} elements")));
            }
            let mut inner = scope.of_element(item.clone(), &bindings);
            let outcome = self.fails(&mut inner)?;
            is_unanswered |= outcome == Err(Missing);
            if outcome != Ok(true) {
                continue;
            }
            let severity = self.rule.severity.evaluate(&mut inner)?;
            let values = self.accounts_for(&mut inner, Some(item))?;
            if accounted.suppress(self.rule, severity, &values) {
                continue;
            }
            let consequence = element::consequence(&values);
            accounted.add(self.rule, severity, values);
            let key = self.text(&mut inner, self.rule.deduplicate_by.as_ref())?;
            // Another place needs its own correction, and may have its own ignore.
            let place = element::location(item.as_ref()).map(|it| (it.file, it.line));
            if key.is_none() || seen.insert((key.clone(), place)) {
                let finding = self.finding(&mut inner, Some(item), key.as_deref())?;
                findings.push((consequence, finding));
            }
        }
        if is_unanswered {
            findings.extend(self.unanswered(&mut scope)?);
        }
        Ok(())
    }

    fn subject(&self) -> String {
        format!("rule {} ({})", self.rule.id, self.rule.source.name)
    }

    /// `progress` says what was done in the time.
    fn too_slow(&self, progress: &str) -> Error {
        let allowed = self.bounds.limits.of(Limit::RuleTime);
        let exceeded = self.bounds.limits.exceeded(Limit::RuleTime, allowed + 1);
        Error::limit(format!("{}{progress}", self.subject()), exceeded)
    }

    fn conditions(&self) -> impl Iterator<Item = &'a Expression> + use<'a> {
        self.rule.when.iter().chain([&self.rule.fail])
    }

    /// Whether the rule applies and fails; missing if a fact is that decides whether it fails.
    fn fails(&self, scope: &mut Scope<'_, '_, 'a>) -> Result<std::result::Result<bool, Missing>> {
        if let Some(when) = &self.rule.when
            && scope.holds(when)? != Ok(true)
        {
            return Ok(Ok(false));
        }
        scope.holds(&self.rule.fail)
    }

    /// The finding that a question of the user has no answer; `None` if it was not asked, since then a missing fact makes the rule not
    /// applicable.
    fn unanswered(&self, scope: &mut Scope<'_, '_, 'a>) -> Result<Option<(Consequence, Finding)>> {
        if !self.is_asked {
            return Ok(None);
        }
        let rule = self.rule;
        let finding = Finding {
            rule: rule.id.clone(),
            severity: rule.severity.worst(scope)?,
            confidence: rule.confidence.evaluate(scope)?,
            message: format!(
                "the answer is unknown, since a fact that the rule needs is missing: {}",
                rule.title
            ),
            claim: None,
            help: Some("list what is known with `imgcheck facts -f json`".to_owned()),
            layer: None,
            evidence: Vec::new(),
            fingerprint: self.fingerprint(None, None, None, Some("unknown")),
            location: None,
            path: None,
            docs: rule.url(),
        };
        Ok(Some((Consequence::Other, finding)))
    }

    /// The value of an optional expression, if it is text.
    fn text(
        &self,
        scope: &mut Scope<'_, '_, 'a>,
        expression: Option<&Expression>,
    ) -> Result<Option<String>> {
        let value = expression.map(|expression| scope.evaluate(expression));
        let value = value.transpose()?.and_then(|it| it.ok());
        Ok(value.and_then(|it| value::text(it.as_ref()).map(str::to_owned)))
    }

    /// The element itself and the facts of `cause_of`.
    fn accounts_for<'v>(
        &self,
        scope: &mut Scope<'_, 'v, 'a>,
        item: Option<&Boxed<'v>>,
    ) -> Result<Vec<Boxed<'v>>> {
        let mut values: Vec<_> = item.cloned().into_iter().collect();
        if let Some(list) = &self.rule.cause_of
            && let Ok(list) = scope.evaluate(list)?
        {
            values.extend_from_slice(value::elements(list.as_ref()).unwrap_or_default());
        }
        Ok(values)
    }

    fn finding(
        &self,
        scope: &mut Scope<'_, '_, 'a>,
        item: Option<&Boxed>,
        key: Option<&str>,
    ) -> Result<Finding> {
        let rule = self.rule;
        let path = self.text(scope, rule.at.as_ref())?;
        let path = path.filter(|path| !path.is_empty());
        let component = path
            .as_deref()
            .and_then(|path| self.facts.component_at(path));
        let item = item.map(AsRef::as_ref);
        let location = item.and_then(element::location);
        Ok(Finding {
            rule: rule.id.clone(),
            severity: rule.severity.evaluate(scope)?,
            confidence: rule.confidence.evaluate(scope)?,
            message: rule.message.render(scope)?,
            claim: item.and_then(element::claim),
            help: rule
                .help
                .as_ref()
                .map(|help| help.render(scope))
                .transpose()?,
            layer: path.as_deref().and_then(|path| self.facts.layer_of(path)),
            evidence: component
                .map(|component| component.evidence.clone())
                .unwrap_or_default(),
            fingerprint: self.fingerprint(path.as_deref(), location.as_ref(), item, key),
            location,
            path,
            docs: rule.url(),
        })
    }

    /// Identifies the fault, not the image: the same for every rebuild and every tag that claims the same, and wherever in a file it is.
    fn fingerprint(
        &self,
        path: Option<&str>,
        location: Option<&Location>,
        item: Option<&dyn Val>,
        key: Option<&str>,
    ) -> String {
        let typed = &self.facts.typed;
        let subject = key.map(str::to_owned).or_else(|| element::subject(item?));
        let subject = subject.unwrap_or_default();
        let mut parts = vec![
            self.rule.id.as_str(),
            &typed.registry,
            &typed.repository,
            path.unwrap_or_default(),
            &subject,
        ];
        parts.extend(location.map(|location| location.file.trim_start_matches("./")));
        format!("{:032x}", xxh3_128(parts.join("\0").as_bytes()))
    }
}

/// Numbers findings with the same fingerprint.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use imgcheck_base::limits::Limits;

    use super::*;

    #[test]
    fn a_slow_rule_is_an_error_with_its_id() {
        let text = "id: team-slow\ntitle: t\nseverity: note\nsince: \"1\"\neach: '[1, 2, 3]'\nfail: 'true'\nmessage: m\nwhy: w\n";
        let rule = Rule::read("team/slow.yaml", text).unwrap();
        let tables = Tables::default();
        let run = |limits: Limits| {
            let surroundings = Surroundings {
                tables: &tables,
                bounds: &limits.into(),
            };
            evaluate([&rule].into_iter(), &Facts::default(), &surroundings)
        };
        let mut limits = Limits::default();
        assert_eq!(run(limits).unwrap().len(), 3);
        limits.set(Limit::RuleTime, 0);
        let error = run(limits).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        let error = error.to_string();
        for words in [
            "rule team-slow (team/slow.yaml)",
            "after 0 of 3 elements",
            "the limit rule-time",
            "help:",
        ] {
            assert!(error.contains(words), "no {words:?} in: {error}");
        }
        limits.set(Limit::RuleTime, 10);
        limits.set(Limit::RuleItems, 2);
        let error = run(limits).unwrap_err().to_string();
        assert!(
            error.contains("rule-items") && error.contains("at least 3"),
            "{error}"
        );
    }

    #[test]
    fn a_cancelled_request_ends_a_slow_rule() {
        let list = format!("[{}]", vec!["1"; 200].join(","));
        let nested = (0..3).fold("true".to_owned(), |inner, _| {
            format!("{list}.all(x, {inner})")
        });
        let text = format!(
            "id: a\ntitle: t\nseverity: note\nsince: '1'\nfail: '{nested}'\nmessage: m\nwhy: w\n"
        );
        let rule = Rule::read("a.yaml", &text).unwrap();
        let bounds = Bounds::default();
        let canceller = bounds.cancellation.clone();
        let started = std::time::Instant::now();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            canceller.cancel();
        });
        let surroundings = Surroundings {
            tables: &Tables::default(),
            bounds: &bounds,
        };
        let outcome = evaluate([&rule].into_iter(), &Facts::default(), &surroundings);
        assert_eq!(
            outcome.unwrap_err().code(),
            imgcheck_base::error::ErrorCode::Cancelled
        );
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
    }
}
