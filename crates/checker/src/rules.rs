//! The rules themselves: lists, pages, tests, schemas.

use std::path::{Path, PathBuf};

use super::state::Checker;
use super::{attest, codes, facts};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::spelling::nearest;
use imgcheck_report::{self as report, printable};
use imgcheck_rules::policy;
use imgcheck_rules::rules::{RuleSet, file, pages, testing};
use imgcheck_source::attest::predicate;

/// A JSON Schema that imgcheck publishes.
///
/// ```
/// let schema = imgcheck::Schema::Report.to_json();
/// assert!(schema.contains("findings"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// Rule files.
    Rule,
    /// The configuration file.
    Configuration,
    /// Reports in JSON.
    Report,
    /// Reports of [`Checker::lint`](crate::Checker::lint) in JSON.
    Lint,
    /// Reports of [`Checker::preflight`](crate::Checker::preflight) in JSON.
    Preflight,
    /// [`ImageFacts`](crate::ImageFacts) in JSON.
    Facts,
    /// Reports of `imgcheck size` in JSON.
    Size,
    /// Reports of `imgcheck requirements` in JSON.
    Requirements,
    /// The verdict that [`Checker::attest`](crate::Checker::attest) signs.
    Verdict,
    /// What [`Checker::verify`](crate::Checker::verify) verified, in JSON.
    Verify,
    /// [`FleetRecord`](imgcheck_report::fleet::FleetRecord), a line of the results of a sweep.
    Fleet,
}

impl Schema {
    /// The schema as a JSON document.
    pub fn to_json(self) -> String {
        let schema = match self {
            Schema::Rule => file::schema(),
            Schema::Configuration => policy::config::schema(),
            Schema::Report => report::json::schema(),
            Schema::Lint => report::json::lint_schema(),
            Schema::Preflight => report::json::preflight_schema(),
            Schema::Facts => facts::schema(),
            Schema::Size => report::json::sizes_schema(),
            Schema::Requirements => report::json::requirements_schema(),
            Schema::Verdict => predicate::schema(),
            Schema::Verify => attest::schema(),
            Schema::Fleet => report::fleet::schema(),
        };
        // The schema itself has its keys in a readable order, its value does not.
        serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
    }
}

/// The rules of a checker.
impl Checker {
    /// The digest of what judges: the built-in rules, those of the user in the order of their ids, and the settings of the policy. With one
    /// digest, the same facts and targets have the same verdict on the same day, if the knowledge is of one day.
    pub(crate) fn rules_digest(&self) -> String {
        self.rules.digest(self.policy.settings())
    }

    /// A table of all rules: id, severity, title. `width` is the width of the terminal in columns.
    pub fn rule_table(&self, width: Option<u16>) -> String {
        report::text::rules(&pages::list_table(&self.rules), width)
    }

    /// The page of a rule: what goes wrong, how it looks, how to confirm it, what to do.
    ///
    /// # Errors
    /// No rule has this id.
    pub fn rule_page(&self, id: &str) -> Result<String> {
        let rule = self.rules.get(id).ok_or_else(|| self.unknown_rule(id))?;
        Ok(printable(&pages::render(rule, self.rules.tables())))
    }

    /// What a rule, the code of a gap or the code of an error means, for a terminal of this width in columns: an example, why it
    /// matters, and what to do. A name may be written as in a report: `error[claim-torch-version]`.
    ///
    /// # Errors
    /// Neither rule nor code has this name.
    pub fn explain(&self, name: &str, width: Option<u16>) -> Result<String> {
        let id = name.rsplit('[').next().unwrap_or(name);
        let id = id.trim_end_matches([']', ':']);
        let page = match self.rules.get(id) {
            Some(rule) => pages::explanation(rule, self.rules.tables()),
            None => codes::page(id).ok_or_else(|| self.unknown_rule(id))?,
        };
        Ok(report::text::page(&page, width))
    }

    pub(crate) fn unknown_rule(&self, id: &str) -> Error {
        let ids: Vec<&str> = self.rules.rules().map(|rule| rule.id.as_str()).collect();
        let contains = ids.iter().filter(|known| known.contains(id));
        let mut similar: Vec<&str> = contains.copied().collect();
        let known = ids.iter().copied().chain(codes::names());
        similar.extend(nearest(id, known).filter(|it| !similar.contains(it)));
        Error::usage(format!("there is no rule {id}")).with_help(match similar.as_slice() {
            [] => "run `imgcheck rules list` to list them".to_owned(),
            similar => format!("did you mean {}?", similar.join(", ")),
        })
    }

    /// Runs the tests in these rule files, or the tests of all rules of the checker if no file is given. Returns a summary, and
    /// whether all tests passed.
    ///
    /// # Errors
    /// A rule file is wrong.
    pub fn test_rules(&self, paths: &[PathBuf]) -> Result<(String, bool)> {
        let mut given = RuleSet::default();
        for path in paths {
            given.add_path(path)?;
        }
        let rules = if paths.is_empty() {
            &*self.rules
        } else {
            &given
        };
        let results = testing::run(rules.rules());
        let all_passed = results.failures().next().is_none();
        Ok((printable(&results.to_string()), all_passed))
    }

    /// Writes the page of every rule, and an index, into a directory. Other files there stay as they are.
    ///
    /// # Errors
    /// A page cannot be written.
    pub fn write_rule_pages(&self, directory: &Path) -> Result<()> {
        pages::write(&self.rules, directory)
    }
}
