//! The report of `imgcheck lint` for a terminal: each finding with its source line and a caret.

use std::collections::BTreeMap;

use annotate_snippets::renderer::DEFAULT_TERM_WIDTH;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::options::TextOptions;
use super::reasons;
use super::style::{BOLD, colored_word};
use super::wrap::{WIDEST, wrap};
use crate::details::full_tally;
use crate::{FileReport, one_line, printable};
use imgcheck_model::finding::{Finding, Location, Severity};

/// The report for a terminal, with ANSI styles; the caller strips them for other outputs.
pub fn files(files: &[FileReport], options: &TextOptions) -> String {
    let shown = files
        .iter()
        .filter(|it| options.shows(it.verdict, &it.findings));
    let blocks: Vec<String> = shown.map(|file| block(file, options)).collect();
    blocks.join("\n")
}

/// How many files of which kind there are, if there are several.
pub(super) fn kinds(out: &mut String, files: &[FileReport]) {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.kind.is_empty()) {
        *count.entry(&file.kind).or_default() += 1;
    }
    let all: usize = count.values().sum();
    if all > 1 {
        let kinds: Vec<String> = count
            .iter()
            .map(|(kind, it)| format!("{kind} {it}"))
            .collect();
        out.push_str(&format!("\n{all} files: {}\n", one_line(&kinds.join(", "))));
    }
}

fn block(file: &FileReport, options: &TextOptions) -> String {
    let verdict = colored_word(file.verdict, file.heading());
    let name = one_line(&file.file);
    let mut out = format!("{verdict}  {BOLD}{name}{BOLD:#}\n");
    for finding in options.shown(&file.findings) {
        out.push_str(&format!("\n{}\n", diagnostic(finding, options.width)));
    }
    if options.is_verbose() {
        reasons::ignored(&mut out, &file.ignored, options.width);
    }
    if options.is_quiet() {
        return out;
    }
    if !file.findings.is_empty() || !file.ignored.is_empty() {
        let (words, ignored) = full_tally(&file.findings, &file.ignored);
        out.push_str(&format!("\n{words}{ignored}\n"));
    }
    out
}

/// Columns in front of the help of a diagnostic: the line number, ` = help: `.
const MARGIN: u16 = 14;

/// A finding in the style of compiler diagnostics.
pub(super) fn diagnostic(finding: &Finding, width: Option<u16>) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let place = finding.location.as_ref().map(Shown::from);
    let id = one_line(&finding.rule);
    // `warning[lint-numpy]: `
    let label = u16::try_from(id.chars().count() + "warning[]: ".len()).unwrap_or(u16::MAX);
    let room = |margin: u16| width.map(|it| it.min(WIDEST).saturating_sub(margin));
    let title = level
        .primary_title(wrap(&one_line(&finding.message), 0, room(label)))
        .id(id);
    let mut group = match &place {
        Some(place) => title.element(
            Snippet::source(place.text.as_str())
                .path(place.file.as_str())
                .line_start(place.line)
                .annotation(AnnotationKind::Primary.span(place.start..place.end)),
        ),
        None => annotate_snippets::Group::with_title(title),
    };
    if let Some(help) = &finding.help {
        let help = wrap(&printable(help.trim_end()), 0, room(MARGIN));
        group = group.element(Level::HELP.message(help));
    }
    if !finding.docs.is_empty() {
        group = group.element(Level::NOTE.message(format!("see {}", one_line(&finding.docs))));
    }
    let width = width.map_or(DEFAULT_TERM_WIDTH, |it| it.min(WIDEST).into());
    Renderer::styled()
        .term_width(width)
        .render(&[group])
        .to_string()
}

/// A printable line, and the byte range to underline.
struct Shown {
    file: String,
    line: usize,
    text: String,
    start: usize,
    end: usize,
}

impl From<&Location> for Shown {
    fn from(place: &Location) -> Self {
        let columns = |from: usize, to: usize| {
            let characters = place.text.chars().skip(from).take(to.saturating_sub(from));
            one_line(&characters.collect::<String>())
        };
        let (start, end) = (
            place.column.saturating_sub(1),
            place.end_column.saturating_sub(1),
        );
        let (before, marked) = (columns(0, start), columns(start, end));
        let parts = format!("{before}{marked}{}", columns(end, usize::MAX));
        let text = one_line(&parts);
        // A build system command that starts before the range and ends inside it: underline the whole line.
        let (start, end) = match text == parts {
            true => (before.len(), before.len() + marked.len()),
            false => (0, text.len()),
        };
        Shown {
            file: one_line(&place.file),
            line: place.line,
            text,
            start,
            end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_system_command_is_escaped_even_if_the_range_cuts_it() {
        let shown = Shown::from(&Location {
            file: "Dockerfile".to_owned(),
            line: 1,
            column: 2,
            end_column: 5,
            text: "##[error]x".to_owned(),
        });
        assert_eq!(shown.text, "\\u{23}#[error]x");
        assert_eq!((shown.start, shown.end), (0, shown.text.len()));
    }

    #[test]
    fn a_source_line_cannot_control_the_terminal() {
        let shown = Shown::from(&Location {
            file: "a\u{1b}[2J".to_owned(),
            line: 1,
            column: 3,
            end_column: 5,
            text: "\u{1b}xüb\u{202e}".to_owned(),
        });
        assert_eq!(shown.file, "a\\u{1b}[2J");
        assert_eq!(shown.text, "\\u{1b}xüb\\u{202e}");
        assert_eq!(&shown.text[shown.start..shown.end], "üb");
    }
}
