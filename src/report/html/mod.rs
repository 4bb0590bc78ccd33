//! One page for people: everything about every image, with the loader's graph as a picture.
//!
//! The page is one file without any script; nothing in it loads anything, and its policy (Content-Security-Policy) forbids it.
//! Light and dark are the reader's choice, colours are never the only sign, and it can be printed.

mod coverage;
mod finding;
mod graph;
mod image;
mod markup;

use askama::Template;

use super::{Report, printable};
use finding::FindingView;
use image::ImageView;

/// The page.
#[derive(Template)]
#[template(path = "html/page.html")]
struct Page {
    version: &'static str,
    title: String,
    style: &'static str,
    images: Vec<ImageView>,
    files: Vec<FileView>,
    errors: Vec<ErrorView>,
}

/// A file that an image is built from.
struct FileView {
    id: String,
    name: String,
    verdict: String,
    findings: Vec<FindingView>,
}

/// What could not be read.
struct ErrorView {
    image: String,
    error: String,
}

impl Page {
    /// Whether there is more than one thing to choose from.
    fn has_contents(&self) -> bool {
        self.images.len() + self.files.len() > 1
    }
}

/// The report as one HTML page.
///
/// Control characters and marks that change the direction of text are written as `\u{…}`, wherever they come from.
///
/// # Errors
/// A template cannot be filled, which writing to a text never causes.
pub fn page(report: &Report) -> askama::Result<String> {
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        title: title(report),
        style: include_str!("style.css"),
        images: report
            .images
            .iter()
            .enumerate()
            .map(|(place, image)| ImageView::of(image, place, report.rules))
            .collect(),
        files: report
            .files
            .iter()
            .enumerate()
            .map(|(place, file)| FileView {
                id: format!("f{place}"),
                name: file.file.clone(),
                verdict: file.verdict.to_string(),
                findings: finding::views(&file.findings, &format!("f{place}-"), None, report.rules),
            })
            .collect(),
        errors: report
            .errors
            .iter()
            .map(|unread| ErrorView {
                image: unread.image.clone(),
                error: unread.error.clone(),
            })
            .collect(),
    };
    Ok(printable(&page.render()?))
}

fn title(report: &Report) -> String {
    let mut names = report
        .subjects()
        .map(|subject| (subject.verdict(), subject.name()));
    match (names.next(), names.count()) {
        (None, _) => "imgcheck".to_owned(),
        (Some((verdict, name)), 0) => format!("{verdict} {name} · imgcheck"),
        (Some((_, name)), more) => format!("{name} and {more} more · imgcheck"),
    }
}
