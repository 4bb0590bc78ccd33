//! Texts of images, registries and files that want to be more than text: every format shows them, and they do nothing.
//!
//! Each document is made twice: with a hostile text in every place, and with letters in its stead. What it is made of (lines,
//! tags, links, commands, keys) must be the same, and so must be the characters that nobody sees.

mod payloads;
mod run;
mod shape;

use crate::reports;
use std::collections::BTreeSet;

use imgcheck_base::error::ErrorCode;
use imgcheck_model::finding::{Finding, Severity};
use imgcheck_report::difference::{self, Difference};
use imgcheck_report::tree::TreeQuery;
use imgcheck_report::{
    self as report, FileReport, ImageReport, ReferenceReport, Report, UnreadImage,
};
use imgcheck_rules::rules::RuleSet;

/// All that a report can be made of, with one text in every place.
struct Told {
    text: String,
    images: Vec<ImageReport>,
    files: Vec<FileReport>,
    errors: Vec<UnreadImage>,
    references: Vec<ReferenceReport>,
}

impl Told {
    fn of(text: &str) -> Self {
        Told {
            text: text.to_owned(),
            images: vec![reports::image(text)],
            files: vec![reports::lint(text)],
            errors: vec![UnreadImage {
                image: text.to_owned(),
                // The only line break is that of `Error`.
                error: format!("{0}\n  help: {0}", text.replace('\n', "\\n")),
                code: ErrorCode::Damaged,
                message: text.replace('\n', "\\n"),
                help: Some(text.to_owned()),
            }],
            references: vec![reports::reference(text)],
        }
    }

    fn report<'r>(&'r self, rules: &'r RuleSet) -> Report<'r> {
        Report {
            workloads: &[],
            images: &self.images,
            files: &self.files,
            errors: &self.errors,
            rules,
            knowledge: &reports::KNOWLEDGE,
            configuration: Some(&self.images[0].facts.named),
        }
    }

    /// The difference of this image and one that has nothing.
    fn difference(&self) -> Difference {
        let with = &self.images[0];
        let mut without = with.clone();
        without.findings = Vec::<Finding>::new();
        without.facts.stack = Default::default();
        without.facts.claims.clear();
        Difference::between((&self.text, &without), (&self.text, with))
    }

    fn tree(&self, library: Option<&str>) -> String {
        let image = self.text.as_str();
        report::tree::text(
            TreeQuery {
                image,
                launch: Some(&self.images[0].facts.launch),
                library,
            },
            &self.images[0].tree,
        )
        .unwrap()
    }
}

/// What a document is made of.
type Shape = fn(&str) -> Vec<String>;

/// A format: its name, and the structure of a document in it.
type Format = (&'static str, fn(&Told, &RuleSet) -> String, Shape);

const FORMATS: [Format; 22] = [
    (
        "text",
        |it, rules| {
            report::text::report(
                &it.report(rules),
                &imgcheck::TextOptions {
                    level: imgcheck::TextLevel::Verbose,
                    ..Default::default()
                },
            )
        },
        shape::lines,
    ),
    (
        "json",
        |it, rules| report::json::report(&it.report(rules)).unwrap(),
        shape::json,
    ),
    (
        "sarif",
        |it, rules| report::sarif::report(&it.report(rules)).unwrap(),
        shape::sarif,
    ),
    (
        "junit",
        |it, rules| report::junit::report(&it.report(rules), Some(Severity::Error)).unwrap(),
        shape::junit,
    ),
    (
        "junit that fails never",
        |it, rules| report::junit::report(&it.report(rules), None).unwrap(),
        shape::junit,
    ),
    (
        "github",
        |it, rules| report::github::report(&it.report(rules)),
        shape::github,
    ),
    (
        "gitlab",
        |it, rules| report::gitlab::report(&it.report(rules)).unwrap(),
        shape::gitlab,
    ),
    (
        "markdown",
        |it, rules| report::markdown::report(&it.report(rules)),
        shape::markdown,
    ),
    (
        "cyclonedx",
        |it, _| {
            let facts = it.images.iter().map(|image| &image.facts);
            report::cyclonedx::report(facts, &it.errors).unwrap()
        },
        shape::cyclonedx,
    ),
    (
        "html",
        |it, rules| {
            // The places in a picture depend on the order of names.
            let mut images = it.images.clone();
            images[0].tree = Default::default();
            let report = Report {
                images: &images,
                ..it.report(rules)
            };
            report::html::page(&report).unwrap()
        },
        shape::html,
    ),
    (
        "html of a tree",
        |it, _| {
            let images = it.images.iter().map(|image| (&image.facts, &*image.tree));
            report::html::trees(images).unwrap()
        },
        // Of how many tags a picture is made depends on the names, too.
        |text| BTreeSet::from_iter(shape::tags(text)).into_iter().collect(),
    ),
    (
        "lint in json",
        |it, rules| report::json::lint(&it.report(rules)).unwrap(),
        shape::json,
    ),
    (
        "facts",
        |it, _| report::text::facts(&[it.images[0].facts.clone()], None),
        shape::lines,
    ),
    (
        "facts in json",
        |it, _| report::json::facts(&[it.images[0].facts.clone()], &it.errors).unwrap(),
        shape::json,
    ),
    (
        "claims",
        |it, _| report::text::claims(&it.references, None),
        shape::lines,
    ),
    (
        "claims in json",
        |it, _| report::json::claims(&it.references).unwrap(),
        shape::json,
    ),
    ("tree", |it, _| it.tree(None), shape::lines),
    (
        "tree of a library",
        |it, _| it.tree(Some(&format!("/{}", it.text))),
        shape::lines,
    ),
    (
        "tree as a graph",
        |it, _| {
            let question = TreeQuery {
                image: &it.text,
                launch: None,
                library: None,
            };
            report::tree::dot(question, &it.images[0].tree)
        },
        shape::dot,
    ),
    (
        "diff",
        |it, _| difference::text::render(&it.difference(), None),
        shape::lines,
    ),
    (
        "diff in json",
        |it, _| report::json::difference(&it.difference()).unwrap(),
        shape::json,
    ),
    (
        "diff in markdown",
        |it, _| report::markdown::difference(&it.difference()),
        shape::markdown,
    ),
];

/// Characters that are invisible, or that a program obeys; a separate list, so that the program's list is tested.
fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{3164}' | '\u{feff}' | '\u{fdd0}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{fffe}' | '\u{ffff}' | '\u{10ffff}' | '\u{e0000}'..='\u{e0fff}')
}

fn hidden(text: &str) -> String {
    text.chars().filter(|c| is_hidden(*c)).collect()
}

/// What a build system would obey: lines of GitHub, and what others look for anywhere.
fn commands(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.filter(|line| line.starts_with("::"));
    let marks = ["##[", "##vso[", "##teamcity["];
    lines
        .chain(marks.into_iter().filter(|mark| text.contains(mark)))
        .collect()
}

/// Whether a hidden character can still be read, as `\u{1b}` or, in JSON, as `\u001b`.
fn is_shown(c: char, text: &str) -> bool {
    let code = u32::from(c);
    let unit = c.encode_utf16(&mut [0; 2])[0];
    let ways = [
        format!("\\u{{{code:x}}}"),
        format!("\\u{{{{{code:x}}}}}"),
        format!("\\u{unit:04x}"),
    ];
    // Those that JSON has a letter for.
    let letter = matches!(c, '\u{8}' | '\u{c}' | '\t' | '\r');
    letter || ways.iter().any(|way| text.contains(way))
}

/// Compares a document of a hostile text with one of a harmless text.
fn compare(name: &str, text: &str, document: &str, harmless: &str, shape: Shape) {
    let about = format!("{name} of {text:?}:\n{document}\nand not:\n{harmless}");
    assert_eq!(hidden(document), hidden(harmless), "{about}");
    assert_eq!(
        commands(document).len(),
        commands(harmless).len(),
        "{about}"
    );
    let (shape, expected) = (shape(document), shape(harmless));
    for (part, expected) in shape.iter().zip(&expected) {
        assert_eq!(part, expected, "{about}");
    }
    assert_eq!(shape.len(), expected.len(), "{about}");
}

#[test]
fn a_text_stays_a_text_in_every_format() {
    let rules = RuleSet::builtin().unwrap();
    let mut wrong = Vec::new();
    for text in payloads::all() {
        let (hostile, harmless) = (Told::of(text), Told::of(&payloads::harmless(text)));
        for (name, render, shape) in FORMATS {
            let tried = std::panic::catch_unwind(|| {
                let document = render(&hostile, &rules);
                compare(name, text, &document, &render(&harmless, &rules), shape);
                for c in text.chars().filter(|c| is_hidden(*c)) {
                    assert!(is_shown(c, &document), "{c:?} of {text:?} in {name}");
                }
            });
            wrong.extend(tried.err().map(|_| format!("{name} of {text:?}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What programs read is the exact text.
#[test]
fn json_has_every_text_as_it_is() {
    let rules = RuleSet::builtin().unwrap();
    for text in payloads::all() {
        let told = Told::of(text);
        let report = report::json::report(&told.report(&rules)).unwrap();
        let document: serde_json::Value = serde_json::from_str(&report).unwrap();
        let image = &document["images"][0];
        assert_eq!(image["reference"], text);
        assert_eq!(image["layers"][0]["created_by"], text);
        assert_eq!(image["findings"][0]["message"], format!("wrong: {text}"));
        assert_eq!(document["errors"][0]["image"], text);
    }
}
