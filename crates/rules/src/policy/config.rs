//! The configuration file: reads it, and reports invalid values with their line and column.

mod keys;
mod policy;
mod source;
mod targets;

use std::ops::Range;
use std::path::{Path, PathBuf};

use schemars::Schema;

use super::file::File;
use super::gate::GateConfig;
use super::{Baseline, Policy};
use imgcheck_base::beneath::Tree;
use imgcheck_base::error::Result;
use imgcheck_base::glob::glob;
use imgcheck_base::json_schema;
use imgcheck_base::limits::{Limit, Limits};
use imgcheck_base::required_version;
use imgcheck_base::spelling::nearest;
use imgcheck_base::yaml::{self, Pairs, Spanned};
use imgcheck_model::targets::Tables;
pub(super) use source::Source;
use source::config_error;

/// The largest configuration file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// A configuration file; empty without one.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The policy, without the contents of the baseline.
    pub policy: Policy,
    /// Rule files and directories.
    pub rules: Vec<PathBuf>,
    /// The baseline file.
    pub baseline: Option<PathBuf>,
    /// The limits, including the defaults.
    pub limits: Limits,
    /// How a gate answers.
    pub gate: GateConfig,
    tree: Option<Tree>,
    source: Source,
    /// Ids and patterns of rules, with their positions.
    named_rules: Vec<(String, Range<usize>)>,
    /// The first gap that it acknowledges, with its position.
    acknowledgement: Option<(String, Range<usize>)>,
    /// Positions of the rule files and directories.
    rule_places: Vec<Range<usize>>,
    /// Position of the baseline.
    baseline_place: Option<Range<usize>>,
    /// Public keys, and files with them.
    keys: Vec<Spanned<String>>,
    /// The directory that paths are relative to.
    directory: PathBuf,
}

impl Config {
    /// Reads a file; one of a tree only if it is in it. Paths in it are relative to its directory, and its targets have GPUs of
    /// the table.
    ///
    /// # Errors
    /// [`Error::Config`](imgcheck_base::error::Error::Config): the file cannot be read, or a key or value is invalid.
    pub fn load(path: &Path, tree: Option<&Tree>, tables: &Tables) -> Result<Self> {
        let text = super::read::read_text(path, tree, MAX_FILE)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        Ok(Config {
            tree: tree.cloned(),
            ..Config::read(&path.display().to_string(), &text, directory, tables)?
        })
    }

    /// Reads the text of a file; `name` is shown in errors.
    ///
    /// # Errors
    /// Same as [`Config::load`].
    pub fn read(name: &str, text: &str, directory: &Path, tables: &Tables) -> Result<Self> {
        Config::parse(name, text, directory, tables).map_err(config_error)
    }

    fn parse(name: &str, text: &str, directory: &Path, tables: &Tables) -> Result<Self> {
        required_version::check(name, text)?;
        let file: Option<File> = yaml::parse(name, text)?;
        let file = file.unwrap_or_default();
        let source = Source {
            name: name.to_owned(),
            text: text.to_owned(),
        };
        let resolved = |path: &Spanned<String>| directory.join(&path.value);
        Ok(Config {
            policy: source.policy(&file, tables)?,
            rules: file.rules.iter().map(resolved).collect(),
            baseline: file.baseline.as_ref().map(resolved),
            limits: limits(&source, &file.limits)?,
            gate: source.gate(&file.gate)?,
            named_rules: named_rules(&file),
            acknowledgement: {
                let gap = file.ignore.iter().find_map(|it| it.gap.as_ref());
                gap.map(|gap| (gap.value.clone(), yaml::span(gap)))
            },
            rule_places: file.rules.iter().map(yaml::span).collect(),
            baseline_place: file.baseline.as_ref().map(yaml::span),
            keys: file.facts_keys,
            directory: directory.to_owned(),
            source,
            tree: None,
        })
    }

    /// Rejects a file that was found and not named if it requires a strict check and acknowledges gaps: whoever writes the repository
    /// would decide what need not be judged.
    ///
    /// # Errors
    /// [`Error::Config`](imgcheck_base::error::Error::Config) with the position of the first acknowledgement.
    pub fn check_found(&self) -> Result<()> {
        let gap = match &self.acknowledgement {
            Some(gap) if self.policy.strict => gap,
            _ => return Ok(()),
        };
        let problem = format!(
            "`strict: true` does not use the acknowledgement of `{}` in a file that was found and not named",
            gap.0
        );
        let help = format!(
            "a change to the repository could change it: pass --config {} if you trust it",
            self.source.name
        );
        Err(self.source.fault(gap.1.clone(), &problem, &help))
    }

    /// The tree that its rules must be in.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// The file as it was named or found.
    pub fn file(&self) -> Option<&str> {
        Some(self.source.name.as_str()).filter(|name| !name.is_empty())
    }

    /// Rejects missing rule files and directories.
    ///
    /// # Errors
    /// [`Error::Config`](imgcheck_base::error::Error::Config) with the position.
    pub fn check_rule_paths(&self) -> Result<()> {
        for (path, place) in self.rules.iter().zip(&self.rule_places) {
            if is_absent(path) {
                let problem = format!("no file or directory {}", path.display());
                let help = "paths of rule files are relative to this file";
                return Err(self.source.fault(place.clone(), &problem, help));
            }
        }
        Ok(())
    }

    /// Reads the baseline, if there is one.
    ///
    /// # Errors
    /// Same as [`Baseline::load`]; [`Error::Config`](imgcheck_base::error::Error::Config) with the position if the file is missing.
    pub fn load_baseline(&self) -> Result<Baseline> {
        let Some(path) = &self.baseline else {
            return Ok(Baseline::default());
        };
        match &self.baseline_place {
            Some(place) if is_absent(path) => {
                let problem = format!("no baseline file {}", path.display());
                let help = "create one with --write-baseline FILE, or use a JSON report; the path is relative to this file";
                Err(self.source.fault(place.clone(), &problem, help))
            }
            _ => Baseline::load(path),
        }
    }

    /// Rejects unknown rule ids, and patterns that match no rule.
    ///
    /// # Errors
    /// [`Error::Config`](imgcheck_base::error::Error::Config) with the position.
    pub fn check_rules(&self, ids: &[&str]) -> Result<()> {
        for (named, place) in &self.named_rules {
            if ids.iter().any(|id| glob(id, named)) {
                continue;
            }
            let help = match nearest(named, ids.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "run `imgcheck rules list` to see all rules".to_owned(),
            };
            let problem = format!("unknown rule `{named}`");
            return Err(self.source.fault(place.clone(), &problem, &help));
        }
        Ok(())
    }
}

/// Whether a path certainly does not exist.
fn is_absent(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

fn named_rules(file: &File) -> Vec<(String, Range<usize>)> {
    let severities = file.severities.0.iter().map(|(rule, _)| rule);
    let ignores = file.ignore.iter().filter_map(|it| it.rule.as_ref());
    severities
        .chain(ignores)
        .map(|rule| (rule.value.clone(), yaml::span(rule)))
        .collect()
}

fn limits(source: &Source, pairs: &Pairs) -> Result<Limits> {
    let mut limits = Limits::default();
    for (name, value) in &pairs.0 {
        let limit = source.located(name, Limit::named(&name.value))?;
        let value = source.located(value, limit.parse(&value.value))?;
        limits.set(limit, value);
    }
    Ok(limits)
}

/// The JSON Schema of a configuration file.
pub fn schema() -> Schema {
    json_schema::of_input::<File>("config.json")
}
