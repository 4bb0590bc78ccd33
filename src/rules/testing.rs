//! The tests that every rule carries: facts that are given, and what is expected of the rule.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::facts::{Facts, ImageFacts, Part, PythonFacts, versions};
use super::file::{Named, Rule};
use super::functions::glob;
use super::loader::shape;
use super::{evaluate, lint, schema, shapes};
use crate::claims::Claim;
use crate::finding::{Finding, Severity};
use crate::limits::Limits;
use crate::policy::PolicyFacts;
use crate::process::LoaderFacts;
use crate::stack::ContainerToolkit;
use crate::stack::container_toolkit::ToolkitKnowledge;
use crate::targets::TargetFacts;

/// One test of a rule.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleTest {
    /// What it shows.
    pub name: String,
    /// The facts.
    pub given: Given,
    /// What the rule must say of them.
    pub expect: Expect,
}

/// Facts of a test. With `stack`, `copies`, `loader`, `container_toolkit` or `python` an image was read, without them only its
/// reference.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Given {
    /// What tag, repository, labels and environment promise.
    claims: Vec<GivenClaim>,
    /// Copies that the process gets.
    stack: Option<Vec<Part>>,
    /// Copies that it does not get.
    copies: Option<Vec<Part>>,
    /// The image itself.
    image: ImageFacts,
    /// GPU code, as in the report.
    gpu: Option<serde_json::Value>,
    /// The driver floor, as in the report.
    driver: Option<serde_json::Value>,
    /// The loader model, as in the report.
    loader: Option<serde_json::Value>,
    /// What the environment does not tell: files of the driver, and files that need it. The rest follows from `image.env`.
    container_toolkit: Option<serde_json::Value>,
    /// What is installed in the Python environments.
    python: Option<PythonFacts>,
    /// What a file asks for that an image is built from.
    lint: Option<serde_json::Value>,
    /// The judged targets, as in the report.
    #[schemars(with = "Option<Vec<TargetFacts>>")]
    targets: Option<serde_json::Value>,
    /// What the team asked for.
    #[schemars(with = "Option<PolicyFacts>")]
    policy: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GivenClaim {
    /// What it is about.
    subject: String,
    /// What is promised of it.
    version: String,
    /// `tag`, `repository`, `label` or `env`.
    #[serde(default = "tag")]
    origin: String,
    /// The version, if it is not given.
    #[serde(default)]
    text: Option<String>,
}

fn tag() -> String {
    "tag".to_owned()
}

/// What a test expects.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// How many findings.
    findings: usize,
    /// A pattern that the first message matches: `*contains 2.8.0*`.
    #[serde(default)]
    message: Option<String>,
    /// A pattern that the first help matches.
    #[serde(default)]
    help: Option<String>,
    /// Severity of the first.
    #[serde(default)]
    severity: Option<String>,
    /// File of the first.
    #[serde(default)]
    path: Option<String>,
}

/// What the tests of some rules gave.
#[derive(Debug, Default)]
pub struct TestReport {
    /// One result a test.
    pub results: Vec<TestResult>,
}

/// What one test gave.
#[derive(Debug)]
pub struct TestResult {
    /// Id of the rule.
    pub rule: String,
    /// Name of the test.
    pub name: String,
    /// What is wrong, if it failed.
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
            Ok(tests) if tests.is_empty() => failed("there are none".to_owned()),
            Ok(tests) => tests.iter().map(|test| test.result(rule)).collect(),
        }
    });
    TestReport {
        results: results.collect(),
    }
}

impl RuleTest {
    fn result(&self, rule: &Rule) -> TestResult {
        TestResult {
            rule: rule.id.clone(),
            name: self.name.clone(),
            problem: self.problem(rule),
        }
    }

    /// What is wrong, if the test fails.
    fn problem(&self, rule: &Rule) -> Option<String> {
        let facts = match self.given.facts() {
            Ok(facts) => facts,
            Err(problem) => return Some(problem),
        };
        match evaluate::evaluate(std::iter::once(rule), &facts, &Limits::default()) {
            Ok(findings) => self.expect.problem(&findings),
            Err(error) => Some(error.to_string()),
        }
    }
}

impl Given {
    fn facts(&self) -> Result<Facts, String> {
        let scanned = self.stack.is_some()
            || self.copies.is_some()
            || self.loader.is_some()
            || self.container_toolkit.is_some()
            || self.python.is_some();
        let loaded = self.stack.clone().unwrap_or_default();
        let others = self.copies.clone().unwrap_or_default();
        for part in loaded.iter().chain(&others) {
            if !schema::PARTS.contains(&part.name.as_str()) {
                return Err(format!("no part of a stack is called `{}`", part.name));
            }
        }
        let stack: BTreeMap<String, Part> = loaded
            .iter()
            .map(|part| (part.name.clone(), part.clone()))
            .collect();
        let image = ImageFacts {
            scanned,
            env: scanned.then(|| self.image.env.clone().unwrap_or_default()),
            labels: scanned.then(|| self.image.labels.clone().unwrap_or_default()),
            machines: scanned.then(|| self.image.machines.clone().unwrap_or_default()),
            ..self.image.clone()
        };
        let toolkit = scanned
            .then(|| self.container_toolkit(&image))
            .transpose()?;
        Ok(Facts {
            claims: self.claims.iter().map(GivenClaim::claim).collect(),
            versions: scanned.then(|| versions(&stack)),
            stack: scanned.then_some(stack),
            copies: scanned.then(|| loaded.into_iter().chain(others).collect()),
            image,
            gpu: self.gpu.clone(),
            driver: self.driver.clone(),
            loader: self.loader.as_ref().map(loader).transpose()?,
            container_toolkit: toolkit,
            python: scanned.then(|| self.python.clone().unwrap_or_default()),
            lint: self.lint.as_ref().map(lint::given).transpose()?,
            targets: self
                .targets
                .as_ref()
                .map(targets)
                .transpose()?
                .unwrap_or_default(),
            policy: match &self.policy {
                Some(given) => policy(given)?,
                None => PolicyFacts::default(),
            },
        })
    }
}

impl Given {
    /// What the environment of a test asks of the container toolkit, with the files that the test gives.
    fn container_toolkit(&self, image: &ImageFacts) -> Result<ContainerToolkit, String> {
        let given = match &self.container_toolkit {
            None => ContainerToolkit::default(),
            Some(given) => {
                shapes::container_toolkit().check("container_toolkit", given)?;
                serde_json::from_value(given.clone())
                    .map_err(|error| format!("container_toolkit: {error}"))?
            }
        };
        let knowledge = ToolkitKnowledge::builtin().map_err(|error| error.to_string())?;
        let environment = image.env.clone().unwrap_or_default();
        Ok(ContainerToolkit {
            driver_files: given.driver_files,
            needs: given.needs,
            ..ContainerToolkit::of_environment(&environment, &knowledge)
        })
    }
}

/// The loader model of a test: what is not given is empty, and a fact that no image has is a mistake.
fn loader(given: &serde_json::Value) -> Result<LoaderFacts, String> {
    shape::of_facts().check("loader", given)?;
    serde_json::from_value(given.clone()).map_err(|error| format!("loader: {error}"))
}

/// The judged targets of a test: what is not given is empty.
fn targets(given: &serde_json::Value) -> Result<Vec<TargetFacts>, String> {
    schema::targets().check("targets", given)?;
    serde_json::from_value(given.clone()).map_err(|error| format!("targets: {error}"))
}

/// The policy of a test: what is not given is not asked for.
fn policy(given: &serde_json::Value) -> Result<PolicyFacts, String> {
    schema::policy().check("policy", given)?;
    serde_json::from_value(given.clone()).map_err(|error| format!("policy: {error}"))
}

impl GivenClaim {
    fn claim(&self) -> Claim {
        Claim {
            subject: self.subject.clone(),
            version: self.version.clone(),
            origin: self.origin.clone(),
            text: self.text.clone().unwrap_or_else(|| self.version.clone()),
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
        let wrong = |what: &str, wanted: &str, got: &str| {
            Some(format!("expected {what} `{wanted}`, got `{got}`"))
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
        if let Some(wanted) = self.path.as_ref().filter(|wanted| *wanted != path) {
            return wrong("path", wanted, path);
        }
        let wanted = self.severity.as_ref()?;
        (Severity::named(wanted) != Some(first.severity))
            .then(|| format!("expected severity `{wanted}`, got `{:?}`", first.severity))
    }
}
