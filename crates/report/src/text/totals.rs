//! The last line of a report about several images.

use super::style::{BOLD, line};
use crate::details::{count, tally};
use crate::{NOT_COUNTED, Report, Verdict};

/// Writes how many images have which verdict, if there are several.
pub(super) fn write(out: &mut String, report: &Report) {
    let images = report.images;
    // What could not be read may be a file.
    if images.len() < 2 && (images.is_empty() || report.errors.is_empty()) {
        return;
    }
    let of = |verdict| images.iter().filter(|it| it.verdict == verdict).count();
    let headings = images.iter().map(|it| it.verdict.above(&it.findings));
    let not_counted = headings.filter(|it| *it == NOT_COUNTED).count();
    let verdicts = [
        (of(Verdict::Fail), "fail"),
        (of(Verdict::Incomplete), "incomplete"),
        (of(Verdict::Pass) - not_counted, "pass"),
        (not_counted, "not counted"),
        (report.errors.len(), "not read"),
    ];
    let verdicts = verdicts.into_iter().filter(|(number, _)| *number > 0);
    let verdicts: Vec<String> = verdicts
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    let all = count(images.len() + report.errors.len(), "image");
    let findings = tally(report.subjects().flat_map(|it| it.findings()));
    let verdicts = verdicts.join(", ");
    line(
        out,
        &format!("\n{BOLD}{all}: {verdicts}{BOLD:#} · {findings}"),
    );
}
