//! Manifests of any text, several in one input after lines `%% NAME`. Each reported place is in its file, and the rules about workloads can
//! be evaluated.

use std::collections::HashMap;
use std::sync::LazyLock;

use imgcheck_base::bounds::Bounds;
use imgcheck_fuzz::place::check;
use imgcheck_lint::workload::{self, Container, Kinds, WorkloadFacts};
use imgcheck_model::knowledge;
use imgcheck_rules::rules::evaluate::{Surroundings, evaluate};
use imgcheck_rules::rules::{Facts, RuleSet};

static KINDS: LazyLock<Kinds> =
    LazyLock::new(|| knowledge::table("workloads").expect("the built-in table"));
static RULES: LazyLock<RuleSet> = LazyLock::new(|| RuleSet::builtin().expect("the built-in rules"));

pub fn fuzz(text: &str) {
    let parts = text.split("\n%% ").enumerate();
    let files: Vec<(String, String)> = parts
        .map(|(index, part)| {
            let (name, text) = part.split_once('\n').unwrap_or((part, ""));
            (format!("{index}{}", name.trim()), text.to_owned())
        })
        .collect();
    let (workloads, malformed) = workload::read(&files, &[], &KINDS);
    for (name, error) in malformed {
        assert!(error.to_string().contains(&name), "{error}");
    }
    let texts: HashMap<&str, &str> = files.iter().map(|it| (&*it.0, &*it.1)).collect();
    for workload in &workloads {
        for (index, container) in workload.containers.iter().enumerate().take(4) {
            places(container, &texts);
            let facts = Facts {
                workload: Some(WorkloadFacts::of(workload, index)),
                ..Facts::default()
            };
            let rules = RULES.rules().filter(|rule| rule.id.starts_with("deploy-"));
            let surroundings = Surroundings {
                tables: RULES.tables(),
                bounds: &Bounds::default(),
            };
            evaluate(rules, &facts, &surroundings).expect("a judgement");
        }
    }
}

fn places(container: &Container, texts: &HashMap<&str, &str>) {
    let variables = container.env.iter().map(|it| &it.location);
    let mounts = container.mounts.iter().map(|it| &it.location);
    let unknown = container.unknown.iter().map(|it| &it.location);
    let gpu = container.gpu.iter().map(|it| &it.location);
    let own = [&container.location].into_iter();
    let all = own.chain(&container.command_location).chain(variables);
    for place in all.chain(mounts).chain(unknown).chain(gpu) {
        check(place, texts);
    }
}
