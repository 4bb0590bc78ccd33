//! Runs the tests that rules carry.

use std::collections::BTreeMap;

use super::case::{Expect, RuleTest};
use super::evaluate::{Surroundings, evaluate};
use super::functions::glob;
use super::level::Named;
use super::missing::missing_facts;
use super::rule::Rule;
use super::tables::Tables;
use imgcheck_base::bounds::Bounds;
use imgcheck_model::finding::{Finding, Severity};

/// The results of the tests of some rules.
#[derive(Debug, Default)]
pub struct TestReport {
    /// One result per test.
    pub results: Vec<TestResult>,
}

/// The result of one test.
#[derive(Debug)]
pub struct TestResult {
    /// The id of the rule.
    pub rule: String,
    /// The name of the test.
    pub name: String,
    /// Why it failed.
    pub problem: Option<String>,
}

impl TestReport {
    /// The tests that failed.
    pub fn failures(&self) -> impl Iterator<Item = &TestResult> {
        self.results
            .iter()
            .filter(|result| result.problem.is_some())
    }
}

impl std::fmt::Display for TestReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for result in self.failures() {
            let problem = result.problem.as_deref().unwrap_or_default();
            writeln!(f, "{}: {}: {problem}", result.rule, result.name)?;
        }
        let failed = self.failures().count();
        write!(f, "{} tests, {failed} failed", self.results.len())
    }
}

/// Runs the tests of rules. A rule without tests, or with tests that cannot be read, fails.
pub fn run<'r>(rules: impl Iterator<Item = &'r Rule>) -> TestReport {
    let tables = Tables::default();
    let results = rules.flat_map(|rule| {
        let failed = |problem: String| {
            vec![TestResult {
                rule: rule.id.clone(),
                name: "its tests".to_owned(),
                problem: Some(problem),
            }]
        };
        match rule.tests() {
            Err(error) => failed(error.to_string()),
            Ok(tests) if tests.is_empty() => failed("the rule has no tests".to_owned()),
            Ok(tests) => tests
                .iter()
                .map(|test| test.result(rule, &tables))
                .collect(),
        }
    });
    TestReport {
        results: results.collect(),
    }
}

impl RuleTest {
    fn result(&self, rule: &Rule, tables: &Tables) -> TestResult {
        TestResult {
            rule: rule.id.clone(),
            name: self.name.clone(),
            problem: self.problem(rule, tables),
        }
    }

    /// Why the test fails, if it does.
    fn problem(&self, rule: &Rule, tables: &Tables) -> Option<String> {
        let facts = match self.given.facts() {
            Ok(facts) => facts,
            Err(problem) => return Some(problem),
        };
        let surroundings = Surroundings {
            tables,
            bounds: &Bounds::default(),
        };
        match evaluate(std::iter::once(rule), &facts, &surroundings) {
            Ok(findings) => {
                let problem = self.expect.problem(&findings)?;
                let missing = match findings.is_empty() {
                    true => missing_facts(std::iter::once(rule), &facts, &surroundings),
                    false => Ok(BTreeMap::new()),
                };
                match missing.unwrap_or_default().into_keys().next() {
                    Some(fact) => Some(format!("{problem}not applicable: `{fact}` missing")),
                    None => Some(problem),
                }
            }
            Err(error) => Some(error.to_string()),
        }
    }
}

impl Expect {
    fn problem(&self, findings: &[Finding]) -> Option<String> {
        if findings.len() != self.findings {
            let messages: Vec<&str> = findings
                .iter()
                .map(|finding| finding.message.as_str())
                .collect();
            let got = messages.join(" | ");
            return Some(format!(
                "expected {} findings, got {}: {got}",
                self.findings,
                findings.len()
            ));
        }
        let first = findings.first()?;
        let wrong = |what: &str, expected: &str, got: &str| {
            Some(format!("expected {what} `{expected}`, got `{got}`"))
        };
        if let Some(pattern) = self
            .message
            .as_ref()
            .filter(|pattern| !glob(&first.message, pattern))
        {
            return wrong("message", pattern, &first.message);
        }
        let help = first.help.as_deref().unwrap_or_default();
        if let Some(pattern) = self.help.as_ref().filter(|pattern| !glob(help, pattern)) {
            return wrong("help", pattern, help);
        }
        let path = first.path.as_deref().unwrap_or_default();
        if let Some(expected) = self.path.as_ref().filter(|expected| *expected != path) {
            return wrong("path", expected, path);
        }
        let expected = self.severity.as_ref()?;
        (Severity::named(expected) != Some(first.severity))
            .then(|| format!("expected severity `{expected}`, got `{:?}`", first.severity))
    }
}
