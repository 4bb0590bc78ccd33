//! A page for each rule, made from its file: the text of `imgcheck rules show ID`, and the book's chapter of rules.
//!
//! The pages under `docs/src/rules/` are committed; a test fails when they are not what the rules say.

use std::fmt::Write;
use std::path::Path;

use super::file::{Level, Named, Rule};
use super::functions::FUNCTIONS;
use super::{RuleSet, schema};
use crate::error::{Error, Result};
use crate::finding::{Confidence, Severity};

/// The command that writes the pages again.
pub const COMMAND: &str = "cargo run -- rules docs docs/src/rules";

/// Where more is said of a rule: the page of a built-in one, the first reference of another; empty if there is none.
pub fn url(rule: &Rule) -> String {
    match rule.builtin {
        true => format!(
            "https://github.com/imgcheck/imgcheck/blob/main/docs/src/rules/{}.md",
            rule.id
        ),
        false => rule.references.first().cloned().unwrap_or_default(),
    }
}

/// The page of a rule, in Markdown.
pub fn render(rule: &Rule) -> String {
    let mut page = format!(
        "# {}\n\n{}.\n\nSeverity: {}. Confidence: {}. Since {}.\n\n## Why it matters\n\n{}\n",
        rule.id,
        rule.title,
        level(&rule.severity),
        level(&rule.confidence),
        rule.since,
        rule.why.trim_end(),
    );
    page.push_str("\n## What it says\n\n");
    block(&mut page, rule.message.text());
    if let Some(help) = &rule.help {
        page.push_str("\nWhat to do:\n\n");
        block(&mut page, help.text());
    }
    page.push_str(
        "\nIn these texts an expression in braces stands for its value.\n\n## How it decides\n\n",
    );
    if let Some(each) = &rule.each {
        page.push_str("For each `it` of\n\n");
        block(&mut page, each.text());
        page.push('\n');
    }
    if let Some(when) = &rule.when {
        page.push_str("when\n\n");
        block(&mut page, when.text());
        page.push('\n');
    }
    page.push_str("the rule fails if\n\n");
    block(&mut page, rule.fail.text());
    if let Some(once) = &rule.once {
        page.push_str("\nOf all elements with the same\n\n");
        block(&mut page, once.text());
        page.push_str("\nonly the first gives a finding.\n");
    }
    if !rule.yields.is_empty() {
        let rules: Vec<String> = rule.yields.iter().map(|id| format!("`{id}`")).collect();
        let _ = writeln!(
            page,
            "\nIt is silent where {} accounts for the same fault.",
            rules.join(" or ")
        );
    }
    page.push_str("\nA fact that is missing makes the rule not applicable.\n");
    if !rule.references.is_empty() {
        page.push_str("\n## Where people met it\n\n");
        for reference in &rule.references {
            // Writing to a text cannot fail.
            let _ = writeln!(page, "- <{reference}>");
        }
    }
    page
}

/// The overview of rules, in Markdown.
pub fn index(set: &RuleSet) -> String {
    let mut page = String::from(
        "# Rules\n\n\
         An **error** will not run, will run on the CPU, or is not what it says. A **warning** works today by luck, or only \
         on some hosts. A **note** is good to know.\n\n\
         | rule | severity | says |\n|---|---|---|\n",
    );
    for rule in set.rules() {
        let _ = writeln!(
            page,
            "| [{id}]({id}.md) | {} | {} |",
            level(&rule.severity),
            rule.title,
            id = rule.id
        );
    }
    page.push_str(
        "\n## What expressions may use\n\n\
         [Writing rules](../writing-rules.md) explains the keys of a rule file. Expressions are [CEL](https://cel.dev). Beside its own functions there are:\n\n",
    );
    for function in FUNCTIONS {
        let _ = writeln!(page, "- {}", function.meaning);
    }
    let roots: Vec<String> = schema::roots()
        .keys()
        .map(|name| format!("`{name}`"))
        .collect();
    let _ = writeln!(
        page,
        "\nand the facts {}, `known` (the knowledge tables), and `it` in a rule with `each`. A name or field that does not \
         exist is an error when the rule is loaded; a fact that is missing makes the rule not applicable.",
        roots.join(", ")
    );
    page
}

/// A line for each rule: id, severity and title, for `imgcheck rules list`.
pub fn list_table(set: &RuleSet) -> Vec<[String; 3]> {
    set.rules()
        .map(|rule| [rule.id.clone(), level(&rule.severity), rule.title.clone()])
        .collect()
}

/// All pages by the names of their files.
pub fn all(set: &RuleSet) -> Vec<(String, String)> {
    let pages = set
        .rules()
        .map(|rule| (format!("{}.md", rule.id), render(rule)));
    pages
        .chain([("README.md".to_owned(), index(set))])
        .collect()
}

/// Writes all pages into a directory, and removes pages of rules that are no more.
///
/// # Errors
///
/// A page cannot be written.
pub fn write(set: &RuleSet, directory: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Error::output(directory.display().to_string(), error);
    std::fs::create_dir_all(directory).map_err(failed)?;
    let pages = all(set);
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") && !pages.iter().any(|(page, _)| *page == name) {
            std::fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    for (name, page) in pages {
        std::fs::write(directory.join(name), page).map_err(failed)?;
    }
    Ok(())
}

/// The worst severity that a finding of the rule may have.
pub fn severity(rule: &Rule) -> Severity {
    first(&rule.severity).unwrap_or(Severity::Error)
}

/// The greatest confidence that a finding of the rule may have.
pub fn confidence(rule: &Rule) -> Confidence {
    first(&rule.confidence).unwrap_or(Confidence::High)
}

fn first<T: Named + PartialEq>(level: &Level<T>) -> Option<T> {
    possible(level).first().map(|(_, level)| *level)
}

/// The name of a level, or all that an expression may give.
fn level<T: Named + PartialEq>(level: &Level<T>) -> String {
    let names: Vec<&str> = possible(level).into_iter().map(|(name, _)| name).collect();
    // The function names the severity in the main process.
    let milder = match level {
        Level::Decided(expression) if expression.text().contains("milder(") => ", or milder",
        _ => "",
    };
    match names.as_slice() {
        [] => format!("by what is found{milder}"),
        names => format!("{}{milder}", names.join(" or ")),
    }
}

/// The levels that findings may have, the worst or surest first: of an expression, those that it names.
fn possible<T: Named + PartialEq>(level: &Level<T>) -> Vec<(&'static str, T)> {
    let named = |(name, known): &&(&'static str, T)| match level {
        Level::Fixed(fixed) => known == fixed,
        Level::Decided(expression) => expression.text().contains(&format!("\"{name}\"")),
    };
    T::ALL.iter().filter(named).copied().collect()
}

fn block(page: &mut String, text: &str) {
    let _ = writeln!(page, "```text\n{}\n```", text.trim_end());
}
