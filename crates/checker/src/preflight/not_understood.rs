//! The gap of a workload in which something looks like an image or a GPU request, and belongs to no container.

use imgcheck_base::excerpt::shortened;
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_lint::workload::{Evidence, EvidenceKind, Workload};

/// How much the message names.
const SHOWN: usize = 4;
/// Maximum length of a text in it, in characters: enough for a digest.
const LONGEST: usize = 160;

/// The gap; `None` if everything was understood.
pub(super) fn gap(workload: &Workload) -> Option<Gap> {
    let evidence = &workload.not_understood;
    let shown = evidence.iter().take(SHOWN).map(named);
    let mut shown: Vec<String> = shown.collect();
    if let more @ 1.. = evidence.len().saturating_sub(SHOWN) {
        shown.push(format!("{more} more"));
    }
    let last = shown.pop()?;
    let (named, verb) = match shown.is_empty() {
        true => (last, "belongs"),
        false => (format!("{} and {last}", shown.join(", ")), "belong"),
    };
    Some(Gap {
        code: GapCode::WorkloadNotUnderstood,
        message: format!("{named} {verb} to no container that imgcheck understands"),
        path: Some(workload.file.clone()),
        layer: None,
    })
}

fn named(evidence: &Evidence) -> String {
    let kind = match evidence.kind {
        EvidenceKind::Image => "image",
        EvidenceKind::Gpu => "GPU request",
        EvidenceKind::Command => "command",
    };
    let text = shortened(&evidence.text, LONGEST);
    let line = evidence.location.line;
    format!("the {kind} `{text}` in line {line}")
}
