//! Arrows between modules run one way, as `docs/src/architecture.md` draws them.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

#[path = "layering/modules.rs"]
mod modules;

/// Source of one file without comments and without its tests, and the top-level module that it belongs to.
struct Source {
    path: PathBuf,
    module: String,
    code: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<Source> {
    let (mut pending, mut found) = (vec![root().join("src")], Vec::new());
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test(&path)
            {
                let inside = path.strip_prefix(root().join("src")).unwrap();
                let first = inside
                    .components()
                    .next()
                    .unwrap()
                    .as_os_str()
                    .to_str()
                    .unwrap();
                found.push(Source {
                    module: first.trim_end_matches(".rs").to_owned(),
                    code: code_of(&fs::read_to_string(&path).unwrap()),
                    path,
                });
            }
        }
    }
    found
}

fn is_test(path: &Path) -> bool {
    let inside = path.strip_prefix(root()).unwrap();
    inside
        .components()
        .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}

/// Cuts comments, modules of tests that a file declares, and the one that it contains, which by convention ends the file.
fn code_of(text: &str) -> String {
    let declared = Regex::new(
        r"(?m)^#\[cfg\(test\)\]\n(?:#\[path[^\n]*\n)?(?:pub(?:\([a-z]+\))? )?mod \w+;\n?",
    )
    .unwrap();
    let text = declared.replace_all(text, "");
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The boxes from the `modules` block of the architecture page: each line may use the lines above it.
fn drawn() -> Vec<Vec<String>> {
    let page = fs::read_to_string(root().join("docs/src/architecture.md")).unwrap();
    let block = page
        .split("```modules\n")
        .nth(1)
        .expect("a block of modules");
    let block = block.split("```").next().unwrap();
    block
        .lines()
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect()
}

/// The boxes as `src/lib.rs` declares them, in groups between blank lines.
fn declared() -> Vec<Vec<String>> {
    let library = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    library
        .split("\n\n")
        .map(|group| {
            group
                .lines()
                .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter(|group| !group.is_empty())
        .collect()
}

/// Modules that a file names: `crate::x`, `crate::{x, y::z}`, and `super::` where it leaves the module.
fn used(source: &Source) -> BTreeSet<String> {
    let path = Regex::new(r"\bcrate::([a-z_]+)").unwrap();
    let group = Regex::new(r"\bcrate::\{([^;]*)\};").unwrap();
    let nested = Regex::new(r"\{[^{}]*\}").unwrap();
    let item = Regex::new(r"(?:^|,)\s*([a-z_]+)").unwrap();
    let mut names: BTreeSet<String> = path
        .captures_iter(&source.code)
        .map(|found| found[1].to_owned())
        .collect();
    for found in group.captures_iter(&source.code) {
        let outermost = nested.replace_all(&found[1], "").into_owned();
        names.extend(
            item.captures_iter(&outermost)
                .map(|name| name[1].to_owned()),
        );
    }
    let depth = source
        .path
        .strip_prefix(root().join("src"))
        .unwrap()
        .components()
        .count();
    let is_module_root = depth == 1 || source.path.ends_with("mod.rs");
    let leaves = "super::".repeat(if is_module_root {
        depth.max(2) - 1
    } else {
        depth
    });
    let outside = Regex::new(&format!(r"\b{leaves}([a-z_]+)")).unwrap();
    names.extend(
        outside
            .captures_iter(&source.code)
            .map(|found| found[1].to_owned())
            .filter(|name| name != "super"),
    );
    names.remove(&source.module);
    names
}

fn arrows() -> BTreeMap<String, BTreeMap<String, PathBuf>> {
    let mut arrows: BTreeMap<String, BTreeMap<String, PathBuf>> = BTreeMap::new();
    for source in sources() {
        for name in used(&source) {
            arrows
                .entry(source.module.clone())
                .or_default()
                .insert(name, source.path.clone());
        }
    }
    arrows
}

#[test]
fn the_architecture_page_draws_the_modules_that_exist() {
    assert_eq!(drawn(), declared());
}

#[test]
fn a_module_uses_only_modules_above_it() {
    let level: BTreeMap<String, usize> = drawn()
        .into_iter()
        .enumerate()
        .flat_map(|(level, group)| group.into_iter().map(move |module| (module, level)))
        .collect();
    for (module, targets) in arrows() {
        for (target, path) in targets {
            if let (Some(from), Some(to)) = (level.get(&module), level.get(&target)) {
                assert!(
                    to <= from,
                    "{}: {module} must not know {target}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn modules_of_one_line_know_each_other_one_way_at_most() {
    let arrows = arrows();
    for (module, targets) in &arrows {
        for target in targets.keys() {
            let back = arrows
                .get(target)
                .is_some_and(|others| others.contains_key(module));
            assert!(!back, "{module} and {target} know each other");
        }
    }
}

/// Circles of files that are known, one on a line. This list may only shrink.
const KNOWN: &str = include_str!("layering/circles.txt");

#[test]
fn files_do_not_use_each_other_in_a_circle() {
    let modules = modules::Modules::new(&sources());
    let arrows = modules.arrows();
    let circles = modules::circles(&arrows);
    testkit::tools::say(format_args!("{} circles of files", circles.len()));
    let known: Vec<BTreeSet<&str>> = KNOWN
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let is_same = |a: &BTreeSet<&str>, b: &BTreeSet<&str>| a.intersection(b).count() > 1;
    let new: Vec<String> = circles
        .iter()
        .filter(|circle| !known.iter().any(|known| is_same(known, circle)))
        .map(|circle| {
            let lines = circle.iter().map(|file| {
                let targets = arrows[file].intersection(circle).copied();
                format!("  {file} uses {}", targets.collect::<Vec<_>>().join(", "))
            });
            lines.collect::<Vec<_>>().join("\n")
        })
        .collect();
    assert!(
        new.is_empty(),
        "files use each other in a circle: move what both need into a file below both (or, if a file was renamed, rename it in \
         tests/layering/circles.txt):\n{}",
        new.join("\n\n")
    );
    for known in &known {
        assert!(
            circles.iter().any(|circle| is_same(known, circle)),
            "this circle no longer exists: remove its line from tests/layering/circles.txt: {known:?}"
        );
    }
}

/// What was kept by another program is read only if it would make the same facts: `build.rs` must know all that makes them.
#[test]
fn the_version_of_the_facts_covers_all_that_makes_them() {
    let script = fs::read_to_string(root().join("build.rs")).unwrap();
    let listed = Regex::new(r#""src/([a-z_]+)"#).unwrap();
    let mut covered: BTreeSet<String> = listed
        .captures_iter(&script)
        .map(|found| found[1].to_owned())
        .collect();
    assert!(covered.contains("layer"));
    // These carry bytes, errors and work, and decide nothing; the version names the limits themselves.
    let others = [
        "beneath",
        "cache",
        "cancellation",
        "digest",
        "error",
        "limits",
        "parallel",
        "progress",
        "source",
    ];
    covered.extend(others.map(str::to_owned));
    for (module, targets) in arrows() {
        if ["archive", "elf", "image", "layer"].contains(&module.as_str()) {
            for (target, path) in targets {
                assert!(covered.contains(&target), "{}: {target}", path.display());
            }
        }
    }
}

#[test]
fn reading_bytes_knows_no_framework() {
    let word = Regex::new(r"(?i)torch|tensorflow|onnx|vllm|triton").unwrap();
    for source in sources()
        .iter()
        .filter(|source| source.module == "elf" || source.module == "layer")
    {
        let found = word.find(&source.code).map(|found| found.as_str());
        assert_eq!(
            found,
            None,
            "{}: this knowledge belongs into rules/knowledge/",
            source.path.display()
        );
    }
}

#[test]
fn only_the_command_line_and_the_report_print() {
    let printing = Regex::new(r"\be?print(?:ln)?!|\bstd(?:out|err)\(\)").unwrap();
    for source in sources() {
        if !["main", "cli", "report"].contains(&source.module.as_str()) {
            let found = printing.find(&source.code).map(|found| found.as_str());
            assert_eq!(found, None, "{}", source.path.display());
        }
    }
}

/// All others are handed a table.
#[test]
fn one_module_reads_the_knowledge_tables() {
    let found = files_with(&["embedded::"]);
    let known = [
        "src/knowledge.rs",
        // The rules, and the tables as expressions see them.
        "src/rules/mod.rs",
        "src/rules/tables.rs",
    ];
    assert_eq!(found, known.map(str::to_owned).into());
}

#[test]
fn files_stay_readable() {
    for source in sources() {
        let lines = source.code.lines().count();
        assert!(
            lines <= 500,
            "{}: {lines} lines of code: split it along its seams",
            source.path.display()
        );
    }
}

/// Files of the source whose code has one of these words.
fn files_with(words: &[&str]) -> BTreeSet<String> {
    let has_one = |source: &Source| words.iter().any(|word| source.code.contains(word));
    let sources = sources().into_iter().filter(has_one);
    let name = |source: Source| {
        let path = source.path.strip_prefix(root()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    sources.map(name).collect()
}

/// Helpers for credentials are run by `docker_credential`, and `ssh` by `bollard`, as the user has configured them.
#[test]
fn no_program_is_started_but_the_one_that_signs() {
    let words = ["Command::new", "process::Command", "execve", "fork("];
    let known = BTreeSet::from(["src/attest/command.rs".to_owned()]);
    assert_eq!(files_with(&words), known);
}

#[test]
fn only_the_cache_and_requested_reports_are_written() {
    let words = [
        "fs::write",
        "File::create",
        "OpenOptions",
        "fs::rename",
        ".persist(",
        "tempfile",
        "remove_file",
        "remove_dir",
        "create_dir",
        "set_len(",
        "hard_link(",
        "fs::symlink",
        "set_permissions",
        "mkdir",
        "unlink",
    ];
    let known = [
        "src/cache/local.rs",
        "src/cache/trust/unchecked.rs",
        "src/cache/trust/unix.rs",
        // Names `mkdir` in a help text.
        "src/cache/shared.rs",
        // Reports (`-o`), the summary of a job on GitHub, and a baseline.
        "src/cli/formats.rs",
        "src/cli/output.rs",
        // `imgcheck man` and `imgcheck rules docs`.
        "src/cli/completions.rs",
        "src/rules/pages.rs",
        // `imgcheck init` and `imgcheck rules new`.
        "src/cli/init/mod.rs",
        // The queue of `imgcheck serve`.
        "src/gate/queue/store.rs",
        // The certificate of `imgcheck serve --self-signed`.
        "src/gate/self_signed.rs",
    ];
    let found = files_with(&words);
    let known: BTreeSet<String> = known.map(str::to_owned).into();
    assert_eq!(
        found.difference(&known).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    assert!(found.contains("src/cache/local.rs"));
}
