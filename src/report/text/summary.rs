//! The overview table, and remarks on what could not be checked.

use comfy_table::{Cell, Color};

use super::style::{line, table};
use crate::finding::{Finding, Severity};
use crate::report::details::programs_left_out;
use crate::report::summary::{Agreement, Row, rows};
use crate::report::{Inspection, one_line};
use crate::stack::Component;

/// Writes the table and the remarks.
pub(super) fn write(
    out: &mut String,
    facts: &Inspection,
    findings: &[Finding],
    width: Option<u16>,
) {
    let rows = rows(facts, findings);
    if !rows.is_empty() {
        let mut table = table(width, &["", "CLAIMED", "FOUND", "VERDICT"]);
        for row in rows {
            table.add_row(cells(row));
        }
        line(out, &table.trim_fmt());
    }
    if facts.config_digest.is_none() {
        line(
            out,
            "  No image configuration: environment variables such as LD_LIBRARY_PATH and the command are unknown.",
        );
    }
    let left_out = facts.loader.as_ref().map(|it| it.programs_left_out);
    if let Some(remark) = programs_left_out(left_out.unwrap_or_default()) {
        line(out, &format!("  {remark}"));
    }
    let gpu_library = |component: &Component| {
        !matches!(
            component.name.as_str(),
            "os" | "python" | "glibc" | "libstdc++"
        )
    };
    if !facts.stack.iter().any(gpu_library) {
        line(
            out,
            "  No GPU libraries: PyTorch, CUDA, cuDNN and NCCL were not found in any layer.",
        );
    }
}

fn cells(row: Row) -> [Cell; 4] {
    let verdict = match row.agreement {
        Agreement::Unclaimed => Cell::new(""),
        Agreement::Met => Cell::new("ok").fg(Color::Green),
        Agreement::Unchecked => Cell::new("not checked"),
        Agreement::Differs => Cell::new("differs (ignored)"),
        Agreement::Broken(Severity::Error) => Cell::new("WRONG").fg(Color::Red),
        Agreement::Broken(Severity::Warning) => Cell::new("doubtful").fg(Color::Yellow),
        Agreement::Broken(Severity::Note) => Cell::new("see note").fg(Color::Cyan),
    };
    let or_dash = |text: String| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            one_line(&text)
        }
    };
    [
        Cell::new(one_line(&row.subject)),
        Cell::new(or_dash(row.claimed)),
        Cell::new(or_dash(row.found)),
        verdict,
    ]
}
