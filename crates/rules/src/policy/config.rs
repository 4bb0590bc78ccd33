//! The configuration file: reads it, and reports invalid values with their line and column.

mod clusters;
mod keys;

use std::ops::Range;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use schemars::Schema;

use super::expectation;
use super::file::{FAIL_ON, File, IgnoreEntry, SEVERITIES, TargetEntry};
use super::gate::GateConfig;
use super::ignore::{Ignore, IgnoreTarget};
use super::{AllowedStack, Baseline, Expectation, Policy, Requirement, SeverityChange};
use imgcheck_base::beneath::Tree;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::gap::GapCode;
use imgcheck_base::glob::glob;
use imgcheck_base::json_schema;
use imgcheck_base::limits::{Limit, Limits};
use imgcheck_base::required_version;
use imgcheck_base::spelling::{InvalidInput, nearest};
use imgcheck_base::yaml::{self, Pairs, Spanned};
use imgcheck_model::finding::Location;
use imgcheck_model::targets::{DriverVersion, Gpu, Tables, Target};

/// The largest configuration file, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// A configuration file; empty if there is none.
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

/// The text of the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    /// The file as the user named it.
    name: String,
    text: String,
}

impl Config {
    /// Reads a file; one of a tree only if it is in it. Paths in it are relative to its directory, and its targets have GPUs of
    /// the table.
    ///
    /// # Errors
    /// [`Error::Config`]: the file cannot be read, or a key or value is invalid.
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
    /// As [`Config::load`].
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
            limits: source.limits(&file.limits)?,
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
    /// [`Error::Config`] with the position of the first acknowledgement.
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

    /// The file as it was named or found; `None` without one.
    pub fn file(&self) -> Option<&str> {
        Some(self.source.name.as_str()).filter(|name| !name.is_empty())
    }

    /// Rejects missing rule files and directories.
    ///
    /// # Errors
    /// [`Error::Config`] with the position.
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
    /// As [`Baseline::load`]; [`Error::Config`] with the position if the file is missing.
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
    /// [`Error::Config`] with the position.
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

/// Turns the diagnostic of a YAML file into an error of the configuration.
fn config_error(error: Error) -> Error {
    match error {
        Error::Rule { problem } => Error::config(problem),
        other => other,
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

impl Source {
    fn policy(&self, file: &File, tables: &Tables) -> Result<Policy> {
        let defaults = Policy::default();
        Ok(Policy {
            fail_on: match &file.fail_on {
                Some(word) => self.one_of(word, "fail-on", &FAIL_ON)?,
                None => defaults.fail_on,
            },
            strict: file.strict,
            severities: self.severities(&file.severities)?,
            targets: self.each(&file.targets, |source, it| source.target(it, tables))?,
            clusters: self.clusters(&file.clusters, tables)?,
            digest_namespaces: file.digests.iter().map(|it| it.value.clone()).collect(),
            expectations: self.each(&file.expect, Source::expectation)?,
            stacks: self.each(&file.stacks, Source::stack)?,
            consistent: self.each(&file.consistent, Source::subject)?,
            ignores: self.each(&file.ignore, Source::ignore)?,
            ..defaults
        })
    }

    fn each<T, U>(&self, values: &[T], read: impl Fn(&Self, &T) -> Result<U>) -> Result<Vec<U>> {
        values.iter().map(|value| read(self, value)).collect()
    }

    fn severities(&self, pairs: &Pairs) -> Result<Vec<SeverityChange>> {
        self.each(&pairs.0, |source, (rule, severity)| {
            Ok(SeverityChange {
                rule: rule.value.clone(),
                severity: source.one_of(severity, "severity", &SEVERITIES)?,
            })
        })
    }

    fn limits(&self, pairs: &Pairs) -> Result<Limits> {
        let mut limits = Limits::default();
        for (name, value) in &pairs.0 {
            let limit = self.located(name, Limit::named(&name.value))?;
            let value = self.located(value, limit.parse(&value.value))?;
            limits.set(limit, value);
        }
        Ok(limits)
    }

    fn target(&self, entry: &TargetEntry, tables: &Tables) -> Result<Target> {
        let target = Target {
            name: entry.name.value.clone(),
            gpus: entry.gpus.iter().map(|gpu| gpu.value.clone()).collect(),
            driver: entry.driver.as_ref().map(|driver| driver.value.clone()),
        };
        if target.gpus.is_empty() && target.driver.is_none() {
            let problem = format!("target `{}` has no GPUs and no driver", target.name);
            let help = "add `gpus: [a100]`, `driver: \"535.183.06\"`, or both";
            return Err(self.fault(yaml::span(&entry.name), &problem, help));
        }
        self.check_pairs(&entry.gpus, entry.driver.as_ref(), tables)?;
        Ok(target)
    }

    /// Checks that the GPUs and the driver are known, and that one machine can have them.
    fn check_pairs(
        &self,
        gpus: &[Spanned<String>],
        driver: Option<&Spanned<String>>,
        tables: &Tables,
    ) -> Result<()> {
        let read = |source: &Self, gpu: &Spanned<String>| {
            source.located(gpu, tables.gpus.parse(&gpu.value))
        };
        let gpus: Vec<Gpu> = self.each(gpus, read)?;
        let Some(driver) = driver else {
            return Ok(());
        };
        let version = self.located(driver, DriverVersion::parse(&driver.value))?;
        self.located(driver, tables.check_pairs(&gpus, &version))
    }

    fn expectation(&self, text: &Spanned<String>) -> Result<Expectation> {
        let origin = format!("{}:{}", self.name, self.location(&yaml::span(text)).line);
        self.located(text, Expectation::parse(&text.value, &origin))
    }

    fn stack(&self, row: &Pairs) -> Result<AllowedStack> {
        let mut name = None;
        let mut parts = Vec::new();
        for (key, value) in &row.0 {
            if key.value == "name" {
                name = Some(value.value.clone());
                continue;
            }
            self.located(key, expectation::check_subject(&key.value))?;
            let requirement = Requirement::of_stack(&key.value, &value.value);
            parts.push(self.located(value, requirement)?);
        }
        // An empty row has no position.
        let place = row.0.first().map_or(0..1, |(key, _)| yaml::span(key));
        if parts.is_empty() {
            let help = "name some components, such as {torch: \"2.8.*\", cuda: \"12.8\"}";
            return Err(self.fault(
                place,
                "an allowed stack without components allows every image",
                help,
            ));
        }
        let written: Vec<String> = row
            .0
            .iter()
            .map(|(key, value)| format!("{} {}", key.value, value.value))
            .collect();
        Ok(AllowedStack {
            name: name.unwrap_or_else(|| written.join(", ")),
            parts,
        })
    }

    fn subject(&self, name: &Spanned<String>) -> Result<String> {
        self.located(name, expectation::check_subject(&name.value))?;
        Ok(name.value.clone())
    }

    fn ignore(&self, entry: &IgnoreEntry) -> Result<Ignore> {
        let (named, target) = match (&entry.rule, &entry.gap) {
            (Some(rule), None) => (rule, IgnoreTarget::Rule(rule.value.clone())),
            (None, Some(gap)) => (gap, self.gap(gap)?),
            (Some(_), Some(gap)) => {
                let help = "write two ignores: one for the rule, one for the gap";
                return Err(self.fault(
                    yaml::span(gap),
                    "an ignore has `rule` or `gap`, not both",
                    help,
                ));
            }
            (None, None) => {
                let given = [&entry.reason, &entry.path, &entry.image, &entry.expires];
                let place = given.into_iter().flatten().next().map_or(0..1, yaml::span);
                let help = "add `rule: ID` to ignore findings, or `gap: CODE` to acknowledge gaps";
                return Err(self.fault(place, "an ignore without `rule` or `gap`", help));
            }
        };
        let place = yaml::span(named);
        let given = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
        let reason = given(&entry.reason).filter(|reason| !reason.trim().is_empty());
        let Some(reason) = reason else {
            let problem = format!("ignore of `{}` has no reason", named.value);
            let help = "add a `reason:` for future readers";
            return Err(self.fault(place, &problem, help));
        };
        Ok(Ignore {
            target,
            image: given(&entry.image),
            path: given(&entry.path),
            reason,
            expires: entry
                .expires
                .as_ref()
                .map(|day| self.day(day))
                .transpose()?,
            location: self.location(&place),
        })
    }

    fn gap(&self, pattern: &Spanned<String>) -> Result<IgnoreTarget> {
        let codes = GapCode::ALL.map(GapCode::as_str);
        if codes.iter().any(|code| glob(code, &pattern.value)) {
            return Ok(IgnoreTarget::Gap(pattern.value.clone()));
        }
        let help = format!("expected one of: {}", codes.join(", "));
        let problem = format!("unknown gap `{}`", pattern.value);
        Err(self.fault(yaml::span(pattern), &problem, &help))
    }

    pub(super) fn day(&self, text: &Spanned<String>) -> Result<NaiveDate> {
        let written = text.value.trim();
        let day = NaiveDate::parse_from_str(written, "%Y-%m-%d").ok();
        // The pattern alone would accept `27-3-1`.
        day.filter(|_| written.len() == "2027-03-01".len())
            .ok_or_else(|| {
                let problem = format!("invalid date `{written}`");
                let help = "write the last valid day as YYYY-MM-DD, such as 2027-03-01";
                self.fault(yaml::span(text), &problem, help)
            })
    }

    pub(super) fn one_of<T: Copy>(
        &self,
        word: &Spanned<String>,
        what: &str,
        known: &[(&str, T)],
    ) -> Result<T> {
        let found = known.iter().find(|(name, _)| *name == word.value);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let help = match nearest(&word.value, names.iter().copied()) {
                Some(near) => format!(
                    "did you mean `{near}`? Expected one of: {}",
                    names.join(", ")
                ),
                None => format!("expected one of: {}", names.join(", ")),
            };
            self.fault(
                yaml::span(word),
                &format!("invalid {what} `{}`", word.value),
                &help,
            )
        })
    }

    /// Adds the position of a value to its error.
    fn located<T>(&self, value: &Spanned<String>, read: Result<T, InvalidInput>) -> Result<T> {
        read.map_err(|misread| self.fault(yaml::span(value), &misread.problem, &misread.help))
    }

    pub(super) fn fault(&self, place: Range<usize>, problem: &str, help: &str) -> Error {
        let error = yaml::fault(&self.name, &self.text, place, problem, Some(help));
        config_error(error)
    }

    fn location(&self, place: &Range<usize>) -> Location {
        let before = self.text.get(..place.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let column = before[line_start..].chars().count() + 1;
        let written = self.text.get(place.clone()).unwrap_or_default();
        Location {
            file: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column,
            end_column: column + written.lines().next().unwrap_or_default().chars().count(),
            text: line.to_owned(),
        }
    }
}

/// The JSON Schema of a configuration file.
pub fn schema() -> Schema {
    json_schema::of_input::<File>("config.json")
}
