//! Rules: YAML files with CEL expressions that look at the facts of an image and say what is wrong.
//!
//! [`RuleSet::builtin`] are the files of `rules/`, [`RuleSet::add_path`] adds those of the user, which can do all that
//! the built-in ones can: no rule is written in Rust. [`Facts`] is what an expression sees.

pub mod check;
pub mod deadline;
pub mod evaluate;
pub mod expression;
pub mod facts;
pub mod file;
pub mod functions;
pub mod knowledge;
pub mod lint;
pub mod loader;
pub mod pages;
pub mod precedence;
mod sample;
pub mod schema;
pub mod shapes;
pub mod testing;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use facts::{Facts, ImageFacts, Part};
pub use file::Rule;

use crate::embedded;
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::limits::Limits;

/// The largest rule file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// The folders of `rules/` that hold no rules.
const NOT_RULES: &[&str] = &["knowledge/"];

/// Some rules, by id.
#[derive(Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
    /// Files of the user that were read; one that is named twice counts once.
    files: BTreeSet<PathBuf>,
    /// What an evaluation may ask for.
    limits: Limits,
}

impl RuleSet {
    /// The rules that are built in. Their expressions are compiled when they are first needed; the tests check them.
    ///
    /// # Errors
    ///
    /// A built-in file is broken, which the tests exclude.
    pub fn builtin() -> Result<Self> {
        let mut set = RuleSet::default();
        for (name, text) in embedded::files("") {
            if !NOT_RULES.iter().any(|folder| name.starts_with(folder)) && name.ends_with(".yaml") {
                set.add(Rule {
                    builtin: true,
                    ..Rule::read(&format!("rules/{name}"), text)?
                })?;
            }
        }
        Ok(set)
    }

    /// The same rules, evaluated within other limits.
    #[must_use]
    pub fn within(self, limits: Limits) -> Self {
        RuleSet { limits, ..self }
    }

    /// Adds a rule file, or all `*.yaml` and `*.yml` files below a directory, and checks every expression.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is no valid rule, or its id is taken.
    pub fn add_path(&mut self, path: &Path) -> Result<()> {
        for file in rule_files(path)? {
            let name = file.display().to_string();
            let real = std::fs::canonicalize(&file).map_err(|error| unreadable(&file, &error))?;
            if !self.files.insert(real) {
                continue;
            }
            let size = std::fs::metadata(&file)
                .map_err(|error| unreadable(&file, &error))?
                .len();
            if size > MAX_FILE {
                return Err(usage(format!(
                    "{name}: a rule file may have 1 MiB, this one has {size} bytes"
                )));
            }
            let text = std::fs::read_to_string(&file).map_err(|error| unreadable(&file, &error))?;
            self.add_text(&name, &text)?;
        }
        Ok(())
    }

    /// Adds a rule from the text of its file, and checks every expression.
    ///
    /// # Errors
    ///
    /// As [`RuleSet::add_path`].
    pub fn add_text(&mut self, name: &str, text: &str) -> Result<()> {
        let rule = Rule::read(name, text)?;
        rule.check()?;
        self.add(rule)
    }

    fn add(&mut self, rule: Rule) -> Result<()> {
        if let Some(other) = self.get(&rule.id) {
            let problem = format!(
                "the id `{}` is already taken by {}",
                rule.id, other.source.name
            );
            let text = &rule.source.text;
            let key = text.find("\nid:").map_or(0, |line| line + 1);
            let at = text[key..].find(&rule.id).map_or(0, |place| key + place);
            let help = "give the rule an id of its own";
            return Err(rule
                .source
                .fault(at..at + rule.id.len(), &problem, Some(help)));
        }
        self.rules.push(rule);
        Ok(())
    }

    /// All rules, the built-in ones first, by group and id.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// The rule of an id.
    pub fn get(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// All findings, the worst first, then by rule.
    ///
    /// # Errors
    ///
    /// An expression of a rule does what it cannot do; missing facts are no error.
    pub fn evaluate(&self, facts: &Facts) -> Result<Vec<Finding>> {
        evaluate::evaluate(self.rules(), facts, &self.limits)
    }
}

/// The file itself, or the rule files below a directory in order of their names.
fn rule_files(path: &Path) -> Result<Vec<PathBuf>> {
    let data = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if data.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&folder, &error))?;
            let kind = entry
                .file_type()
                .map_err(|error| unreadable(&folder, &error))?;
            let is_yaml = entry
                .path()
                .extension()
                .is_some_and(|end| end == "yaml" || end == "yml");
            match kind.is_dir() {
                true => folders.push(entry.path()),
                false if is_yaml => found.push(entry.path()),
                false => {}
            }
        }
    }
    if found.is_empty() {
        return Err(usage(format!(
            "{}: no rule file (*.yaml) in it",
            path.display()
        )));
    }
    found.sort();
    Ok(found)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    usage(format!("{}: {error}", path.display()))
}

fn usage(problem: String) -> Error {
    Error::Usage {
        problem,
        help: None,
    }
}
