//! What a compiler does not check of the structure that `docs/src/architecture.md` describes.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

#[path = "layering/modules.rs"]
mod modules;

/// Source of one file without comments and without its tests, and the crate that it belongs to: `imgcheck` is the command line.
struct Source {
    path: PathBuf,
    /// The file below `src/` of the crate.
    file: PathBuf,
    package: String,
    code: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The crates in `crates/` by name, without `imgcheck-`.
fn packages() -> BTreeSet<String> {
    let entries = fs::read_dir(root().join("crates")).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let packages = entries.filter(|path| path.is_dir());
    let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    packages.map(name).collect()
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    let library = |package: String| (root().join("crates").join(&package).join("src"), package);
    let libraries = packages().into_iter().map(library);
    for (source, package) in libraries.chain([(root().join("src"), "imgcheck".to_owned())]) {
        let mut pending = vec![source.clone()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path);
                } else if path.extension().is_some_and(|it| it == "rs") && !is_test(&path) {
                    found.push(Source {
                        file: path.strip_prefix(&source).unwrap().to_owned(),
                        package: package.clone(),
                        code: code_of(&fs::read_to_string(&path).unwrap()),
                        path,
                    });
                }
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

/// The crates that the crates of a line of the `crates` block of the architecture page may use: those on the lines above it.
#[test]
fn a_crate_uses_only_crates_above_it() {
    let page = fs::read_to_string(root().join("docs/src/architecture.md")).unwrap();
    let block = page.split("```crates\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    let mut above = BTreeSet::new();
    for line in block.lines() {
        let line: BTreeSet<String> = line.split_whitespace().map(str::to_owned).collect();
        for package in &line {
            let below = &dependencies(package) - &above;
            assert_eq!(below, BTreeSet::new(), "{package} must not use these");
        }
        above.extend(line);
    }
    assert_eq!(above, packages());
}

/// The last column of the table of crates.
#[test]
fn the_table_of_crates_says_what_each_uses() {
    let page = fs::read_to_string(root().join("docs/src/architecture.md")).unwrap();
    for package in packages() {
        let start = format!("| `{package}` | ");
        let row = page.lines().find(|line| line.starts_with(&start));
        let uses = row.and_then(|row| row.rsplit('|').nth(1)).map(str::trim);
        let expected: Vec<String> = dependencies(&package).into_iter().collect();
        assert_eq!(uses, Some(expected.join(" ").as_str()), "{package}");
    }
}

/// The crates of this repository that one uses.
fn dependencies(package: &str) -> BTreeSet<String> {
    let manifest = root().join("crates").join(package).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let manifest = manifest.split("[dev-dependencies]").next().unwrap();
    let name = Regex::new(r"(?m)^imgcheck-([a-z]+)\b").unwrap();
    let names = name.captures_iter(manifest).map(|it| it[1].to_owned());
    names.collect()
}

/// Circles of files that are known, one on a line. This list may only shrink.
const KNOWN: &str = include_str!("layering/circles.txt");

#[test]
fn files_do_not_use_each_other_in_a_circle() {
    let sources = sources();
    let modules: Vec<_> = packages()
        .into_iter()
        .chain(["imgcheck".to_owned()])
        .map(|package| modules::Modules::new(&package, &sources))
        .collect();
    let arrows: BTreeMap<_, _> = modules.iter().flat_map(|it| it.arrows()).collect();
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

/// What was kept by another program is read only if it would make the same: the build scripts know all that makes it.
#[test]
fn the_versions_of_what_is_kept_cover_all_that_makes_it() {
    // It carries bytes and decides nothing. What judges and reports comes later.
    let carries = ["source"];
    let comes_later = ["cluster", "lint", "report", "rules", "source"];
    let path = Regex::new(r#""([A-Za-z][^"\n]*[./][^"\n]*)","#).unwrap();
    for (package, others) in [("layer", &carries[..]), ("checker", &comes_later)] {
        let script = root().join("crates").join(package).join("build.rs");
        let script = fs::read_to_string(script).unwrap();
        let listed: BTreeSet<&str> = path
            .captures_iter(&script)
            .map(|it| it.get(1).unwrap().as_str())
            .collect();
        for file in &listed {
            assert!(root().join(file).exists(), "{package}: {file}");
        }
        let mut pending = vec![package.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(one) = pending.pop() {
            if others.contains(&one.as_str()) || !seen.insert(one.clone()) {
                continue;
            }
            assert!(
                listed.contains(format!("crates/{one}/src").as_str()),
                "{package}: crates/{one}/src"
            );
            pending.extend(dependencies(&one));
        }
        assert!(seen.len() > 4, "{seen:?}");
    }
}

#[test]
fn reading_bytes_knows_no_framework() {
    let word = Regex::new(r"(?i)torch|tensorflow|onnx|vllm|triton").unwrap();
    for source in sources()
        .iter()
        .filter(|source| source.package == "elf" || source.package == "layer")
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
        if !["imgcheck", "report"].contains(&source.package.as_str()) {
            let found = printing.find(&source.code).map(|found| found.as_str());
            assert_eq!(found, None, "{}", source.path.display());
        }
    }
}

/// All others are handed a table.
#[test]
fn one_module_reads_the_knowledge_tables() {
    let found = files_with(&[
        "imgcheck_tables::COMPILED_RULES",
        "imgcheck_tables::files",
        "imgcheck_tables::read",
        "imgcheck_tables::table",
        "imgcheck_tables::text",
    ]);
    let known = [
        "crates/model/src/knowledge.rs",
        // The rules, and the tables as expressions see them.
        "crates/rules/src/rules/mod.rs",
        "crates/rules/src/rules/tables.rs",
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
    let known = BTreeSet::from(["crates/source/src/attest/command.rs".to_owned()]);
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
        "crates/source/src/cache/local.rs",
        "crates/source/src/cache/trust/unchecked.rs",
        "crates/source/src/cache/trust/unix.rs",
        // Names `mkdir` in a help text.
        "crates/source/src/cache/shared.rs",
        // Names `mkdir` as a program of a Dockerfile.
        "crates/lint/src/lint/dockerfile/system_pip.rs",
        // Reports (`-o`), the summary of a job on GitHub, and a baseline.
        "src/cli/formats.rs",
        "src/cli/output.rs",
        // `imgcheck man` and `imgcheck rules docs`.
        "src/cli/completions.rs",
        "crates/rules/src/rules/pages.rs",
        // `imgcheck init` and `imgcheck rules new`.
        "src/cli/init/mod.rs",
        // The queue of `imgcheck serve`.
        "crates/gate/src/queue/store.rs",
        // The certificate of `imgcheck serve --self-signed`.
        "crates/gate/src/self_signed.rs",
    ];
    let found = files_with(&words);
    let known: BTreeSet<String> = known.map(str::to_owned).into();
    assert_eq!(
        found.difference(&known).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    assert!(found.contains("crates/source/src/cache/local.rs"));
}
