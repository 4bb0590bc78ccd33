//! What could not be judged.

use anstyle::AnsiColor;

use super::style::{DIM, color, field, line};
use super::wrap::{after_label, wrap};
use crate::report::details::{ignore_text, layer_text};
use crate::report::{ImageReport, Verdict, one_line};

/// How many gaps are shown.
const SHOWN: usize = 20;
const HELP: &str = "check these by hand, then acknowledge each in the configuration: `ignore: [{gap: CODE, reason: …}]`";

/// Writes a line for each gap, and what to do if they prevent a pass.
pub(super) fn write(out: &mut String, image: &ImageReport, width: Option<u16>) {
    let style = color(AnsiColor::Yellow);
    for gap in image.gaps.iter().take(SHOWN) {
        let label = format!("NOT JUDGED[{}]", gap.code);
        let text = after_label(&label, &one_line(&gap.message), width);
        line(out, &format!("\n{style}{label}{style:#}{text}"));
        if let Some(layer) = gap.layer {
            field(out, "layer", &layer_text(&image.facts, layer), width);
        }
    }
    if let more @ 1.. = image.gaps.len().saturating_sub(SHOWN) {
        line(out, &format!("NOT JUDGED: {more} more (see --format json)"));
    }
    if image.verdict == Verdict::Incomplete {
        field(out, "help", HELP, width);
    }
    for acknowledged in &image.acknowledged {
        let (gap, reason) = (&acknowledged.gap, ignore_text(&acknowledged.ignore));
        let text = format!("not judged[{}], acknowledged: {reason}", gap.code);
        let text = wrap(&one_line(&text), 2, width);
        line(out, &format!("{DIM}{text}{DIM:#}"));
    }
}
