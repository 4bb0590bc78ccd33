//! A page for each rule, generated from its file: the text of `imgcheck rules show ID`, and the book's chapter of rules.
//!
//! The pages under `docs/src/rules/` are committed; a test fails when they are stale.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use super::RuleSet;
use super::example::{self, example};
use super::facts::Facts;
use super::functions::FUNCTIONS;
use super::level::{Level, Named};
use super::rule::Rule;
use super::shape::{Shape, json_schema_of};
use super::tables::Tables;
use super::template::Cases;
use imgcheck_base::error::{Error, Result};
use imgcheck_model::finding::{Confidence, Severity};

/// The command that generates the pages.
pub const COMMAND: &str = "cargo run -- rules docs docs/src/rules";

/// What a rule is about, in Markdown: an example, why it matters, and where people met it, without its expressions.
pub fn explanation(rule: &Rule, tables: &Tables) -> String {
    let mut page = head(rule, tables);
    reports(&mut page, rule);
    page
}

/// Why a rule matters and where people met it, in Markdown.
pub fn reason(rule: &Rule) -> String {
    let mut page = why(rule);
    reports(&mut page, rule);
    page
}

fn why(rule: &Rule) -> String {
    format!("## Why it matters\n\n{}\n", rule.why.trim_end())
}

/// Title, example and reason of a rule.
fn head(rule: &Rule, tables: &Tables) -> String {
    let mut page = format!("# {}\n\n{}.\n\n", rule.id, rule.title);
    if let Some(finding) = example(rule, tables) {
        block(&mut page, &example::text(&finding));
        page.push('\n');
    }
    let _ = write!(
        page,
        "Severity: {}. Confidence: {}. Since {}.\n\n{}",
        level(&rule.severity),
        level(&rule.confidence),
        rule.since,
        why(rule),
    );
    page
}

fn reports(page: &mut String, rule: &Rule) {
    if rule.references.is_empty() {
        return;
    }
    page.push_str("\n## Reports\n\n");
    for reference in &rule.references {
        // Writing to a text cannot fail.
        let _ = writeln!(page, "- <{reference}>");
    }
}

/// The page of a rule, in Markdown.
pub fn render(rule: &Rule, tables: &Tables) -> String {
    let mut page = head(rule, tables);
    page.push_str("\n## Message\n\n");
    cases(&mut page, &rule.message);
    if let Some(help) = &rule.help {
        page.push_str("\nWhat to do:\n\n");
        cases(&mut page, help);
    }
    page.push_str("\nAn expression in braces stands for its value.\n\n## How it is decided\n\n");
    let bindings: Vec<_> = rule.bindings.iter().chain(&rule.element_bindings).collect();
    if !bindings.is_empty() {
        page.push_str("With\n\n");
        let lines = bindings
            .iter()
            .map(|it| format!("{} = {}", it.name, it.value.text().trim_end()));
        block(&mut page, &lines.collect::<Vec<_>>().join("\n"));
        page.push('\n');
    }
    if let Some(each) = &rule.each {
        page.push_str("for each `it` of\n\n");
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
    if let Some(key) = &rule.deduplicate_by {
        page.push_str("\nOf all elements with the same\n\n");
        block(&mut page, key.text());
        page.push_str("\nonly the first gives a finding.\n");
    }
    if !rule.suppresses.is_empty() {
        let rules: Vec<String> = rule.suppresses.iter().map(|id| format!("`{id}`")).collect();
        let _ = writeln!(
            page,
            "\nIt suppresses findings of {} with the same cause.",
            rules.join(", ")
        );
    }
    page.push_str("\nIf a fact is missing, the rule does not apply.\n");
    reports(&mut page, rule);
    page
}

/// The overview of rules, in Markdown.
pub fn index(set: &RuleSet) -> String {
    let mut page = String::from(
        "# Rules\n\n\
         An **error** does not run, runs on the CPU, or is not what it claims to be. A **warning** works only by luck or only \
         on some hosts. A **note** is good to know.\n\n\
         | rule | severity | problem |\n|---|---|---|\n",
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
         [Writing rules](../writing-rules.md) explains the keys of a rule file. Expressions are [CEL](https://cel.dev). In addition to its own functions there are:\n\n",
    );
    for function in FUNCTIONS {
        let _ = writeln!(page, "- {}", function.meaning);
    }
    page.push_str(
        "\nand the facts that [Facts](facts.md) lists, `known` (the knowledge tables), and `it` in a rule with `each`. A name or field \
         that does not exist is an error when the rule is loaded. If a fact is missing, the rule does not apply.\n",
    );
    page
}

/// How many fields a type has that is listed once.
const LONG: usize = 4;

/// The facts that expressions see, in Markdown: each field of the Rust types with its documentation.
pub fn facts() -> String {
    let mut page = String::from(
        "# Facts\n\n\
         These are the variables of expressions. A fact that is unknown is missing, and a rule that needs it does not apply. \
         `[]` stands for the elements of a list, `*` for the keys of a map.\n",
    );
    let schema = json_schema_of::<Facts>();
    let roots = schema["properties"].as_object();
    let mut listed = HashMap::new();
    for (name, schema) in roots.into_iter().flatten() {
        let _ = writeln!(page, "\n## {name}\n\n{}\n", description(schema));
        let mut rows = String::new();
        fact_rows(&mut rows, name, schema, &mut listed);
        if !rows.is_empty() {
            let _ = write!(page, "| fact | type | |\n|---|---|---|\n{rows}");
        }
    }
    page
}

/// A table row for each field below a place. `listed` has the places of the types that are listed already, by their fields: a type with many
/// fields is listed once.
fn fact_rows(
    rows: &mut String,
    place: &str,
    schema: &serde_json::Value,
    listed: &mut HashMap<String, String>,
) {
    if let Some(value) = schema["anyOf"].as_array().and_then(|shapes| shapes.first()) {
        return fact_rows(rows, place, value, listed);
    }
    if schema["items"].is_object() {
        return fact_rows(rows, &format!("{place}[]"), &schema["items"], listed);
    }
    if schema["additionalProperties"].is_object() && schema["properties"].is_null() {
        let value = &schema["additionalProperties"];
        return fact_rows(rows, &format!("{place}.*"), value, listed);
    }
    let Some(fields) = schema["properties"].as_object() else {
        return;
    };
    if fields.len() >= LONG {
        let type_ = schema["properties"].to_string();
        if let Some(first) = listed.get(&type_) {
            let _ = writeln!(rows, "| `{place}.…` | | The fields of `{first}`. |");
            return;
        }
        listed.insert(type_, place.to_owned());
    }
    for (name, schema) in fields {
        let inner = format!("{place}.{name}");
        let kind = Shape::of_field(name, schema)
            .name()
            .trim_start_matches("a ");
        let _ = writeln!(rows, "| `{inner}` | {kind} | {} |", description(schema));
        fact_rows(rows, &inner, schema, listed);
    }
}

fn description(schema: &serde_json::Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.replace('\n', " ")
        .replace('|', "\\|")
        .replace("[`", "`")
        .replace("`]", "`")
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
        .map(|rule| (format!("{}.md", rule.id), render(rule, set.tables())));
    let fixed = [("README.md", index(set)), ("facts.md", facts())];
    pages
        .chain(fixed.map(|(name, page)| (name.to_owned(), page)))
        .collect()
}

/// Writes all pages into a directory. Other files there stay as they are, so the page of a rule that is gone stays, too.
///
/// # Errors
///
/// A page cannot be written.
pub fn write(set: &RuleSet, directory: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Error::output(directory.display().to_string(), error);
    std::fs::create_dir_all(directory).map_err(failed)?;
    for (name, page) in all(set) {
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
    level.possible().first().map(|(_, level)| *level)
}

/// The name of a level, or all that an expression may give.
fn level<T: Named + PartialEq>(level: &Level<T>) -> String {
    let names: Vec<&str> = level.possible().into_iter().map(|(name, _)| name).collect();
    // The expression names the severity in the main process.
    let lower = match level.expression() {
        Some(expression) if expression.text().contains("severityForRole(") => ", or lower",
        _ => "",
    };
    match names.as_slice() {
        [] => format!("depends on the finding{lower}"),
        names => format!("{}{lower}", names.join(" or ")),
    }
}

/// The texts of a message or help, each with its condition.
fn cases(page: &mut String, cases: &Cases) {
    let mut is_conditional = false;
    for case in cases.iter() {
        if let Some(when) = &case.when {
            let _ = writeln!(page, "If `{}`:\n", when.text().replace('\n', " ").trim());
            is_conditional = true;
        } else if is_conditional {
            page.push_str("Otherwise:\n\n");
        }
        block(page, case.text.text());
        if case.when.is_some() {
            page.push('\n');
        }
    }
}

fn block(page: &mut String, text: &str) {
    let _ = writeln!(page, "```text\n{}\n```", text.trim_end());
}
