//! What could not be judged.

use anstyle::AnsiColor;

use super::style::{DIM, color, field, line};
use super::wrap::{after_label, wrap};
use crate::details::{ignore_text, layer_text};
use crate::{ImageReport, Verdict, WorkloadReport, one_line};
use imgcheck_base::gap::Gap;
use imgcheck_model::finding::AcknowledgedGap;

/// How many gaps are shown.
const SHOWN: usize = 20;
const HELP: &str = "check these by hand, then acknowledge each in the configuration: `ignore: [{gap: CODE, reason: …}]`";
const HELP_FOR_WORKLOAD: &str = "check the Pods that it starts: `kubectl get pods -o yaml | imgcheck preflight -`; or acknowledge the gap in the configuration";

/// Writes a line for each gap, and what to do if they prevent a pass.
pub(super) fn write(out: &mut String, image: &ImageReport, width: Option<u16>) {
    for gap in image.gaps.iter().take(SHOWN) {
        labeled(out, gap, width);
        let path = gap.path.as_deref();
        if let Some(path) = path.filter(|it| !gap.message.contains(it)) {
            field(out, "file", path, width);
        }
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
    acknowledged(out, &image.acknowledged, width);
}

/// Same as [`write`], of a workload.
pub(super) fn of_workload(out: &mut String, workload: &WorkloadReport, width: Option<u16>) {
    for gap in &workload.gaps {
        labeled(out, gap, width);
        field(out, "help", HELP_FOR_WORKLOAD, width);
    }
    acknowledged(out, &workload.acknowledged, width);
}

fn labeled(out: &mut String, gap: &Gap, width: Option<u16>) {
    let style = color(AnsiColor::Yellow);
    let label = format!("NOT JUDGED[{}]", gap.code);
    let text = after_label(&label, &one_line(&gap.message), width);
    line(out, &format!("\n{style}{label}{style:#}{text}"));
}

fn acknowledged(out: &mut String, acknowledged: &[AcknowledgedGap], width: Option<u16>) {
    for acknowledged in acknowledged {
        let (gap, reason) = (&acknowledged.gap, ignore_text(&acknowledged.ignore));
        let text = format!("not judged[{}], acknowledged: {reason}", gap.code);
        let text = wrap(&one_line(&text), 2, width);
        line(out, &format!("{DIM}{text}{DIM:#}"));
    }
}
