//! Dockerfiles, requirements, `environment.yml` and `pyproject.toml` of any text, with files beside them. Each reported position is
//! in the text, and the built-in rules about such files can be evaluated.
//!
//! The first letter is the kind of the file; a line `%% NAME` starts another file.

use std::collections::HashMap;
use std::sync::LazyLock;

use imgcheck_base::bounds::Bounds;
use imgcheck_fuzz::place::check;
use imgcheck_lint::lint::{self, FileKind, Neighbour, Sources};
use imgcheck_model::knowledge::Knowledge;
use imgcheck_rules::rules::evaluate::{Surroundings, evaluate};
use imgcheck_rules::rules::{Facts, RuleSet};

static KNOWLEDGE: LazyLock<Knowledge> =
    LazyLock::new(|| Knowledge::read().expect("the built-in tables"));
static RULES: LazyLock<RuleSet> = LazyLock::new(|| RuleSet::builtin().expect("the built-in rules"));

pub fn fuzz(text: &str) {
    let Some((letter, text)) = text.split_at_checked(1) else {
        return;
    };
    let (kind, name) = match letter {
        "D" => (FileKind::Dockerfile, "Dockerfile"),
        "R" => (FileKind::Requirements, "requirements.txt"),
        "E" => (FileKind::Environment, "environment.yml"),
        "L" => (FileKind::Lock, "uv.lock"),
        "C" => (FileKind::Compose, "compose.yml"),
        "Y" => (FileKind::Lock, "pixi.lock"),
        "B" => (FileKind::Bake, "docker-bake.hcl"),
        "X" => (FileKind::Pixi, "pixi.toml"),
        "S" => (FileKind::Setup, "setup.py"),
        "G" => (FileKind::Setup, "setup.cfg"),
        "O" => (FileKind::Cog, "cog.yaml"),
        "T" => (FileKind::Bento, "bentofile.yaml"),
        "K" => (FileKind::Skypilot, "task.sky.yaml"),
        "A" => (FileKind::Dstack, ".dstack.yml"),
        "V" => (FileKind::Devcontainer, "devcontainer.json"),
        _ => (FileKind::Pyproject, "pyproject.toml"),
    };
    let mut parts = text.split("\n%% ");
    let text = parts.next().unwrap_or_default();
    let mut files: HashMap<&str, &str> = parts.filter_map(|part| part.split_once('\n')).collect();
    let neighbours = |name: &str| match files.get(name) {
        Some(text) => Neighbour::Text((*text).to_owned()),
        None => Neighbour::Missing,
    };
    let _ = (FileKind::of_text("x.txt", text), FileKind::of_name(text));
    let Ok(sources) = lint::read(name, text, kind, &KNOWLEDGE, &neighbours) else {
        return;
    };
    files.insert(name, text);
    places(&sources, &files);
    let rules = RULES.rules().filter(|rule| rule.id.starts_with("lint-"));
    let surroundings = Surroundings {
        tables: RULES.tables(),
        bounds: &Bounds::default(),
    };
    let facts = Facts::of_sources(sources).expect("the built-in tables");
    evaluate(rules, &facts, &surroundings).expect("a judgement");
}

fn places(sources: &Sources, files: &HashMap<&str, &str>) {
    for stage in &sources.stages {
        let bases = stage.base.iter().map(|it| &it.location);
        let pins = stage.pins.iter().map(|it| &it.location);
        let variables = stage.env.iter().map(|it| &it.location);
        let directories = stage.search_directories.iter().map(|it| &it.location);
        for place in bases.chain(pins).chain(variables).chain(directories) {
            check(place, files);
        }
    }
}
