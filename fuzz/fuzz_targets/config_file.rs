//! Configuration files, recipe tables, and arbitrary YAML. Every error names the file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use chrono::NaiveDate;
use imgcheck_base::error::Error;
use imgcheck_base::yaml;
use imgcheck_elf::Recipes;
use imgcheck_model::targets::Tables;
use imgcheck_rules::policy::{Config, Expectation, Subjects};
use serde_json::Value;

static TABLES: LazyLock<Tables> =
    LazyLock::new(|| imgcheck_model::knowledge::targets().expect("the GPUs"));

const NAME: &str = "fuzzed.yaml";

pub fn fuzz(text: &str) {
    let known: Result<Value, Error> = yaml::parse(NAME, text);
    named(known.as_ref().err());
    named(Recipes::parse(NAME, text).as_ref().err());
    match Config::read(NAME, text, Path::new("configuration"), &TABLES) {
        Err(error) => named(Some(&error)),
        Ok(config) => {
            named(
                config
                    .check_rules(&["claim-cuda", "load-missing"])
                    .as_ref()
                    .err(),
            );
            let policy = config.policy;
            let day = NaiveDate::from_ymd_opt(2026, 1, 1).expect("a day");
            let _ = policy.facts(&[]);
            let subjects = Subjects::Images {
                typed: &["a/b:1"],
                recorded: &["c:2"],
            };
            let _ = policy.ignore_facts(subjects, &BTreeSet::new(), day);
            assert!(policy.apply(Vec::new(), "a/b:1", day).findings.is_empty());
        }
    }
    for line in text.lines() {
        let _ = Expectation::parse(line, "--expect");
    }
}

fn named(error: Option<&Error>) {
    if let Some(error) = error {
        assert!(error.to_string().contains(NAME), "{error}");
    }
}
