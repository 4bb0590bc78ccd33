//! The built-in rules' own tests, and what a faulty rule file looks like.
#![allow(clippy::unwrap_used)]

use imgcheck::rules::{RuleSet, testing};

#[test]
fn the_tests_of_all_rules_pass() {
    let set = RuleSet::builtin().unwrap();
    let report = testing::run(set.rules());
    assert_eq!(report.failures().count(), 0, "{report}");
}

#[test]
fn every_expression_of_the_builtin_rules_is_checked() {
    for rule in RuleSet::builtin().unwrap().rules() {
        rule.check().unwrap_or_else(|error| panic!("{error}"));
    }
}
