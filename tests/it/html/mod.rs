//! The HTML page: its content, that it loads nothing from elsewhere, and that a browser shows it.

mod browser;
mod content;

use crate::program::{self, repository};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use testkit::tools;

use imgcheck::{Checker, Day, ImageRequest, Subject};
use imgcheck_base::error::ErrorCode;
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_model::finding::{Confidence, Finding, IgnoreReason, IgnoredFinding, Location};
use imgcheck_model::knowledge::Knowledge;
use imgcheck_model::targets::{DriverFacts, TargetFacts};
use imgcheck_report::{FileReport, ImageReport, Report, UnreadImage, Verdict, html};
use imgcheck_rules::rules::RuleSet;
use serde_json::{Value, json};

const HEALTHY: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
const FAULTY: &str = "testdata/sample/pytorch-cuda-v2.9.tar";

fn checker() -> Checker {
    Checker::builder().loader_trees(true).build().unwrap()
}

fn report(checker: &Checker, image: &str) -> ImageReport {
    let request = ImageRequest::new(image).day(Day::default());
    checker.check(&[request]).images.remove(0)
}

fn judged(image: &str) -> ImageReport {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(image);
    report(&checker(), path.to_str().unwrap())
}

fn page(images: &[ImageReport], files: &[FileReport], errors: &[UnreadImage]) -> String {
    let rules = RuleSet::builtin().unwrap();
    let report = Report {
        workloads: &[],
        images,
        files,
        errors,
        rules: &rules,
        knowledge: &Knowledge::read().unwrap(),
        configuration: None,
    };
    html::page(&report).unwrap()
}

/// What a reader sees of a page, tags taken away.
fn text(page: &str) -> String {
    let body = page.split("<body>").nth(1).unwrap();
    let mut text = String::new();
    let mut is_tag = false;
    for character in body.chars() {
        match character {
            '<' => is_tag = true,
            '>' => {
                is_tag = false;
                text.push(' ');
            }
            _ if !is_tag => text.push(character),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Nothing in the page can load or run anything.
fn assert_self_contained(page: &str) {
    for wrong in [
        "<script",
        "<iframe",
        "<object",
        "<embed",
        "<img",
        "<form",
        "@import",
        "url(",
        " src=",
        "javascript:",
    ] {
        assert!(!page.contains(wrong), "{wrong} in the page");
    }
    assert_eq!(page.matches("<link").count(), 1);
    assert!(page.contains(r#"<link rel="icon" href="data:,">"#));
    assert!(
        page.contains(r#"content="default-src 'none'; style-src 'unsafe-inline'; img-src data:;"#)
    );
}

fn hostile() -> (ImageReport, FileReport, UnreadImage) {
    let evil =
        "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[2J\"'&";
    let mut image = judged(FAULTY);
    image.facts.reference = Some(evil.to_owned());
    for layer in &mut image.facts.layers {
        layer.created_by = evil.to_owned();
    }
    for component in Arc::make_mut(&mut image.facts.stack) {
        component.path = evil.to_owned();
        component.version = evil.to_owned();
    }
    for finding in &mut image.findings {
        finding.message = format!("`{evil}` {evil}");
        finding.help = Some(evil.to_owned());
        finding.path = Some(evil.to_owned());
        finding.docs = "javascript:alert(1)".to_owned();
    }
    for process in &mut Arc::make_mut(&mut image.tree).processes {
        process.name = evil.to_owned();
        process.library_path = evil.to_owned();
        for object in &mut process.objects {
            object.facts.path = format!("/{evil}/{evil}");
            object.facts.reason = evil.to_owned();
        }
    }
    image.targets = vec![TargetFacts {
        name: evil.to_owned(),
        gpus: Vec::new(),
        driver: Some(DriverFacts {
            version: evil.to_owned(),
            reason: evil.to_owned(),
            ..DriverFacts::default()
        }),
        architecture: evil.to_owned(),
    }];
    for library in &mut Arc::make_mut(&mut image.facts.gpu).libraries {
        library.path = evil.to_owned();
    }
    let finding = Finding {
        location: Some(Location {
            file: evil.to_owned(),
            line: 3,
            column: 2,
            end_column: 900,
            text: format!("\t{evil}"),
        }),
        confidence: Confidence::Medium,
        ..image.findings[0].clone()
    };
    let file = FileReport {
        file: evil.to_owned(),
        kind: evil.to_owned(),
        verdict: Verdict::Fail,
        findings: vec![finding.clone()],
        ignored: vec![IgnoredFinding {
            finding,
            ignore: IgnoreReason {
                reason: evil.to_owned(),
                expires: None,
            },
        }],
        gaps: image.gaps.clone(),
    };
    let error = UnreadImage {
        image: evil.to_owned(),
        error: evil.to_owned(),
        code: ErrorCode::Damaged,
        message: evil.to_owned(),
        help: None,
    };
    (image, file, error)
}

fn root(image: &Path) -> ImageReference {
    ImageReference::Dir(image.join("root"))
}

fn configuration(image: &Path) -> Value {
    let text = fs::read_to_string(image.join("image.json")).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["rootfs"] = json!({"type": "layers", "diff_ids": []});
    config["history"] = json!([]);
    config
}
