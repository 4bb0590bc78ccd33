//! What README and book tell people to write is accepted: options, configurations, rules, steps of pipelines.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use imgcheck_rules::rules::functions;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use regex::Regex;
use serde_json::Value;

use super::{book, pages};
use crate::program::{imgcheck, repository};

const SAMPLE: &str = "testdata/sample/pytorch-cuda-v2.9.tar";

/// The code blocks of all pages in this language, each with the page that contains it.
fn blocks(language: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let mut inside = false;
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if *info == *language => {
                    blocks.push((page.display().to_string(), String::new()));
                    inside = true;
                }
                Event::Text(text) if inside => blocks.last_mut().unwrap().1.push_str(&text),
                Event::End(_) => inside = false,
                _ => {}
            }
        }
    }
    blocks
}

/// The options that the help of a command names.
fn options(command: &[&str]) -> BTreeSet<String> {
    let output = imgcheck().args(command).arg("--help").output().unwrap();
    assert!(output.status.success(), "{command:?} is no command");
    let help = String::from_utf8(output.stdout).unwrap();
    let option = Regex::new(r"(?m)(?:^|[\s,])(--?[a-zA-Z][a-z-]*)").unwrap();
    option
        .captures_iter(&help)
        .map(|found| found[1].to_owned())
        .collect()
}

#[test]
fn commands_in_examples_have_the_options_that_they_use() {
    let group = ["rules", "cache", "sweep"];
    let commands = [
        "check",
        "facts",
        "claims",
        "diff",
        "tree",
        "lint",
        "requirements",
        "size",
        "preflight",
        "serve",
        "attest",
        "verify",
        "completions",
        "man",
        "help",
    ];
    let mut count = 0;
    let mut faults = Vec::new();
    for (page, block) in blocks("sh") {
        for line in block.replace("\\\n", " ").lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(at) = words.iter().position(|word| *word == "imgcheck") else {
                continue;
            };
            // Here it is the name of a release.
            if words[0] == "helm" {
                continue;
            }
            let own: Vec<&str> = words[at + 1..]
                .iter()
                .copied()
                .take_while(|word| !["|", "||", "&&", "#", ";", ">"].contains(word))
                .collect();
            // Programs that are released have it.
            if own.first() == Some(&"serve") && !cfg!(all(feature = "gate", feature = "kube")) {
                continue;
            }
            let command: &[&str] = match own.first() {
                Some(first) if group.contains(first) => &own[..own.len().min(2)],
                Some(first) if commands.contains(first) => &own[..1],
                _ => &[],
            };
            let known = options(command);
            for word in own
                .iter()
                .filter(|word| word.len() > 1 && word.starts_with('-'))
            {
                let option = word.split('=').next().unwrap();
                if !known.contains(option) {
                    faults.push(format!("{page}: {line}: there is no {option}"));
                }
                count += 1;
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 20, "only {count} options were seen");
}

/// Writes a block that begins with a comment `# PATH` to that path below the directory.
fn write_named(directory: &Path, block: &str) -> Option<String> {
    let name = block.lines().next()?.strip_prefix("# ")?;
    if name.contains(' ') || !name.ends_with(".yaml") {
        return None;
    }
    let path = directory.join(name);
    fs::create_dir_all(path.parent()?).unwrap();
    fs::write(path, block).unwrap();
    Some(name.to_owned())
}

#[test]
fn configurations_in_examples_are_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let here = |name: &str| directory.path().join(name);
    for (_, block) in blocks("yaml")
        .iter()
        .filter(|(_, block)| block.starts_with("# ci/rules/"))
    {
        let name = write_named(directory.path(), block).unwrap();
        imgcheck()
            .args(["rules", "test"])
            .arg(here(&name))
            .assert()
            .success();
    }
    let mut count = 0;
    for (page, block) in blocks("yaml") {
        if !block.starts_with("# .imgcheck.yaml\n") {
            continue;
        }
        write_named(directory.path(), &block).unwrap();
        // A baseline has to be there.
        if block.contains("\nbaseline:") {
            fs::create_dir_all(here("ci")).unwrap();
            let baseline = here("ci/imgcheck-baseline.json");
            let written = imgcheck()
                .arg("--write-baseline")
                .arg(baseline)
                .arg(repository(SAMPLE))
                .output()
                .unwrap();
            assert_ne!(written.status.code(), Some(2), "{written:?}");
        }
        let output = imgcheck()
            .arg("--config")
            .arg(here(".imgcheck.yaml"))
            .arg(repository(SAMPLE))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{page}:\n{block}\n{said}"
        );
        count += 1;
    }
    assert!(count >= 10, "only {count} configurations were seen");
}

#[test]
fn steps_in_examples_use_the_inputs_that_there_are() {
    let inputs = |file: &str, end: &str| -> Value {
        let text = fs::read_to_string(repository(file)).unwrap();
        imgcheck_base::yaml::parse(file, text.split(end).next().unwrap())
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let action = inputs("action.yml", "\n---\n");
    let template = inputs("ci/gitlab/imgcheck.gitlab-ci.yml", "\n---\n");
    let hooks = inputs(".pre-commit-hooks.yaml", "\n---\n");
    let ids: Vec<&Value> = hooks
        .as_array()
        .unwrap()
        .iter()
        .map(|hook| &hook["id"])
        .collect();
    let mut seen = BTreeSet::new();
    let blocks = blocks("yaml").into_iter().flat_map(|(page, block)| {
        let documents = block.split("\n---\n").map(str::to_owned);
        let documents: Vec<_> = documents.map(|it| (page.clone(), it)).collect();
        documents
    });
    for (page, block) in blocks {
        if !block.contains("imgcheck/imgcheck") {
            continue;
        }
        let document: Value =
            imgcheck_base::yaml::parse(&page, &block).unwrap_or_else(|error| panic!("{error}"));
        each(&document, &mut |map| {
            let (given, known) = if map["uses"]
                .as_str()
                .is_some_and(|uses| uses.starts_with("imgcheck/imgcheck@"))
            {
                seen.insert("action");
                (&map["with"], &action["inputs"])
            } else if map["remote"]
                .as_str()
                .is_some_and(|remote| remote.ends_with("imgcheck.gitlab-ci.yml"))
            {
                seen.insert("template");
                (&map["inputs"], &template["spec"]["inputs"])
            } else {
                if map["repo"]
                    .as_str()
                    .is_some_and(|repo| repo.ends_with("/imgcheck/imgcheck"))
                {
                    seen.insert("hook");
                    for hook in map["hooks"].as_array().unwrap() {
                        assert!(ids.contains(&&hook["id"]), "{page}: {hook}");
                    }
                }
                return;
            };
            for name in given.as_object().unwrap().keys() {
                assert!(
                    known.get(name).is_some(),
                    "{page}: there is no input {name}"
                );
            }
            let is_there = |name: &str| given.get(name).is_some();
            assert!(
                is_there("image") || is_there("lint"),
                "{page}: with nothing to check"
            );
        });
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
}

/// Every mapping of a document.
fn each(value: &Value, visit: &mut impl FnMut(&Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| each(item, visit)),
        Value::Object(map) => {
            visit(value);
            map.values().for_each(|item| each(item, visit));
        }
        _ => {}
    }
}

#[test]
fn the_example_rule_passes_its_own_tests() {
    let (_, rule) = blocks("yaml")
        .into_iter()
        .find(|(page, _)| page.ends_with("writing-rules.md"))
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("team-python.yaml");
    fs::write(&file, rule).unwrap();
    imgcheck()
        .args(["rules", "test"])
        .arg(file)
        .assert()
        .success();
}

#[test]
fn the_book_lists_every_function() {
    let page = fs::read_to_string(book().join("writing-rules.md")).unwrap();
    let chapter = page
        .split("\n## Functions\n")
        .nth(1)
        .unwrap()
        .split("\n## ")
        .next()
        .unwrap();
    let call = Regex::new(r"`([a-zA-Z]+\([a-z, ]*\))`").unwrap();
    // The first column of the table of our own functions, which is the last one of the chapter.
    let own = chapter.rsplit("| function |").next().unwrap();
    let listed: BTreeSet<String> = own
        .lines()
        .filter_map(|row| row.strip_prefix("| ")?.split(" | ").next())
        .flat_map(|cell| {
            call.captures_iter(cell)
                .map(|found| found[1].to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    let known: BTreeSet<String> = functions::FUNCTIONS
        .iter()
        .map(|function| function.meaning.split('`').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(listed, known);
    for name in functions::STANDARD {
        let word = Regex::new(&format!(r"[`.(]{name}(?:\(|`)")).unwrap();
        assert!(
            word.is_match(chapter),
            "CEL's own function {name} is not described"
        );
    }
}

/// Its blocks leave out what commands share, so each option must be in one of them.
#[test]
fn the_page_of_commands_has_every_option() {
    let page = fs::read_to_string(book().join("commands.md")).unwrap();
    let shown = Regex::new(r"(?m)^ +(?:-[a-z], )?(--[a-z-]+)").unwrap();
    let shown: BTreeSet<&str> = shown
        .captures_iter(&page)
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    let mut faults = Vec::new();
    for command in [
        "check",
        "facts",
        "claims",
        "diff",
        "tree",
        "lint",
        "requirements",
        "size",
        "preflight",
        "attest",
        "verify",
        "explain",
        "init",
        "rules list",
        "cache",
        "knowledge",
        "sweep plan",
        "sweep run",
        "sweep judge",
        "sweep manifests",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let options = options(&words);
        let hidden = options
            .iter()
            .filter(|it| it.starts_with("--") && !shown.contains(it.as_str()));
        faults.extend(hidden.map(|option| format!("{command} {option}")));
    }
    assert!(faults.is_empty(), "commands.md lacks {faults:?}");
}

#[test]
fn the_page_of_diff_lists_every_key() {
    let sample = repository(SAMPLE);
    let output = imgcheck()
        .args(["diff", "-f", "json"])
        .args([&sample, &sample])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let known: BTreeSet<String> = document.as_object().unwrap().keys().cloned().collect();
    let page = fs::read_to_string(book().join("diff.md")).unwrap();
    let code = Regex::new("`([a-z]+)`").unwrap();
    let listed: BTreeSet<String> = page
        .lines()
        .filter_map(|row| row.strip_prefix("| `")?.split_once(" | "))
        .flat_map(|(cell, _)| {
            code.captures_iter(&format!("`{cell}"))
                .map(|found| found[1].to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(listed, known);
}
