//! The report for a terminal: the overview table, then each finding with file, layer, build step and help. Texts contain ANSI
//! styles; the caller strips them for other outputs.

mod claims;
mod facts;
mod file;
mod finding;
mod gaps;
mod heading;
mod page;
pub(super) mod style;
mod summary;
mod targets;
mod workloads;
pub(super) mod wrap;

use super::details::full_tally;
use super::{ImageReport, Report, one_line};
use heading::{heading, judged_by};
use style::{BOLD, line, separate, table};

pub use claims::claims;
pub use facts::facts;
pub use file::files;
pub(super) use finding::head as finding_head;
pub use page::page;
pub use workloads::workloads;

/// The report of a check. `width` is that of the terminal, in columns; without it nothing is wrapped.
pub fn report(report: &Report, width: Option<u16>) -> String {
    let mut out = String::new();
    for image in report.images {
        separate(&mut out);
        heading(
            &mut out,
            &image.facts,
            Some(image.verdict),
            Some(image.elapsed_ms),
        );
        summary::write(&mut out, image, width);
        out.push_str(&targets::lines(&image.targets));
        for finding in &image.findings {
            finding::write(&mut out, finding, &image.facts);
        }
        gaps::write(&mut out, image);
        closing(&mut out, image);
    }
    let files = files(report.files);
    if !files.is_empty() {
        separate(&mut out);
    }
    out.push_str(&files);
    file::kinds(&mut out, report.files);
    judged_by(&mut out, report);
    out
}

/// A table of rules: id, severity and title.
pub fn rules(rows: &[[String; 3]], width: Option<u16>) -> String {
    let mut table = table(width, &["RULE", "SEVERITY", "TITLE"]);
    let cells = |row: &[String; 3]| row.each_ref().map(|text| one_line(text));
    table.add_rows(rows.iter().map(cells));
    format!("{}\n", table.trim_fmt())
}

fn closing(out: &mut String, image: &ImageReport) {
    let (words, ignored) = full_tally(&image.findings, &image.ignored);
    line(out, &format!("\n{BOLD}{words}{BOLD:#}{ignored}"));
}
