//! Rules: YAML files with CEL expressions that look at the facts of an image and report what is wrong.
//!
//! [`RuleSet::builtin`] has the files of `rules/`, [`RuleSet::add_path`] adds those of the user, which can do everything that
//! built-in rules can: no rule is written in Rust. [`Facts`] is what an expression sees.

pub mod case;
pub mod check;
pub mod deadline;
mod element;
pub mod evaluate;
pub mod example;
pub mod expression;
pub mod facts;
pub mod file;
pub mod functions;
mod installed;
pub mod level;
pub mod loader;
pub mod missing;
pub mod pages;
mod patterns;
pub mod precedence;
pub mod questions;
pub mod rule;
pub mod scope;
pub mod shape;
pub mod tables;
pub mod template;
pub mod testing;
pub mod validate;
mod value;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use facts::{Bytes, ComponentFacts, Facts, ImageFacts, PythonFacts, StackFacts, TypedName};
pub use questions::Questions;
pub use rule::Rule;

use evaluate::Surroundings;
use file::File;
use tables::Tables;

use imgcheck_base::beneath::Tree;
use imgcheck_base::bounds::Bounds;
use imgcheck_base::digest;
use imgcheck_base::error::{Error, Result};
use imgcheck_model::finding::Finding;
use imgcheck_model::targets::TargetFacts;

/// The largest rule file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Some rules, by id.
#[derive(Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
    /// The positions of the rules in the order in which they are evaluated.
    order: OnceLock<Vec<usize>>,
    /// Files of the user that were read; one that is named twice counts once.
    files: BTreeSet<PathBuf>,
    /// The knowledge tables, read on first use.
    tables: Tables,
}

impl RuleSet {
    /// The built-in rules. Their expressions are compiled on first use; the tests check them.
    ///
    /// # Errors
    ///
    /// A built-in rule is broken, which the tests exclude.
    pub fn builtin() -> Result<Self> {
        let broken = |error: serde_json::Error| Error::Rule {
            problem: format!("the built-in rules: {error}"),
        };
        let files: Vec<(&str, File)> =
            serde_json::from_str(imgcheck_tables::COMPILED_RULES).map_err(broken)?;
        let mut set = RuleSet::default();
        for (path, file) in files {
            let text = imgcheck_tables::text(path).unwrap_or_default();
            let mut rule = Rule::from_file(file, &format!("rules/{path}"), text)?;
            rule.builtin = true;
            set.rules.push(rule);
        }
        Ok(set)
    }

    /// Adds a rule file, or all `*.yaml` and `*.yml` files below a directory, and checks every expression.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is no valid rule, or its id is taken.
    pub fn add_path(&mut self, path: &Path) -> Result<()> {
        self.add_path_of(None, path)
    }

    /// Same as [`RuleSet::add_path`]; rules of a tree only if they are in it.
    ///
    /// # Errors
    ///
    /// Same as [`RuleSet::add_path`]; also if a path or a link leads out of the tree.
    pub fn add_path_of(&mut self, tree: Option<&Tree>, path: &Path) -> Result<()> {
        for file in rule_files(path)? {
            let name = file.display().to_string();
            let real = std::fs::canonicalize(&file).map_err(|error| unreadable(&file, &error))?;
            if !self.files.insert(real) {
                continue;
            }
            let opened = match tree {
                Some(tree) => tree.open(&file),
                None => std::fs::File::open(&file),
            };
            let text = opened.and_then(|file| {
                let mut text = String::new();
                file.take(MAX_FILE + 1).read_to_string(&mut text)?;
                Ok(text)
            });
            let text = text.map_err(|error| unreadable(&file, &error))?;
            if text.len() as u64 > MAX_FILE {
                return Err(usage(format!("{name}: a rule file may have at most 1 MiB")));
            }
            self.add_text(&name, &text)?;
        }
        Ok(())
    }

    /// Adds a rule from the text of its file, and checks every expression.
    ///
    /// # Errors
    ///
    /// Same as [`RuleSet::add_path`].
    pub fn add_text(&mut self, name: &str, text: &str) -> Result<()> {
        let rule = Rule::read(name, text)?;
        self.validate(&rule)?;
        self.add(rule)
    }

    /// Checks every expression of a rule. The location of a fault in a built-in rule is read from its file again.
    ///
    /// # Errors
    ///
    /// Same as [`validate::validate`].
    pub fn validate(&self, rule: &Rule) -> Result<()> {
        match rule.builtin {
            false => validate::validate(rule, &self.tables),
            true => {
                let rule = Rule::read(&rule.source.name, &rule.source.text)?;
                validate::validate(&rule, &self.tables)
            }
        }
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
        self.order = OnceLock::new();
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

    /// A digest of all rules and of these settings: of the built-in rules, of the text of the others in the order of their ids, and of the
    /// settings in their order.
    pub fn digest(&self, settings: Vec<String>) -> String {
        let mut own: Vec<&Rule> = self.rules.iter().filter(|rule| !rule.builtin).collect();
        own.sort_by_key(|rule| &rule.id);
        let own = own.iter().map(|rule| rule.source.text.to_string());
        let builtin = [imgcheck_tables::COMPILED_RULES.to_owned()].into_iter();
        let all: Vec<String> = builtin.chain(own).chain(settings).collect();
        digest::sha256(all.join("\0").as_bytes())
    }

    /// The knowledge tables.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// All findings, the worst first, then by rule.
    ///
    /// # Errors
    ///
    /// An expression cannot be evaluated, a rule exceeds a limit, or the request was cancelled. A missing fact is not an error.
    pub fn evaluate(&self, facts: &Facts, bounds: &Bounds) -> Result<Vec<Finding>> {
        self.evaluate_some(facts, bounds, |_| true)
    }

    /// Same as [`RuleSet::evaluate`], only the rules that are `wanted`. Rules about files that images are built from see nothing else, and
    /// no others see these files.
    ///
    /// # Errors
    ///
    /// Same as [`RuleSet::evaluate`].
    pub fn evaluate_some(
        &self,
        facts: &Facts,
        bounds: &Bounds,
        wanted: impl Fn(&Rule) -> bool,
    ) -> Result<Vec<Finding>> {
        let rules = self.applicable(facts, wanted);
        evaluate::evaluate(rules, facts, &self.surroundings(bounds))
    }

    /// The findings that an image has on targets beside those that it has everywhere, for each list of targets.
    ///
    /// # Errors
    ///
    /// Same as [`RuleSet::evaluate`].
    pub fn evaluate_on_targets(
        &self,
        facts: &Facts,
        targets: &[Vec<TargetFacts>],
        bounds: &Bounds,
    ) -> Result<Vec<Vec<Finding>>> {
        let rules = self.applicable(facts, Rule::is_about_targets);
        let surroundings = self.surroundings(bounds);
        evaluate::evaluate_on_each(rules, facts, targets, &surroundings)
    }

    /// The `wanted` rules that see such facts, each after those that suppress it.
    fn applicable(
        &self,
        facts: &Facts,
        wanted: impl Fn(&Rule) -> bool,
    ) -> impl Iterator<Item = &Rule> {
        let is_of_files = facts.lint.is_some();
        let order = self.order.get_or_init(|| precedence::order(&self.rules));
        let rules = order.iter().map(|at| &self.rules[*at]);
        rules.filter(move |rule| rule.is_about_files() == is_of_files && wanted(rule))
    }

    fn surroundings<'s>(&'s self, bounds: &'s Bounds) -> Surroundings<'s> {
        Surroundings {
            tables: &self.tables,
            bounds,
        }
    }

    /// The ids of the `wanted` rules that do not apply to an image because a fact is missing, by the name of the fact. Rules about files
    /// and workloads do not count.
    ///
    /// # Errors
    ///
    /// Same as [`RuleSet::evaluate`].
    pub fn skipped(
        &self,
        facts: &Facts,
        bounds: &Bounds,
        wanted: impl Fn(&Rule) -> bool,
    ) -> Result<BTreeMap<String, Vec<String>>> {
        let surroundings = self.surroundings(bounds);
        let rules = self.rules().filter(|rule| wanted(rule));
        let mut skipped = missing::missing_facts(rules, facts, &surroundings)?;
        // Facts of files, of workloads, and of the configuration.
        skipped.retain(|fact, _| !matches!(fact.as_str(), "lint" | "workload" | "ignores"));
        Ok(skipped)
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
