//! What the page shows.

use super::*;
use regex::Regex;

#[test]
fn a_finding_has_all_details_of_the_text_report() {
    let page = page(&[judged(FAULTY)], &[], &[]);
    assert_self_contained(&page);
    let text = text(&page);
    for words in [
        "FAIL pytorch-cuda:v2.9",
        "1 error",
        "torch 2.9 (tag) 2.8.0+cu128 wrong",
        "The tag claims PyTorch 2.9",
        "pytorch-cuda: v2.9 What to do",
        "RUN /bin/sh -c pip install --no-cache-dir torch==2.8.0 # buildkit",
        "tag the image pytorch-cuda:v2.8 , or install torch==2.9 and rebuild it",
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
    assert_eq!(
        style,
        include_str!("../../../crates/report/src/html/style.css")
    );
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
fn an_image_without_a_reference_has_the_name_that_was_typed() {
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
fn many_images_have_a_table_of_contents() {
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

/// What is no heading of its own words: the name of an image, a file or a process.
fn is_name(heading: &str, text: &str) -> bool {
    let word = text.split([' ', ':']).next().unwrap_or_default();
    heading.starts_with("<code>") || !word.bytes().all(|it| it.is_ascii_lowercase())
}

#[test]
fn headings_start_with_a_capital_letter() {
    let (_, _, error) = hostile();
    let images = [judged(HEALTHY), judged(FAULTY)];
    let trees = html::trees(images.iter().map(|it| (&it.facts, &*it.tree))).unwrap();
    let tag = Regex::new(r"<h([1-4])[^>]*>(.*?)</h[1-4]>").unwrap();
    let tags = Regex::new("<[^>]*>").unwrap();
    let mut count = 0;
    for page in [page(&images, &[], &[error]), trees] {
        for found in tag.captures_iter(&page) {
            let heading = &found[2];
            let text = tags.replace_all(heading, "");
            let is_capital = text.starts_with(char::is_uppercase);
            // The first ones are the names of images.
            assert!(
                &found[1] == "1" || is_capital || is_name(heading, &text),
                "{heading}"
            );
            count += 1;
        }
        assert!(page.contains("<h3"), "{page}");
    }
    assert!(count > 20, "{count} headings");
}
