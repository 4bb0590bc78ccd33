//! The report for a terminal: the overview table, then each finding with file, layer, build step and help. Texts contain ANSI
//! styles; the caller strips them for other outputs.

mod claims;
mod facts;
mod file;
mod finding;
mod gaps;
mod heading;
pub mod options;
mod page;
mod reasons;
mod said;
mod size;
pub(super) mod style;
mod summary;
mod targets;
mod totals;
mod workloads;
pub(super) mod wrap;

use super::details::full_tally;
use super::{ImageReport, NOT_COUNTED, Report, Verdict, one_line};
use heading::{heading, judged_by};
use options::TextOptions;
use style::{BOLD, line, separate, show, table};

pub use claims::claims;
pub use facts::facts;
pub use file::files;
pub(super) use finding::head as finding_head;
pub use page::page;
pub use size::sizes;
pub use workloads::workloads;

/// The report of a check, and of a lint.
pub fn report(report: &Report, options: &TextOptions) -> String {
    let mut out = String::new();
    for image in report.images {
        if options.shows(image.verdict, &image.findings) {
            separate(&mut out);
            write(&mut out, image, options);
        }
    }
    let files = files(report.files, options);
    if !files.is_empty() {
        separate(&mut out);
    }
    out.push_str(&files);
    if options.is_quiet() {
        if !out.is_empty() {
            totals::write(&mut out, report);
        }
        return out;
    }
    file::kinds(&mut out, report.files);
    totals::write(&mut out, report);
    judged_by(&mut out, report);
    out
}

fn write(out: &mut String, image: &ImageReport, options: &TextOptions) {
    let is_quiet = options.is_quiet();
    match is_quiet {
        true => heading::name(out, &image.facts, Some(image)),
        false => {
            heading(out, &image.facts, Some(image), options.width);
            summary::write(out, image, options.width);
            out.push_str(&targets::lines(&image.targets, options.width));
        }
    }
    if options.is_verbose() {
        reasons::claims_and_evidence(out, image, options.width);
    }
    finding::write(out, image, options);
    if !is_quiet || image.verdict == Verdict::Incomplete {
        gaps::write(out, image, options.width);
    }
    if options.is_verbose() {
        reasons::ignored(out, &image.ignored, options.width);
        reasons::skipped(out, image, options.width);
    }
    if !is_quiet {
        closing(out, image, options);
    }
}

/// A table of rules: id, severity and title.
pub fn rules(rows: &[[String; 3]], width: Option<u16>) -> String {
    let mut table = table(width, &["RULE", "SEVERITY", "TITLE"]);
    let cells = |row: &[String; 3]| row.each_ref().map(|text| one_line(text));
    table.add_rows(rows.iter().map(cells));
    format!("{}\n", show(table))
}

fn closing(out: &mut String, image: &ImageReport, options: &TextOptions) {
    let (words, ignored) = full_tally(&image.findings, &image.ignored);
    let hidden = match options.hidden(image) {
        0 => String::new(),
        hidden => format!(" · {hidden} not shown"),
    };
    let not_counted = match image.verdict.above(&image.findings) {
        NOT_COUNTED => ", not counted",
        _ => "",
    };
    line(
        out,
        &format!("\n{BOLD}{words}{not_counted}{BOLD:#}{ignored}{hidden}"),
    );
}
