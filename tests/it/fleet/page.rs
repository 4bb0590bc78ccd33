//! The page about a fleet.

use std::fs;

use super::*;
use crate::browser::{hidden_widths, visit};

fn page(records: &[FleetRecord], totals: &FleetTotals) -> String {
    text(FleetFormat::Html, records, totals)
}

#[test]
fn the_page_says_what_the_fleet_is() {
    let (records, totals) = fleet();
    let page = page(&records, &totals);
    for words in [
        "7 listed = 5 judged + 1 failed + 1 skipped",
        "The list is incomplete",
        "page 3 of the catalog of registry.example could not be read",
        "What changes with driver 550",
        "<tr><th scope=\"row\">525.60.13</th><td class=\"number\">80 %</td>",
        "failed: not-found",
        "skipped: not-an-image",
        "framework-not-reached",
        "6 different layers: 155 MB referenced, 35 MB unique, 120 MB saved",
    ] {
        assert!(page.contains(words), "no {words:?} in:\n{page}");
    }
    let (many, few) = (
        page.find("many:2.9</code>").unwrap(),
        page.find("few:2.9</code>").unwrap(),
    );
    assert!(many < few, "the one with most Pods comes first");
    // What nothing is has no part of a bar.
    assert!(page.contains("class=\"no\" style") && !page.contains("class=\"no\" style=\"width:0%"));
}

#[test]
fn hostile_texts_stay_texts() {
    let (records, totals) = fleet();
    let page = page(&records, &totals);
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</pre>").count(), 1);
    assert!(!page.contains(['\u{202e}', '\u{1b}']));
    assert!(!page.contains("http://") && !page.contains("src="));
}

#[test]
fn a_browser_shows_the_page_and_searches() {
    let (records, totals) = fleet();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fleet.html");
    fs::write(&path, page(&records, &totals)).unwrap();
    let url = format!("file://{}", path.display());
    let searches = [
        ("", "0 matches", 0),
        ("#q=MANY%20claim-torch", "1 match.", 1),
        ("#q=not-found", "1 match.", 1),
        ("#q=registry.example", "6 matches.", 6),
        ("#q=%3Cscript%3E", "1 match.", 1),
        ("#q=nothing-has-this", "0 matches.", 0),
        ("#q=%E0%A4%A", "", 0),
    ];
    for (query, said, found) in searches {
        let Some(visit) = visit(&format!("{url}{query}"), &[]) else {
            return;
        };
        assert!(!visit.log.contains(":CONSOLE"), "{query}: {}", visit.log);
        assert_eq!(visit.requests, Vec::<String>::new());
        let (_, matches) = visit.dom.split_once("id=\"matches\"").unwrap();
        let (matches, _) = matches.split_once("</ul>").unwrap();
        assert_eq!(matches.matches("<li>").count(), found, "{query}: {matches}");
        let (_, state) = visit.dom.split_once("id=\"matched\"").unwrap();
        let (state, _) = state.split_once("</p>").unwrap();
        assert!(found == 0 || state.contains(said), "{query}: {state}");
        assert!(
            visit.dom.contains("<section id=\"search\" aria-labelledby"),
            "the search is shown"
        );
        assert!(!matches.contains("<script"), "{matches}");
    }
}

#[test]
fn no_window_scrolls_sideways() {
    let (records, totals) = fleet();
    // Scripts of a page in a frame of the test run as in a window of their own.
    let page = page(&records, &totals);
    let windows = [320, 360, 412, 768, 1024, 1280];
    if let Some(hidden) = hidden_widths(&page, &windows) {
        assert_eq!(hidden, [0; 6]);
    }
}

/// 100,000 references: lists have bounded lengths and say so, all references can be searched, and the browser shows it.
#[test]
fn the_page_of_a_large_fleet_is_bounded() {
    const IMAGES: u64 = 100_000;
    let lie = finding(
        "claim-torch-version",
        Severity::Error,
        "the tag claims PyTorch 2.9, the image contains 2.8.0",
    );
    let records: Vec<FleetRecord> = (0..IMAGES)
        .map(|number| FleetRecord {
            findings: vec![lie.clone()],
            layers: layers(&[("os", 30), (&format!("l{}", number % 60_000), 7)]),
            ..judged(
                &format!("registry.example/team-{}/train:v{number}", number % 300),
                Verdict::Fail,
            )
        })
        .collect();
    let totals = FleetTotals {
        listed: IMAGES,
        judged: IMAGES,
        complete: true,
        ..FleetTotals::default()
    };
    let page = page(&records, &totals);
    assert!(page.len() < 16_000_000, "{} bytes", page.len());
    assert!(page.contains("500 of 100,000 shown; all are in the CSV."));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fleet.html");
    fs::write(&path, &page).unwrap();
    let Some(visit) = visit(&format!("file://{}#q=v99999", path.display()), &[]) else {
        return;
    };
    assert!(
        visit.dom.contains("1 match."),
        "the last reference is found"
    );
    assert!(!visit.log.contains(":CONSOLE"), "{}", visit.log);
}
