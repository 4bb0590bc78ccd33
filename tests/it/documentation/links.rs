//! Every link of README and book leads to a page, and to a heading where it names one.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::{book, pages};

/// What a page holds for others and wants of them.
struct Page {
    links: Vec<String>,
    /// The ids of its headings, as GitHub and mdBook make them.
    headings: BTreeSet<String>,
}

impl Page {
    fn read(path: &Path) -> Page {
        let text = fs::read_to_string(path).unwrap();
        let mut page = Page {
            links: Vec::new(),
            headings: BTreeSet::new(),
        };
        let mut heading: Option<String> = None;
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let id = id(&heading.take().unwrap_or_default());
                    let same = |id: &String| page.headings.contains(id);
                    let id = (0..)
                        .map(|count| {
                            if count == 0 {
                                id.clone()
                            } else {
                                format!("{id}-{count}")
                            }
                        })
                        .find(|id| !same(id));
                    page.headings.extend(id);
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        page
    }
}

fn id(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.collect()
}

#[test]
fn links_lead_somewhere() {
    let mut read: HashMap<PathBuf, Page> = HashMap::new();
    let external = Regex::new(r"^https://[a-z0-9.-]+\.[a-z]{2,}(/[^\s`'<>]*)?$").unwrap();
    let mut count = 0;
    let mut faults = Vec::new();
    for path in pages() {
        let path = path.canonicalize().unwrap();
        for link in Page::read(&path).links {
            count += 1;
            let place = format!("{}: {link}", path.display());
            if link.contains("://") {
                if !external.is_match(&link) || link.ends_with(['.', ',']) {
                    faults.push(format!("{place}: is no address"));
                }
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link.as_str(), ""));
            let target = match file {
                "" => path.clone(),
                file => path.parent().unwrap().join(file),
            };
            let Ok(target) = target.canonicalize() else {
                faults.push(format!("{place}: is not there"));
                continue;
            };
            if path.starts_with(book()) && !target.starts_with(book()) {
                faults.push(format!("{place}: leads out of the book"));
            }
            // mdBook makes index.html of it and does not follow the name; `rules/` leads there on GitHub, too.
            if path.starts_with(book())
                && file.ends_with("README.md")
                && !path.ends_with("SUMMARY.md")
            {
                faults.push(format!(
                    "{place}: leads to a directory, whose name is enough"
                ));
            }
            if !heading.is_empty() {
                let page = read
                    .entry(target.clone())
                    .or_insert_with(|| Page::read(&target));
                if !page.headings.contains(heading) {
                    faults.push(format!("{place}: there are {:?}", page.headings));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 100, "only {count} links were seen");
}

#[test]
fn the_book_lists_every_page_once() {
    let summary = fs::read_to_string(book().join("SUMMARY.md")).unwrap();
    for page in pages().iter().filter(|page| page.starts_with(book())) {
        let name = page.strip_prefix(book()).unwrap().to_str().unwrap();
        let listed = summary.matches(&format!("]({name})")).count();
        assert_eq!(listed, usize::from(name != "SUMMARY.md"), "{name}");
    }
}

#[test]
fn ids_of_headings_are_those_of_github() {
    for (heading, expected) in [
        ("`loader` in the JSON report", "loader-in-the-json-report"),
        (
            "Certificates, plain HTTP, proxies",
            "certificates-plain-http-proxies",
        ),
        ("1. Build it", "1-build-it"),
        ("driver_native_min", "driver_native_min"),
    ] {
        assert_eq!(id(&heading.replace('`', "")), expected);
    }
}
