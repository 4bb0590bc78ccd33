//! A finding of a rule as a user meets it, from the first test of the rule that has one.

use super::evaluate::{Surroundings, evaluate};
use super::rule::Rule;
use super::tables::Tables;
use imgcheck_base::bounds::Bounds;
use imgcheck_model::finding::Finding;
use imgcheck_model::knowledge;

/// The finding; `None` if no test of the rule has one that stays the same when the knowledge tables are renewed.
pub fn example(rule: &Rule, tables: &Tables) -> Option<Finding> {
    let surroundings = Surroundings {
        tables,
        bounds: &Bounds::default(),
    };
    let day = knowledge::date().ok()?;
    let tests = rule.tests().ok()?;
    let failing = tests.iter().filter(|test| test.expect.findings > 0);
    let mut findings = failing.filter_map(|test| {
        let facts = test.given.facts().ok()?;
        let findings = evaluate(std::iter::once(rule), &facts, &surroundings).ok()?;
        findings.into_iter().next()
    });
    findings.find(|finding| !text(finding).contains(&day))
}

/// The finding in the lines of the report for people, without styles.
pub fn text(finding: &Finding) -> String {
    let mut text = format!(
        "{}[{}]: {}",
        finding.severity.as_str(),
        finding.rule,
        finding.message
    );
    if let Some(path) = &finding.path {
        text += &format!("\n  file: {path}");
    }
    if let Some(help) = &finding.help {
        text += &format!("\n  help: {}", help.trim_end().replace('\n', "\n        "));
    }
    text
}
