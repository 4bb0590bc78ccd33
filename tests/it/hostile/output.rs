//! Texts that want to be more than text where they are printed. What they could do in every place and every format is tried in
//! `tests/it/injection`; here is one of each kind.

use std::path::Path;

use serde_json::Value;

use super::attack::{Attack, Outcome};
use testkit::{Image, file, write_archive};

/// Attacks through printed text.
pub fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            name: "terminal-escape",
            holds: "a path with `ESC ]52` (clipboard), `ESC [2J`, an 8-bit `CSI` and a backspace",
            outcome: Outcome::Printed("each is shown as `\\u{1b}`", |text| {
                assert!(
                    !text.contains(|c: char| c.is_control() && c != '\n'),
                    "{text}"
                );
                assert!(
                    text.contains("\\u{1b}]52;c;aGk=\\u{7}\\u{1b}[2J\\u{9b}1m\\u{8}"),
                    "{text}"
                );
            }),
            make: |scratch| {
                image(
                    scratch,
                    "\u{1b}]52;c;aGk=\u{7}\u{1b}[2J\u{9b}1m\u{8}",
                    "text",
                )
            },
        },
        Attack {
            name: "bidi-and-tags",
            holds: "a path with bidirectional marks, zero-width characters and tags (U+E0041)",
            outcome: Outcome::Printed("each is shown as `\\u{202e}`", |text| {
                assert!(
                    !text.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{e0041}']),
                    "{text}"
                );
                assert!(
                    text.contains("\\u{202e}gpj\\u{2066}\\u{200b}\\u{e0041}"),
                    "{text}"
                );
            }),
            make: |scratch| image(scratch, "\u{202e}gpj\u{2066}\u{200b}\u{e0041}", "text"),
        },
        Attack {
            name: "bidi-in-json",
            holds: "the same, printed as JSON",
            outcome: Outcome::Printed("escaped; a parser gets the exact path", |text| {
                assert!(!text.contains(['\u{202e}', '\u{e0041}']), "{text}");
                let report: Value = serde_json::from_str(text).unwrap();
                assert!(
                    report.to_string().contains("/\u{202e}gpj\u{e0041}/"),
                    "{report}"
                );
            }),
            make: |scratch| image(scratch, "\u{202e}gpj\u{e0041}", "json"),
        },
        Attack {
            name: "line-of-the-report",
            holds: "a path with a line break and `PASS  fine`",
            outcome: Outcome::Printed("the line break is shown as `\\n`", |text| {
                assert!(
                    !text.lines().any(|line| line.starts_with("PASS  fine")),
                    "{text}"
                );
                assert!(text.contains("x\\nPASS  fine"), "{text}");
            }),
            make: |scratch| image(scratch, "x\nPASS  fine", "text"),
        },
        Attack {
            name: "html",
            holds: "a path with `<script>`, `<img onerror>` and quotes",
            outcome: Outcome::Printed("special characters become character references", |text| {
                assert!(
                    !text.contains("<script") && !text.contains("<img"),
                    "{text}"
                );
                assert!(
                    text.contains("&#60;script&#62;") || text.contains("&lt;script&gt;"),
                    "{text}"
                );
            }),
            make: |scratch| {
                image(
                    scratch,
                    "<script>alert(1)<img src=x onerror=alert(1)>\"'",
                    "html",
                )
            },
        },
        Attack {
            name: "markdown",
            holds: "a path with an image that phones home, a link, a mention and a table cell",
            outcome: Outcome::Printed("rendered as plain text", |text| {
                let events =
                    pulldown_cmark::Parser::new_ext(text, pulldown_cmark::Options::ENABLE_TABLES);
                for event in events {
                    use pulldown_cmark::{Event, Tag};
                    assert!(!matches!(event, Event::Start(Tag::Image { .. })), "{text}");
                    if let Event::Start(Tag::Link { dest_url, .. }) = event {
                        assert!(!dest_url.contains("evil"), "{text}");
                    }
                }
            }),
            make: |scratch| {
                image(
                    scratch,
                    "![x](https:evil.example)[y](https:evil.example)@team|a",
                    "markdown",
                )
            },
        },
        Attack {
            name: "github-command",
            holds: "a path with a line break and `::add-mask::`, and `##[error]`, in a GitHub job",
            outcome: Outcome::Printed(
                "shown as `\\n` and `\\u{23}#[error]`: no command",
                no_command,
            ),
            make: |scratch| image(scratch, "x\n::add-mask::y##[error]z", "text"),
        },
        Attack {
            name: "github-command-in-json",
            holds: "the same, printed as JSON",
            outcome: Outcome::Printed("escaped; a parser gets the exact path", no_command),
            make: |scratch| image(scratch, "x\n::add-mask::y##[error]z", "json"),
        },
        Attack {
            name: "sarif-link",
            holds: "a path with `[click](javascript:…)` and the placeholder `{0}`",
            outcome: Outcome::Printed(
                "escaped as SARIF requires; URLs are percent-encoded",
                |text| {
                    let log: Value = serde_json::from_str(text).unwrap();
                    let results = log["runs"][0]["results"].to_string();
                    assert!(results.contains("click"), "{results}");
                    assert!(
                        !results.contains("click](")
                            && !results.replace("{{0}}", "").contains("{0}"),
                        "{results}"
                    );
                },
            ),
            make: |scratch| image(scratch, "[click](javascript:alert(1)){0}", "sarif"),
        },
        Attack {
            name: "xml-character",
            holds: "a path with U+FFFE and `]]><failure/>`, printed as JUnit",
            outcome: Outcome::Printed("well-formed XML with `\\u{fffe}`", |text| {
                let report = quick_junit::Report::deserialize_from_str(text).unwrap();
                assert_eq!(text.matches("<failure").count(), report.failures);
                assert!(!text.contains('\u{fffe}'), "{text}");
            }),
            make: |scratch| image(scratch, "]]><failure/>\u{fffe}", "junit"),
        },
        Attack {
            name: "lone-surrogate",
            holds: "a configuration in JSON with `\\ud800`, half a character",
            outcome: Outcome::Refused("unexpected end of hex escape"),
            make: |scratch| {
                let mut image = sample("x");
                image.labels = serde_json::json!({"a": "SURROGATE"});
                let config = image.config();
                let broken = String::from_utf8(config)
                    .unwrap()
                    .replace("SURROGATE", "\\ud800");
                let layer = &image.layers[0];
                let manifest = serde_json::json!([{"Config": "config.json", "RepoTags": ["hostile:1"], "Layers": ["layer.tar"]}]);
                write_archive(
                    &scratch.join("image.tar"),
                    &[
                        file("layer.tar", layer),
                        file("config.json", broken),
                        file("manifest.json", manifest.to_string()),
                    ],
                );
                ["check", "image.tar"].map(str::to_owned).into()
            },
        },
    ]
}

/// Nothing that a runner of GitHub or Azure obeys.
fn no_command(text: &str) {
    assert!(
        !text.lines().any(|line| line.trim_start().starts_with("::")),
        "{text}"
    );
    assert!(!text.contains("##["), "{text}");
    assert!(text.contains("#[error]z"), "{text}");
}

/// An image of two PyTorch under a tag that names a third, one below a directory of this name: its path is in a finding.
fn sample(directory: &str) -> Image {
    let version = |version: &str| format!("__version__ = '{version}'\ncuda = None\n");
    let metadata =
        |version: &str| format!("Metadata-Version: 2.1\nName: torch\nVersion: {version}\n");
    let site = format!("opt/{directory}/lib/python3.11/site-packages");
    let items = [
        file(&format!("{site}/torch/version.py"), version("2.8.0+cpu")),
        file(
            &format!("{site}/torch-2.8.0.dist-info/METADATA"),
            metadata("2.8.0"),
        ),
    ];
    Image::new("pytorch-cuda:v2.9", &[&items])
}

/// That image, and the arguments to check it.
fn image(scratch: &Path, directory: &str, format: &str) -> Vec<String> {
    write_archive(
        &scratch.join("image.tar"),
        &testkit::docker_archive(&[sample(directory)]),
    );
    ["check", "image.tar", "--format", format]
        .map(str::to_owned)
        .into()
}
