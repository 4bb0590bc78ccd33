//! The HTML page: everything about every image, with the loader model as a picture.
//!
//! The page is a single file without scripts. It loads nothing, and its Content-Security-Policy forbids it. It follows the
//! reader's light or dark theme, never uses color as the only sign, and can be printed.

mod coverage;
mod finding;
mod graph;
mod image;
pub(super) mod markup;
mod treemap;

use askama::Template;

use super::{FileReport, Inspection, Report, printable};
use finding::FindingView;
use image::{ImageView, PictureView};
use imgcheck_base::gap::Gap;
use imgcheck_model::process::tree::Tree;
use imgcheck_rules::rules::RuleSet;

/// The style sheet of all pages.
pub const STYLE: &str = include_str!("style.css");
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Template)]
#[template(path = "html/page.html")]
struct Page {
    version: &'static str,
    title: String,
    style: &'static str,
    images: Vec<ImageView>,
    files: Vec<FileView>,
    errors: Vec<ErrorView>,
    judged_by: Vec<(&'static str, String)>,
}

/// A Dockerfile or similar file, or the configuration.
struct FileView {
    id: String,
    name: String,
    verdict: String,
    findings: Vec<FindingView>,
    ignored: Vec<FindingView>,
    gaps: Vec<Gap>,
}

/// An image or file that could not be read.
struct ErrorView {
    image: String,
    error: String,
}

impl FileView {
    /// The view of a file; `place` is its index on the page.
    fn of(file: &FileReport, place: usize, rules: &RuleSet) -> Self {
        let id = format!("f{place}");
        let (found, ignored) = (file.findings.iter(), &file.ignored);
        FileView {
            name: file.file.clone(),
            verdict: file.heading().to_owned(),
            findings: finding::views(found, &format!("{id}-f"), None, rules),
            ignored: finding::ignored_views(ignored, &format!("{id}-g"), None, rules),
            gaps: file.gaps.clone(),
            id,
        }
    }
}

impl Page {
    /// Whether the page needs a table of contents.
    fn has_contents(&self) -> bool {
        self.images.len() + self.files.len() > 1
    }
}

/// The report as an HTML page. Hidden characters are written as `\u{…}`.
///
/// # Errors
/// Never in practice: templates are checked when imgcheck is compiled, and writing to a string cannot fail.
pub fn page(report: &Report) -> askama::Result<String> {
    let page = Page {
        version: VERSION,
        title: title(report),
        style: STYLE,
        images: report
            .images
            .iter()
            .enumerate()
            .map(|(place, image)| ImageView::of(image, place, report))
            .collect(),
        files: report
            .files
            .iter()
            .enumerate()
            .map(|(place, file)| FileView::of(file, place, report.rules))
            .collect(),
        errors: report
            .errors
            .iter()
            .map(|unread| ErrorView {
                image: unread.image.clone(),
                error: unread.error.clone(),
            })
            .collect(),
        judged_by: report
            .judged_by()
            .map(|(label, text)| (label, text.to_owned()))
            .collect(),
    };
    Ok(printable(&page.render()?))
}

/// The page of `imgcheck tree`.
#[derive(Template)]
#[template(path = "html/trees.html")]
struct Trees {
    version: &'static str,
    title: String,
    style: &'static str,
    images: Vec<TreeView>,
}

/// An image with its processes.
struct TreeView {
    id: String,
    name: String,
    pictures: Vec<PictureView>,
    other_processes: Vec<String>,
}

/// The loader models of images as an HTML page, without findings.
///
/// # Errors
/// Same as [`page`].
pub fn trees<'t>(
    images: impl Iterator<Item = (&'t Inspection, &'t Tree)>,
) -> askama::Result<String> {
    let views = images.enumerate().map(|(place, (facts, tree))| {
        let id = format!("i{place}");
        let (pictures, other_processes) = image::pictures(facts, tree, &[], &id);
        TreeView {
            id,
            name: facts.name().to_owned(),
            pictures,
            other_processes,
        }
    });
    let images: Vec<TreeView> = views.collect();
    let first = images.first().map_or("", |image| image.name.as_str());
    let page = Trees {
        version: VERSION,
        title: format!("{first} · imgcheck tree"),
        style: STYLE,
        images,
    };
    Ok(printable(&page.render()?))
}

fn title(report: &Report) -> String {
    let mut names = report
        .subjects()
        .map(|subject| (subject.heading(), subject.name()));
    match (names.next(), names.count()) {
        (None, _) => "imgcheck".to_owned(),
        (Some((verdict, name)), 0) => format!("{verdict} {name} · imgcheck"),
        (Some((_, name)), more) => format!("{name} and {more} more · imgcheck"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`printable`] is applied to whole pages, so it must not change the templates.
    #[test]
    fn the_templates_contain_nothing_that_is_escaped() {
        for part in [
            STYLE,
            include_str!("base.html"),
            include_str!("coverage.html"),
            include_str!("finding.html"),
            include_str!("ignored.html"),
            include_str!("image.html"),
            include_str!("page.html"),
            include_str!("picture.html"),
            include_str!("targets.html"),
            include_str!("trees.html"),
        ] {
            assert_eq!(printable(part), part);
        }
    }
}
