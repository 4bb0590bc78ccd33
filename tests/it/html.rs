//! The HTML page: its content, that it loads nothing from elsewhere, and that a browser shows it.

use crate::program;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::tools;
use testkit::tools::say;

use imgcheck::internals::error::ErrorCode;
use imgcheck::internals::finding::{Confidence, Finding, IgnoreReason, IgnoredFinding, Location};
use imgcheck::internals::knowledge::Knowledge;
use imgcheck::internals::reference::transport::ImageReference;
use imgcheck::internals::report::{FileReport, ImageReport, Report, UnreadImage, Verdict, html};
use imgcheck::internals::rules::RuleSet;
use imgcheck::internals::targets::{DriverFacts, TargetFacts};
use imgcheck::{Checker, Day, ImageRequest, Subject};
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
        images,
        files,
        errors,
        rules: &rules,
        knowledge: &Knowledge::builtin().unwrap(),
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

#[test]
fn a_finding_is_told_with_all_that_the_text_report_tells() {
    let page = page(&[judged(FAULTY)], &[], &[]);
    assert_self_contained(&page);
    let text = text(&page);
    for words in [
        "FAIL pytorch-cuda:v2.9",
        "1 error",
        "torch 2.9 (tag) 2.8.0+cu128 wrong",
        "the tag claims PyTorch 2.9",
        "pytorch-cuda: v2.9 What to do",
        "RUN /bin/sh -c pip install --no-cache-dir torch==2.8.0 # buildkit",
        "tag the image 2.8.0 , or install torch==2.9 and rebuild it",
        "525.60.13 or later",
        "nothing is missing, shadowed or mixed",
        "Why it matters and how to confirm it",
    ] {
        assert!(text.contains(words), "no {words:?} in: {text}");
    }
    assert!(page.contains("<mark>v2.9</mark>"));
}

#[test]
fn a_healthy_image_passes_and_its_graph_is_drawn() {
    let page = page(&[judged(HEALTHY)], &[], &[]);
    let text = text(&page);
    assert!(
        text.contains("PASS pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime"),
        "{text}"
    );
    assert!(text.contains("No findings."), "{text}");
    let svg = page
        .split("<svg id=")
        .nth(1)
        .unwrap()
        .split("</svg>")
        .next()
        .unwrap();
    for name in [
        "import torch",
        "libtorch_cuda.so",
        "libcudnn_engines_runtime_compiled.so.9",
        "libcudart.so.12",
        "9.10.2",
    ] {
        assert!(svg.contains(name), "no {name} in the picture");
    }
}

fn hostile() -> (ImageReport, FileReport, UnreadImage) {
    let evil =
        "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[2J\"'&";
    let mut image = judged(FAULTY);
    image.facts.reference = Some(evil.to_owned());
    for layer in &mut image.facts.layers {
        layer.created_by = evil.to_owned();
    }
    for component in &mut image.facts.stack {
        component.path = evil.to_owned();
        component.version = evil.to_owned();
    }
    for finding in &mut image.findings {
        finding.message = format!("`{evil}` {evil}");
        finding.help = Some(evil.to_owned());
        finding.path = Some(evil.to_owned());
        finding.docs = "javascript:alert(1)".to_owned();
    }
    for process in &mut image.tree.processes {
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
    }];
    for library in &mut image.facts.gpu.libraries {
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
        verdict: Verdict::Fail,
        findings: vec![finding.clone()],
        ignored: vec![IgnoredFinding {
            finding,
            ignore: IgnoreReason {
                reason: evil.to_owned(),
                expires: None,
            },
        }],
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

#[test]
fn nothing_from_an_image_becomes_html() {
    let (image, file, error) = hostile();
    let page = page(&[image], &[file], &[error]);
    for wrong in [
        "<script",
        "<img",
        "onerror=alert(1)>",
        "\u{202e}",
        "\u{1b}",
        "href=\"javascript",
    ] {
        assert!(!page.contains(wrong), "{wrong:?} in the page");
    }
    assert!(page.contains("&#60;script&#62;") || page.contains("&lt;script&gt;"));
    assert!(page.contains("\\u{202e}"));
}

/// What is escaped for build systems is what an image or file holds, not the page.
#[test]
fn the_style_of_the_page_stays_as_it_is() {
    let mut image = judged(FAULTY);
    image.findings[0].message = "x\n::error::y ##[error]z".to_owned();
    let page = page(&[image], &[], &[]);
    let (before, rest) = page.split_once("<style>\n").unwrap();
    let (style, body) = rest.split_once("\n</style>").unwrap();
    assert_eq!(style, include_str!("../../src/report/html/style.css"));
    assert!(
        body.contains("\\u{3a}:error::y \\u{23}#[error]z"),
        "{before}"
    );
}

/// The same words as in the report for a terminal.
#[test]
fn targets_are_reported() {
    let scratch = tempfile::tempdir().unwrap();
    let configuration = scratch.path().join("imgcheck.yaml");
    let targets = "targets:\n- {name: pool, gpus: [h100, rtx4090, p100], driver: 535.183.06}\n\
                   - {name: robots, gpus: [orin], driver: 535.183.06}\n";
    fs::write(&configuration, targets).unwrap();
    let checker = Checker::builder().configuration(configuration).build();
    let path = program::repository(HEALTHY);
    let image = report(&checker.unwrap(), path.to_str().unwrap());
    let page = page(&[image], &[], &[]);
    let text = text(&page);
    for words in [
        "Support pool H100 (sm_90) PyTorch covered by sm_90",
        "GeForce RTX 4090 (sm_89) PyTorch covered by sm_86",
        "P100 (sm_60) PyTorch not covered",
        "driver 535.183.06 minor-version compatibility native support for CUDA 12.8 starts at 570.26; machine code runs",
        "robots Jetson AGX Orin (sm_87) PyTorch not covered driver 535.183.06 unknown Jetson drivers",
    ] {
        assert!(text.contains(words), "no {words:?} in: {text}");
    }
    assert!(page.contains(r##"<a href="#i0-targets">Runs on</a>"##));
    // The table of GPU code has a column for each of them.
    assert!(
        text.contains("Library 6.0 7.0 7.5 8.0 8.6 8.7 8.9 9.0"),
        "{text}"
    );
    let healthy = self::page(&[judged(HEALTHY)], &[], &[]);
    assert!(!healthy.contains("Runs on"));
}

#[test]
fn an_image_without_a_reference_is_called_as_it_was_named() {
    let root = tempfile::tempdir().unwrap();
    let image = report(&checker(), &format!("dir:{}", root.path().display()));
    let text = text(&page(&[image], &[], &[]));
    let heading = format!("PASS dir:{}", root.path().display());
    assert!(text.contains(&heading), "no {heading} in: {text}");
}

#[test]
fn uncounted_findings_are_reported_with_the_reason() {
    let mut image = judged(FAULTY);
    let finding = image.findings.remove(0);
    let ignore = IgnoreReason {
        reason: "replaced in March".to_owned(),
        expires: Some("2027-03-31".to_owned()),
    };
    image.ignored = vec![IgnoredFinding { finding, ignore }];
    image.verdict = Verdict::Pass;
    let text = text(&page(&[image], &[], &[]));
    for words in [
        "No findings.",
        "1 ignored finding",
        "replaced in March, until 2027-03-31",
    ] {
        assert!(text.contains(words), "no {words:?} in: {text}");
    }
}

#[test]
fn many_images_have_a_list_of_contents() {
    let (_, file, error) = hostile();
    let page = page(&[judged(HEALTHY), judged(FAULTY)], &[file], &[error]);
    let text = text(&page);
    assert!(text.contains("Could not be read"), "{text}");
    for id in ["i0", "i1", "f0"] {
        assert!(page.contains(&format!(r##"href="#{id}""##)), "{id}");
        assert!(page.contains(&format!(r#"id="{id}""#)), "{id}");
    }
}

/// Every link inside of the page leads somewhere, and no id is there twice.
#[test]
fn links_within_the_page_lead_somewhere() {
    let page = page(&[judged(HEALTHY), judged(FAULTY)], &[], &[]);
    let attribute = |name: &str| -> Vec<String> {
        let begin = format!(" {name}=\"");
        let pieces = page.split(&begin).skip(1);
        pieces
            .map(|piece| piece.split('"').next().unwrap().to_owned())
            .collect()
    };
    let mut ids = attribute("id");
    ids.sort();
    let mut distinct = ids.clone();
    distinct.dedup();
    assert_eq!(ids, distinct);
    let links: Vec<String> = attribute("href")
        .into_iter()
        .filter(|link| link.starts_with('#'))
        .collect();
    assert!(links.len() > 10, "{links:?}");
    for name in ["aria-labelledby"] {
        for id in attribute(name).iter().flat_map(|all| all.split(' ')) {
            assert!(ids.iter().any(|known| known == id), "{name} {id}");
        }
    }
    for link in links {
        assert!(ids.contains(&link[1..].to_owned()), "{link}");
    }
}

#[test]
fn the_tree_can_be_had_as_a_page() {
    let output = program::imgcheck()
        .args(["tree", "-f", "html"])
        .arg(program::repository(FAULTY))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let page = String::from_utf8(output.stdout).unwrap();
    assert_self_contained(&page);
    let text = text(&page);
    for words in [
        "pytorch-cuda:v2.9",
        "libtorch_cuda.so",
        "nothing is missing",
        "DT_RPATH of libtorch_python.so",
    ] {
        assert!(text.contains(words), "no {words:?} in: {text}");
    }
    assert!(!text.contains("Claimed"), "{text}");
}

/// The program draws the graph whether the page goes to the standard output or to a file besides another format.
#[test]
fn a_page_is_written_wherever_it_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.html");
    let printed = program::imgcheck()
        .args(["check", "-f", "html"])
        .arg(program::repository(FAULTY))
        .output()
        .unwrap();
    assert_eq!(printed.status.code(), Some(1), "{printed:?}");
    let besides = program::imgcheck()
        .args(["check", "-f", "json", "-o"])
        .arg(format!("html={}", path.display()))
        .arg(program::repository(FAULTY))
        .output()
        .unwrap();
    assert_eq!(besides.status.code(), Some(1), "{besides:?}");
    let printed = String::from_utf8(printed.stdout).unwrap();
    for page in [printed, fs::read_to_string(&path).unwrap()] {
        assert_self_contained(&page);
        assert!(page.contains("libcudnn_engines_runtime_compiled.so.9</text>"));
    }
}

/// Runs Chromium on a page: its document, its log, and the URLs that it requested. `None` without Chromium.
fn browsed(page: &Path) -> Option<(String, String, Vec<String>)> {
    let profile = tempfile::tempdir().unwrap();
    let log = profile.path().join("net.json");
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        // Nothing leaves the machine, whatever the browser wants for itself.
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            profile.path().join("profile").display()
        ))
        .arg(format!("--log-net-log={}", log.display()))
        .arg(format!("file://{}", page.display()))
        .output();
    let Ok(output) = output else {
        let required = std::env::var("IMGCHECK_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
        assert!(
            !required,
            "chromium is not there, and IMGCHECK_REQUIRE_TOOLS=1"
        );
        say(format_args!("skipped: chromium is not there"));
        return None;
    };
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((dom, said, requests(&fs::read_to_string(log).unwrap())))
}

/// The addresses in Chromium's log of its network stack.
fn requests(log: &str) -> Vec<String> {
    // A browser that is ended early leaves the list open.
    let whole = [
        log.to_owned(),
        format!("{}]}}", log.trim_end().trim_end_matches(',')),
    ];
    let log: Value = whole
        .iter()
        .find_map(|text| serde_json::from_str(text).ok())
        .unwrap();
    let events = log["events"].as_array().unwrap();
    // The browser's own requests, such as updates, have no origin.
    let asked = events.iter().filter_map(|event| {
        let parameters = &event["params"];
        let initiator = parameters["initiator"].as_str()?;
        (initiator != "not an origin").then(|| parameters["url"].as_str())?
    });
    let local = |url: &str| {
        ["file:", "data:", "chrome"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
    };
    asked.filter(|url| !local(url)).map(str::to_owned).collect()
}

/// Otherwise the next test would prove nothing.
#[test]
fn requests_of_a_page_are_detected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("page.html");
    fs::write(&path, "<!doctype html><img src='http://example.invalid/x.png'><script>console.log('said')</script>").unwrap();
    let Some((_, said, requests)) = browsed(&path) else {
        return;
    };
    assert_eq!(requests, ["http://example.invalid/x.png"]);
    assert!(said.contains(":CONSOLE"), "{said}");
}

#[test]
fn a_browser_shows_the_page_without_an_error_and_asks_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (image, file, error) = hostile();
    let pages = [
        (
            "report.html",
            page(&[judged(HEALTHY), judged(FAULTY)], &[], &[]),
        ),
        ("hostile.html", page(&[image], &[file], &[error])),
    ];
    for (name, page) in pages {
        let path = directory.path().join(name);
        fs::write(&path, &page).unwrap();
        let Some((dom, said, requests)) = browsed(&path) else {
            return;
        };
        assert_eq!(requests, Vec::<String>::new(), "{name}");
        assert!(!said.contains(":CONSOLE"), "{name}: {said}");
        assert!(
            dom.contains("</svg>") && dom.contains("</footer>"),
            "{name}: {dom}"
        );
        assert_eq!(
            dom.matches("<svg").count(),
            page.matches("<svg").count(),
            "{name}"
        );
        assert_eq!(dom.matches("<script").count(), 0, "{name}");
    }
}

/// The root filesystems that the recipes made, with their configurations, healthy and broken ones.
fn real_images() -> Vec<(String, ImageReport)> {
    let directories = ["loader", "loader/faults"].map(|name| tools::real_images().join(name));
    let entries = directories
        .iter()
        .flat_map(|directory| fs::read_dir(directory).into_iter().flatten());
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.join("observed.json").exists());
    paths.sort();
    if paths.is_empty() {
        let message = format!("there is no image in {}", tools::real_images().display());
        let required = std::env::var_os("IMGCHECK_REQUIRE_REAL").is_some_and(|value| value == "1");
        assert!(!required, "{message}");
        say(format_args!("skipped: {message}"));
    }
    let checker = checker();
    let reports = paths.iter().map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let facts = checker
            .facts(&ImageRequest::new(root(path).to_string()))
            .unwrap();
        // A root directory has no configuration.
        let mut facts = serde_json::to_value(&facts).unwrap();
        facts["config"] = serde_json::to_value(configuration(path)).unwrap();
        let facts = serde_json::from_value(facts).unwrap();
        let subject = Subject::new(format!("example/{name}:latest"), Day::default());
        (name, checker.report(&facts, &subject).unwrap())
    });
    reports.collect()
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

/// Where real images are, the page of each is written beside them, for people to look at, if IMGCHECK_PAGES names a directory.
#[test]
fn pages_of_real_images_stay_small() {
    for (name, image) in real_images() {
        if let Some(directory) = std::env::var_os("IMGCHECK_PAGES") {
            let tree = serde_json::to_string(&image.tree).unwrap();
            fs::write(PathBuf::from(directory).join(format!("{name}.json")), tree).unwrap();
        }
        let page = page(&[image], &[], &[]);
        assert!(page.len() < 2_000_000, "{name}: {} bytes", page.len());
        assert_self_contained(&page);
        if let Some(directory) = std::env::var_os("IMGCHECK_PAGES") {
            fs::write(PathBuf::from(directory).join(format!("{name}.html")), page).unwrap();
        }
    }
}
