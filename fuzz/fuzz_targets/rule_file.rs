//! Rule files of any text. One that is accepted can be evaluated, has a page, and its own tests can be run; one that is not is
//! refused with its name.

#![no_main]

use imgcheck::internals::rules::{Facts, RuleSet, pages, testing};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut rules = RuleSet::default();
    if let Err(error) = rules.add_text("fuzzed.yaml", text) {
        assert!(error.to_string().contains("fuzzed.yaml"), "{error}");
        return;
    }
    let _ = rules.evaluate(&Facts::default());
    let _ = testing::run(rules.rules());
    for rule in rules.rules() {
        assert!(pages::render(rule).contains(&rule.id));
    }
});
