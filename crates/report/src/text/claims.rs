//! The claims of references.

use anstyle::AnsiColor;

use super::finding::{advice, caret, head};
use super::style::{BOLD, color, line, separate, show, table};
use super::wrap::wrap;
use crate::details::count;
use crate::{ReferenceReport, one_line};

/// The claims of references, with their findings.
pub fn claims(references: &[ReferenceReport], width: Option<u16>) -> String {
    let mut out = String::new();
    for report in references {
        separate(&mut out);
        line(
            &mut out,
            &format!("{BOLD}{}{BOLD:#}", one_line(&report.reference)),
        );
        if let Some(error) = &report.error {
            let red = color(AnsiColor::Red);
            let (message, help) = error.split_once('\n').unwrap_or((error, ""));
            let message = one_line(message);
            let text = wrap(&format!("{red}error{red:#}: {message}"), 2, width);
            line(&mut out, &format!("  {text}"));
            for advice in help.lines() {
                let advice = wrap(&one_line(advice), 2, width);
                line(&mut out, &format!("  {advice}"));
            }
        } else if report.claims.is_empty() {
            line(&mut out, "  no claims that imgcheck recognizes");
        } else {
            let mut table = table(width, &["SUBJECT", "VERSION", "READ FROM"]);
            for claim in &report.claims {
                let read_from = format!("{} ({})", claim.text, claim.origin);
                let cells = [&claim.subject, &claim.version, &read_from];
                table.add_row(cells.map(|text| one_line(text)));
            }
            line(&mut out, &show(table));
        }
        for finding in &report.findings {
            out.push('\n');
            head(&mut out, finding, width);
            let reference = Some(report.reference.as_str());
            caret(&mut out, reference, finding.claim.as_ref(), width);
            advice(&mut out, finding, width);
        }
        if !report.ignored.is_empty() {
            let ignored = count(report.ignored.len(), "finding");
            line(&mut out, &format!("\n{ignored} ignored"));
        }
    }
    out
}
