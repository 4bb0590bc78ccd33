//! The overview table, and remarks on what could not be checked.

use comfy_table::{Cell, Color};

use super::style::{line, show, table};
use super::wrap::wrap;
use crate::summary::{Agreement, Row, claims_nothing, has_gpu_library, rows};
use crate::{ImageReport, one_line};
use imgcheck_model::finding::Severity;

/// Writes the table and the remarks.
pub(super) fn write(out: &mut String, image: &ImageReport, width: Option<u16>) {
    let facts = &image.facts;
    let rows = rows(image);
    if !rows.is_empty() {
        let mut table = table(width, &["", "CLAIMED", "FOUND", "VERDICT"]);
        for row in rows {
            table.add_row(cells(row));
        }
        line(out, &show(table));
    }
    let remarks = [
        claims_nothing(image),
        facts.config_digest.is_none().then_some(
            "No image configuration: environment variables such as LD_LIBRARY_PATH and the command are unknown.",
        ),
        (!has_gpu_library(image)).then_some(
            "No GPU libraries: PyTorch, CUDA, cuDNN and NCCL were not found in any layer.",
        ),
    ];
    for remark in remarks.into_iter().flatten() {
        line(out, &format!("  {}", wrap(remark, 2, width)));
    }
}

fn cells(row: Row) -> [Cell; 4] {
    let word = row.agreement.word();
    let verdict = match row.agreement {
        Agreement::Met => Cell::new(word).fg(Color::Green),
        Agreement::Broken(Severity::Error) => Cell::new(word.to_uppercase()).fg(Color::Red),
        Agreement::Broken(Severity::Warning) => Cell::new(word).fg(Color::Yellow),
        Agreement::Broken(Severity::Note) => Cell::new(word).fg(Color::Cyan),
        _ => Cell::new(word),
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
