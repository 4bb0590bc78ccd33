//! What could not be judged.

use anstyle::AnsiColor;

use super::style::{DIM, color, field, line};
use crate::report::details::{ignore_text, layer_text};
use crate::report::{ImageReport, Verdict, one_line};

/// How many gaps are shown.
const SHOWN: usize = 20;
const HELP: &str = "check these by hand, then acknowledge each in the configuration: `ignore: [{gap: CODE, reason: …}]`";

/// Writes a line for each gap, and what to do if they prevent a pass.
pub(super) fn write(out: &mut String, image: &ImageReport) {
    let style = color(AnsiColor::Yellow);
    for gap in image.gaps.iter().take(SHOWN) {
        let message = one_line(&gap.message);
        line(
            out,
            &format!("\n{style}NOT JUDGED[{}]{style:#}: {message}", gap.code),
        );
        if let Some(layer) = gap.layer {
            field(out, "layer", &layer_text(&image.facts, layer));
        }
    }
    if let more @ 1.. = image.gaps.len().saturating_sub(SHOWN) {
        line(out, &format!("NOT JUDGED: {more} more (see --format json)"));
    }
    if image.verdict == Verdict::Incomplete {
        field(out, "help", HELP);
    }
    for acknowledged in &image.acknowledged {
        let (gap, reason) = (&acknowledged.gap, ignore_text(&acknowledged.ignore));
        let text = format!("not judged[{}], acknowledged: {reason}", gap.code);
        line(out, &format!("{DIM}{}{DIM:#}", one_line(&text)));
    }
}
