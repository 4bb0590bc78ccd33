//! CONTRIBUTING is right: its example rule works, its files exist, and what it says about facts, formats and commands holds.

use std::fs;

use regex::Regex;

use crate::program::{imgcheck, repository};

fn text(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_file_that_it_names_exists() {
    let path = Regex::new(r"`((?:src|tests|docs|rules|testkit|fuzz|ci)/[^` ]*)`").unwrap();
    let text = text("CONTRIBUTING.md");
    let paths = path.captures_iter(&text).map(|found| found[1].to_owned());
    let paths = paths.filter(|path| {
        let is_pattern = ["NAME", "GROUP", "ID", "example-"];
        !is_pattern.iter().any(|word| path.contains(word))
    });
    let paths: Vec<String> = paths.collect();
    assert!(paths.len() > 20);
    for path in paths {
        assert!(repository(&path).exists(), "{path} does not exist");
    }
}

#[test]
fn every_name_that_it_places_in_a_file_is_there() {
    let place = Regex::new(r"`(\w+)` in `([a-z_/]+\.rs)`").unwrap();
    let contributing = text("CONTRIBUTING.md");
    let places: Vec<_> = place.captures_iter(&contributing).collect();
    assert!(places.len() >= 2);
    for found in places {
        let (name, path) = (&found[1], &found[2]);
        let word = Regex::new(&format!(r"\b{name}\b")).unwrap();
        assert!(word.is_match(&text(path)), "{path} has no {name}");
    }
}

#[test]
fn the_example_rule_passes_its_tests_and_judges_an_image() {
    let contributing = text("CONTRIBUTING.md");
    let rule = contributing.split("```yaml\n").nth(1).unwrap();
    let rule = rule.split("```").next().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("example-nccl-copies.yaml");
    fs::write(&file, rule).unwrap();
    imgcheck()
        .args(["rules", "test"])
        .arg(&file)
        .assert()
        .success();
    let output = imgcheck()
        .arg("--rules")
        .arg(&file)
        .arg(repository("testdata/sample/pytorch-cuda-v2.9.tar"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

/// The page of facts has every field of the types of facts, with its documentation: nothing else has to be edited to add one.
#[test]
fn a_fact_is_defined_once() {
    let source = text("crates/rules/src/rules/facts.rs");
    let page = text("docs/src/rules/facts.md");
    let structs = Regex::new(r"(?s)pub struct (\w+) \{(.*?)\n\}").unwrap();
    let field =
        Regex::new(r"((?:    ///[^\n]*\n)+)(?:    #\[[^\n]*\n|    [ )][^\n]*\n)*    pub (\w+):")
            .unwrap();
    let mut count = 0;
    for found in structs.captures_iter(&source) {
        if ["Facts", "PythonFacts"].contains(&&found[1]) {
            let fields = field.captures_iter(&found[2]);
            for field in fields.filter(|it| !it[0].contains("#[serde(skip)]")) {
                let meaning = field[1].replace("///", "");
                let words: Vec<&str> = meaning.split_whitespace().collect();
                let meaning = words.join(" ");
                assert!(page.contains(&meaning), "{}: {meaning}", &field[2]);
                count += 1;
            }
        }
    }
    assert!(count > 10, "only {count} fields were seen");
    let example = text("CONTRIBUTING.md");
    let example = example.split("```rust\n").nth(1).unwrap();
    for line in example.split("```").next().unwrap().lines() {
        assert!(
            source.contains(line),
            "crates/rules/src/rules/facts.rs has no `{line}`"
        );
    }
}

#[test]
fn every_format_is_described_and_its_alarms_are_known() {
    let page = text("docs/src/formats.md");
    let alarms = text("tests/support/formats.rs");
    let output = imgcheck()
        .args(["check", "--format", "no-such-format", "image"])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let list = error.split("[possible values: ").nth(1).unwrap();
    for format in list.split(']').next().unwrap().split(", ") {
        assert!(page.contains(&format!("| `{format}` |")), "{format}");
        assert!(alarms.contains(&format!("\"{format}\"")), "{format}");
    }
}

#[test]
fn every_command_has_a_chapter() {
    let page = text("docs/src/commands.md");
    let help = imgcheck().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let command = Regex::new(r"(?m)^  ([a-z]+)  ").unwrap();
    let commands = help.split("Commands:").nth(1).unwrap();
    let commands = commands.split("\n\n").next().unwrap();
    let mut count = 0;
    for found in command.captures_iter(commands) {
        count += 1;
        let name = &found[1];
        assert!(
            name == "help" || page.contains(&format!("imgcheck {name}")),
            "{name} has no chapter"
        );
    }
    assert!(count > 5, "only {count} commands were seen");
}

/// `cargo remove` drops entries of the profile for crates that are no direct dependencies.
#[test]
fn fuzzing_compiles_dependencies_as_the_tests_do() {
    let profiles = |path: &str| {
        let manifest: toml::Table = toml::from_str(&text(path)).unwrap();
        manifest["profile"]["dev"]["package"]
            .as_table()
            .unwrap()
            .clone()
    };
    let tests = profiles("Cargo.toml");
    for (package, profile) in profiles("fuzz/Cargo.toml") {
        assert_eq!(tests.get(&package), Some(&profile), "{package}");
    }
}
