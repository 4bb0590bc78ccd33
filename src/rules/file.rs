//! A rule file: one rule. The book explains each key under "Writing rules".

use std::sync::Arc;

use schemars::{JsonSchema, Schema};
use serde::Deserialize;

use super::check::{self, Scope};
use super::evaluate;
use super::expression::{Expression, Source, Template};
use super::schema::{self, Shape};
use super::testing::RuleTest;
use crate::error::Result;
use crate::finding::{Confidence, Severity};
use crate::json_schema;
use crate::yaml::{self, Spanned};

/// A rule of imgcheck: what is wrong with an image, and what to do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "imgcheck rule")]
struct File {
    /// Its name: lower-case words with dashes.
    #[schemars(with = "String", regex(pattern = "^[a-z0-9-]+$"))]
    id: Spanned<String>,
    /// What it says, in one line.
    title: String,
    /// `error`, `warning`, `note`, or an expression that gives one of them.
    #[schemars(with = "String")]
    severity: Spanned<String>,
    /// `high`, `medium`, `low`, or an expression that gives one of them; `high` if absent.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    confidence: Option<Spanned<String>>,
    /// The version that had it first.
    since: String,
    /// Expression: a list; the rule is evaluated for each element, which is `it`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    each: Option<Spanned<String>>,
    /// Expression: whether the rule applies.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    when: Option<Spanned<String>>,
    /// Expression: whether something is wrong.
    #[schemars(with = "String")]
    fail: Spanned<String>,
    /// Expression: a text; of the elements with the same text only the first gives a finding.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    once: Option<Spanned<String>>,
    /// Expression: a list of the facts that a finding accounts for, beside `it`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    explains: Option<Spanned<String>>,
    /// Ids or patterns of the rules that speak in place of this one.
    #[serde(default)]
    yields: Vec<String>,
    /// Expression: the path of the file that it is about.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    at: Option<Spanned<String>>,
    /// What is wrong, in one sentence; braces hold expressions.
    #[schemars(with = "String")]
    message: Spanned<String>,
    /// What to do; braces hold expressions.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    help: Option<Spanned<String>>,
    /// Markdown: what goes wrong at run time, how it looks, how to confirm it.
    why: String,
    /// Public threads where people met it.
    #[serde(default)]
    references: Vec<String>,
    /// Its tests; a rule without any does not pass `imgcheck rules test`.
    #[serde(default)]
    tests: Vec<RuleTest>,
}

/// The JSON Schema of a rule file.
pub fn schema() -> Schema {
    json_schema::of_input::<File>("rule.json")
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name, the same for ever once released.
    pub id: String,
    /// What it says, in one line.
    pub title: String,
    /// How bad a finding is.
    pub severity: Level<Severity>,
    /// How sure it is.
    pub confidence: Level<Confidence>,
    /// The version of imgcheck that had it first.
    pub since: String,
    /// The list it is evaluated for; each element is `it`.
    pub each: Option<Expression>,
    /// Whether it applies.
    pub when: Option<Expression>,
    /// Whether it fails.
    pub fail: Expression,
    /// A text for each element: of those with the same text only the first gives a finding.
    pub once: Option<Expression>,
    /// The facts that its finding accounts for, beside the element itself.
    pub explains: Option<Expression>,
    /// Ids of rules, with `*` for any characters: about what they account for this rule is silent.
    pub yields: Vec<String>,
    /// The path of the file that is at fault.
    pub at: Option<Expression>,
    /// What is wrong.
    pub message: Template,
    /// What to do.
    pub help: Option<Template>,
    /// Markdown: what goes wrong at run time, how it looks, how to confirm it.
    pub why: String,
    /// Public threads where people met it.
    pub references: Vec<String>,
    /// The file it comes from.
    pub source: Arc<Source>,
    /// Whether it is one of imgcheck's own, which have a page in the book.
    pub builtin: bool,
}

/// A level that is fixed, or that an expression decides.
#[derive(Debug)]
pub enum Level<T> {
    /// Always the same.
    Fixed(T),
    /// An expression that gives the level's name.
    Decided(Expression),
}

impl<T: Named> Level<T> {
    /// The name of a level, or else an expression; a single word that is no level is a mistake.
    fn read(source: &Arc<Source>, scalar: &Spanned<String>) -> Result<Self> {
        let text = scalar.value.trim();
        if let Some(level) = T::named(text) {
            return Ok(Level::Fixed(level));
        }
        if text.chars().all(|c| c.is_ascii_alphabetic()) {
            let names: Vec<&str> = T::ALL.iter().map(|(name, _)| *name).collect();
            let help = format!(
                "use {}, or an expression that gives one of them",
                names.join(", ")
            );
            let problem = format!("`{text}` is not a level");
            return Err(source.fault(yaml::span(scalar), &problem, Some(&help)));
        }
        Ok(Level::Decided(Expression::new(source, scalar)))
    }

    fn expression(&self) -> Option<&Expression> {
        match self {
            Level::Fixed(_) => None,
            Level::Decided(expression) => Some(expression),
        }
    }
}

/// A level that has a name in rule files and reports.
pub trait Named: Copy + Sized + 'static {
    /// All levels with their names, the worst or surest first.
    const ALL: &'static [(&'static str, Self)];

    /// The level of a name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find_map(|(known, level)| (*known == name).then_some(*level))
    }
}

impl Named for Severity {
    const ALL: &'static [(&'static str, Self)] = &[
        ("error", Severity::Error),
        ("warning", Severity::Warning),
        ("note", Severity::Note),
    ];
}

impl Named for Confidence {
    const ALL: &'static [(&'static str, Self)] = &[
        ("high", Confidence::High),
        ("medium", Confidence::Medium),
        ("low", Confidence::Low),
    ];
}

/// The text before a last key `tests`; the whole text if another key follows.
fn without_tests(text: &str) -> &str {
    match text.split_once("\ntests:") {
        Some((before, after))
            if after
                .lines()
                .all(|line| !line.starts_with(|c: char| c.is_ascii_alphabetic())) =>
        {
            before
        }
        _ => text,
    }
}

impl Rule {
    /// Reads a rule file up to its tests, which come last and are half of it. The expressions are only cut out here;
    /// [`Rule::check`] compiles them and reads the tests too.
    ///
    /// # Errors
    ///
    /// The file is not YAML, a key is missing or unknown, or the id is not made of words and dashes.
    pub fn read(name: &str, text: &str) -> Result<Self> {
        let file: File = yaml::parse(name, without_tests(text))?;
        let source = Arc::new(Source {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        let id = &file.id.value;
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if id.is_empty() || !id.chars().all(word) {
            let problem = format!(
                "`{id}` is not an id: use lower-case words with dashes, such as claim-torch-version"
            );
            return Err(source.fault(yaml::span(&file.id), &problem, None));
        }
        let expression = |scalar: &Option<Spanned<String>>| {
            scalar
                .as_ref()
                .map(|scalar| Expression::new(&source, scalar))
        };
        Ok(Rule {
            severity: Level::read(&source, &file.severity)?,
            confidence: match &file.confidence {
                Some(scalar) => Level::read(&source, scalar)?,
                None => Level::Fixed(Confidence::High),
            },
            each: expression(&file.each),
            when: expression(&file.when),
            fail: Expression::new(&source, &file.fail),
            once: expression(&file.once),
            explains: expression(&file.explains),
            yields: file.yields,
            at: expression(&file.at),
            message: Template::new(&source, &file.message)?,
            help: file
                .help
                .as_ref()
                .map(|help| Template::new(&source, help))
                .transpose()?,
            id: file.id.value,
            title: file.title,
            since: file.since,
            why: file.why,
            builtin: false,
            references: file.references,
            source,
        })
    }

    /// All its expressions, those in its texts too.
    #[cfg(test)]
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let levels = [self.severity.expression(), self.confidence.expression()];
        let optional = [&self.each, &self.when, &self.once, &self.explains, &self.at];
        let optional = optional.map(Option::as_ref);
        let texts = std::iter::once(&self.message).chain(&self.help);
        let single = levels
            .into_iter()
            .chain(optional)
            .flatten()
            .chain([&self.fail]);
        single.chain(texts.flat_map(Template::expressions))
    }

    /// Its own tests.
    ///
    /// # Errors
    ///
    /// They are not written as tests are.
    pub fn tests(&self) -> Result<Vec<RuleTest>> {
        let file: File = yaml::parse(&self.source.name, &self.source.text)?;
        Ok(file.tests)
    }

    /// Checks every expression: syntax, names, fields, functions, what kind of value it gives, and that it can be
    /// evaluated on a sample.
    ///
    /// # Errors
    ///
    /// The first fault, with its place.
    pub fn check(&self) -> Result<()> {
        self.tests()?;
        let mut scope: Scope = schema::roots()
            .into_iter()
            .map(|(name, shape)| (name.to_owned(), shape))
            .collect();
        if let Some(each) = &self.each {
            if let Shape::List(element) = check::expect(each, &scope, &[Shape::list(Shape::Any)])? {
                scope.insert("it".to_owned(), *element);
            } else {
                scope.insert("it".to_owned(), Shape::Any);
            }
        }
        for condition in self.when.iter().chain([&self.fail]) {
            check::expect(condition, &scope, &[Shape::Bool])?;
        }
        if let Some(once) = &self.once {
            check::expect(once, &scope, &[Shape::Text])?;
        }
        if let Some(explains) = &self.explains {
            check::expect(explains, &scope, &[Shape::list(Shape::Any)])?;
        }
        if let Some(at) = &self.at {
            check::expect(at, &scope, &[Shape::Text, Shape::Null])?;
        }
        for level in self
            .severity
            .expression()
            .into_iter()
            .chain(self.confidence.expression())
        {
            check::expect(level, &scope, &[Shape::Text])?;
        }
        let templates = std::iter::once(&self.message).chain(&self.help);
        for expression in templates.flat_map(Template::expressions) {
            check::infer(expression, &scope)?;
        }
        evaluate::dry_run(self)
    }
}
