//! Rule files of any text. An accepted rule can be evaluated, has a page, and its tests can be run; the error of another one names
//! the file.

use imgcheck_base::bounds::Bounds;
use imgcheck_rules::rules::{Facts, RuleSet, pages, testing};

pub fn fuzz(text: &str) {
    let mut rules = RuleSet::default();
    if let Err(error) = rules.add_text("fuzzed.yaml", text) {
        assert!(error.to_string().contains("fuzzed.yaml"), "{error}");
        return;
    }
    let _ = rules.evaluate(&Facts::default(), &Bounds::default());
    let _ = testing::run(rules.rules());
    for rule in rules.rules() {
        assert!(pages::render(rule, rules.tables()).contains(&rule.id));
    }
}
