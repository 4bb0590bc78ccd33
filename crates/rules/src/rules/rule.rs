//! One rule, ready to be checked and evaluated.

use std::sync::{Arc, OnceLock};

use super::case::RuleTest;
use super::expression::{Expression, Source};
use super::file::File;
use super::level::Level;
use super::scope::{Binding, ELEMENT};
use super::template::Cases;
use imgcheck_base::error::Result;
use imgcheck_base::required_version;
use imgcheck_base::yaml::{self, Pairs, Spanned};
use imgcheck_model::finding::{Confidence, Severity};

/// The fact that is another one in each evaluation on a target.
const TARGETS: &str = "targets";

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

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// The name, which never changes once released.
    pub id: String,
    /// What is wrong, in one line.
    pub title: String,
    /// How bad a finding is.
    pub severity: Level<Severity>,
    /// How sure the rule is.
    pub confidence: Level<Confidence>,
    /// The first version of imgcheck that has the rule.
    pub since: String,
    /// Bindings that do not depend on `it`: evaluated at most once.
    pub bindings: Vec<Binding>,
    /// Bindings that depend on `it`.
    pub element_bindings: Vec<Binding>,
    /// The list that the rule is evaluated for; each element is `it`.
    pub each: Option<Expression>,
    /// Whether the rule applies.
    pub when: Option<Expression>,
    /// Whether it fails.
    pub fail: Expression,
    /// A text for each element: of all elements with the same text only the first gives a finding.
    pub deduplicate_by: Option<Expression>,
    /// The facts, beside the element itself, that have the same cause as the finding.
    pub cause_of: Option<Expression>,
    /// Ids of rules, with `*` for any characters, that report nothing about these facts.
    pub suppresses: Vec<String>,
    /// The path of the file that is at fault.
    pub at: Option<Expression>,
    /// What is wrong.
    pub message: Cases,
    /// What to do.
    pub help: Option<Cases>,
    /// Markdown: what goes wrong at run time, how it looks, how to confirm it.
    pub why: String,
    /// Public threads where people met it.
    pub references: Vec<String>,
    /// The file of the rule.
    pub source: Arc<Source>,
    /// Whether the rule is built in and so has a page in the book.
    pub builtin: bool,
    is_about_files: OnceLock<bool>,
    is_about_targets: OnceLock<bool>,
}

impl Rule {
    /// Reads a rule file up to its tests, which come last and are half of it. This only cuts out the expressions;
    /// [`validate`](super::validate) compiles and checks them.
    ///
    /// # Errors
    ///
    /// The file is not YAML, a key is missing or unknown, or the id is not made of words and dashes.
    pub fn read(name: &str, text: &str) -> Result<Self> {
        let head = without_tests(text);
        required_version::check(name, head)?;
        Rule::from_file(File::read(name, head)?, name, text)
    }

    /// The rule of a file that was read already.
    pub(super) fn from_file(file: File, name: &str, text: &str) -> Result<Self> {
        let source = Arc::new(Source {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        let id = &file.id.value;
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if id.is_empty() || !id.chars().all(is_allowed) {
            let problem = format!(
                "`{id}` is not an id: use lower-case words with dashes, such as claim-torch-version"
            );
            return Err(source.fault(yaml::span(&file.id), &problem, None));
        }
        let expression = |scalar: &Spanned<String>| Expression::new(&source, scalar);
        let optional = |scalar: &Option<Spanned<String>>| scalar.as_ref().map(expression);
        let (element_bindings, bindings) = bindings(&source, &file.r#let)?;
        Ok(Rule {
            bindings,
            element_bindings,
            severity: Level::read(&source, &file.severity)?,
            confidence: match &file.confidence {
                Some(scalar) => Level::read(&source, scalar)?,
                None => Level::Fixed(Confidence::High),
            },
            each: optional(&file.each),
            when: optional(&file.when),
            fail: expression(&file.fail),
            deduplicate_by: optional(&file.deduplicate_by),
            cause_of: optional(&file.cause_of),
            suppresses: file.suppresses,
            at: optional(&file.at),
            message: Cases::read(&source, "message", &file.message)?,
            help: file
                .help
                .as_ref()
                .map(|help| Cases::read(&source, "help", help))
                .transpose()?,
            id: file.id.value,
            title: file.title,
            since: file.since,
            why: file.why,
            builtin: false,
            references: file.references,
            source,
            is_about_files: OnceLock::new(),
            is_about_targets: OnceLock::new(),
        })
    }

    /// All expressions, including those in texts.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let levels = [self.severity.expression(), self.confidence.expression()];
        let optional = [&self.deduplicate_by, &self.cause_of, &self.at];
        self.conditions()
            .chain(levels.into_iter().flatten())
            .chain(optional.into_iter().flatten())
            .chain(self.message.expressions())
            .chain(self.help.iter().flat_map(Cases::expressions))
    }

    /// The expressions that decide whether the rule fails, and for what.
    pub fn conditions(&self) -> impl Iterator<Item = &Expression> {
        let bindings = self.bindings.iter().chain(&self.element_bindings);
        bindings
            .map(|binding| &binding.value)
            .chain([&self.each, &self.when].into_iter().flatten())
            .chain([&self.fail])
    }

    /// Whether it compares the image with the targets.
    pub fn is_about_targets(&self) -> bool {
        let mentions = |it: &Expression| it.mentions(TARGETS).unwrap_or_default();
        *self
            .is_about_targets
            .get_or_init(|| self.conditions().any(mentions))
    }

    /// Whether it judges files that images are built from.
    pub fn is_about_files(&self) -> bool {
        let mentions = |it: &Expression| it.mentions("lint").unwrap_or_default();
        *self
            .is_about_files
            .get_or_init(|| self.expressions().any(mentions))
    }

    /// The tests of the rule.
    ///
    /// # Errors
    ///
    /// A test has an unknown key or a value of the wrong type.
    pub fn tests(&self) -> Result<Vec<RuleTest>> {
        File::read(&self.source.name, &self.source.text).map(|file| file.tests)
    }

    /// The page about the rule: for a user's rule its first reference; empty if it has none.
    pub fn url(&self) -> String {
        match self.builtin {
            true => format!(
                "https://github.com/imgcheck/imgcheck/blob/main/docs/src/rules/{}.md",
                self.id
            ),
            false => self.references.first().cloned().unwrap_or_default(),
        }
    }
}

/// The bindings that depend on `it`, and those that do not.
fn bindings(source: &Arc<Source>, written: &Pairs) -> Result<(Vec<Binding>, Vec<Binding>)> {
    let (mut of_element, mut shared): (Vec<Binding>, Vec<Binding>) = Default::default();
    for (name, value) in &written.0 {
        let is_name = |text: &str| {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(word)
        };
        let known = of_element.iter().chain(&shared);
        let problem = match name.value.as_str() {
            text if !is_name(text) => {
                "a name is a lower-case letter and then letters, digits and `_`"
            }
            ELEMENT | "known" => "this name is reserved",
            text if known.into_iter().any(|binding| binding.name == text) => {
                "this name is defined twice"
            }
            _ => "",
        };
        if !problem.is_empty() {
            return Err(source.fault(yaml::span(name), problem, None));
        }
        let value = Expression::new(source, value);
        let uses = |binding: &Binding| mentions(&value, &binding.name);
        let is_of_element = mentions(&value, ELEMENT) || of_element.iter().any(uses);
        let mut of_targets = shared.iter().filter(|it| !it.is_constant);
        let varies = is_of_element || mentions(&value, TARGETS) || of_targets.any(uses);
        let binding = Binding {
            name: name.value.clone(),
            is_constant: !varies,
            value,
        };
        match is_of_element {
            true => of_element.push(binding),
            false => shared.push(binding),
        }
    }
    Ok((of_element, shared))
}

/// Whether the text of an expression has a word. This needs no parsing, and a word in a string only makes a binding be evaluated
/// for each element.
fn mentions(expression: &Expression, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    expression
        .text()
        .split(|c| !is_word(c))
        .any(|word| word == name)
}
