//! The gaps of a workload in which something looks like an image or a GPU request and belongs to no container, or which refers to an
//! object that is not in the input.

use imgcheck_base::excerpt::shortened;
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_lint::workload::{Evidence, EvidenceKind, Workload};

/// How much the message names.
const SHOWN: usize = 4;
/// Maximum length of a text in it, in characters: enough for a digest.
const LONGEST: usize = 160;

/// The gaps; empty if everything was understood.
pub(super) fn gaps(workload: &Workload) -> Vec<Gap> {
    let all = workload.not_understood.iter();
    let (subdirectories, all): (Vec<_>, Vec<_>) =
        all.partition(|it| it.kind == EvidenceKind::Subdirectory);
    let subdirectories = subdirectories.into_iter().map(|it| Gap {
        code: GapCode::WorkloadNotUnderstood,
        message: format!(
            "subdirectories are not read, such as that of `{}`: name each directory that you deploy",
            it.text
        ),
        path: Some(workload.file.clone()),
        layer: None,
    });
    let all = all.into_iter();
    let (references, others): (Vec<_>, Vec<_>) =
        all.partition(|it| it.kind == EvidenceKind::Reference);
    let gap = |(named, is_one): (String, bool), [one, several]: [&str; 2], rest: &str| Gap {
        code: GapCode::WorkloadNotUnderstood,
        message: format!("{named} {} {rest}", if is_one { one } else { several }),
        path: Some(workload.file.clone()),
        layer: None,
    };
    let others = listed(&others).map(|it| {
        gap(
            it,
            ["belongs", "belong"],
            "to no container that imgcheck understands",
        )
    });
    let references = listed(&references).map(|it| {
        let rest = "not in the input: check the file that has it in the same run";
        gap(it, ["is", "are"], rest)
    });
    subdirectories.chain(others).chain(references).collect()
}

/// The first ones by name, and whether it is only one; `None` without any.
fn listed(evidence: &[&Evidence]) -> Option<(String, bool)> {
    let shown = evidence.iter().take(SHOWN).map(|it| named(it));
    let mut shown: Vec<String> = shown.collect();
    if let more @ 1.. = evidence.len().saturating_sub(SHOWN) {
        shown.push(format!("{more} more"));
    }
    let last = shown.pop()?;
    Some(match shown.is_empty() {
        true => (last, true),
        false => (format!("{} and {last}", shown.join(", ")), false),
    })
}

fn named(evidence: &Evidence) -> String {
    let kind = match evidence.kind {
        EvidenceKind::Image => "image",
        EvidenceKind::Gpu => "GPU request",
        EvidenceKind::Command => "command",
        EvidenceKind::Reference => "object",
        EvidenceKind::Subdirectory => "file",
    };
    let text = shortened(&evidence.text, LONGEST);
    let line = evidence.location.line;
    format!("the {kind} `{text}` in line {line}")
}
