//! The first lines of an image: verdict, name, and how it was read.

use super::style::{BOLD, DIM, colored, line};
use super::wrap::wrap;
use crate::details::{count, source_name};
use crate::{ImageReport, Inspection, Report, one_line};
use imgcheck_source::source::SourceKind;

/// Writes the first lines; `imgcheck facts` has no report, thus no verdict and no time.
pub(super) fn heading(
    out: &mut String,
    facts: &Inspection,
    report: Option<&ImageReport>,
    width: Option<u16>,
) {
    name(out, facts, report);
    let mut about = vec![source_name(facts)];
    if !facts.platform.is_empty() {
        about.push(one_line(&facts.platform));
    }
    about.push(format!(
        "{} and {}",
        count(facts.layers.len(), "layer"),
        count(facts.files, "file")
    ));
    if facts.layers.iter().any(|layer| layer.is_lazy) {
        about.push("lazily read layers".to_owned());
    }
    if facts.gpu.sampled {
        about.push("GPU code sampled".to_owned());
    }
    if facts.source == SourceKind::Sif {
        about.push("without the environment of the host".to_owned());
    }
    if let Some(report) = report {
        about.push(format!("{:.2} s", report.elapsed_ms as f64 / 1000.0));
    }
    let about = wrap(&about.join(" · "), 0, width);
    line(out, &format!("{DIM}{about}{DIM:#}\n"));
}

/// Writes the verdict and the name.
pub(super) fn name(out: &mut String, facts: &Inspection, report: Option<&ImageReport>) {
    let name = one_line(facts.name());
    let heading = match report {
        None => format!("{BOLD}{name}{BOLD:#}"),
        Some(report) => {
            let remark = match &facts.reference {
                Some(_) => String::new(),
                None => format!(" {DIM}(no reference to compare with: use --as REFERENCE){DIM:#}"),
            };
            let verdict = colored(report.verdict, &report.findings);
            format!("{verdict}  {BOLD}{name}{BOLD:#}{remark}")
        }
    };
    line(out, &heading);
}

/// What everything was judged by.
pub(super) fn judged_by(out: &mut String, report: &Report) {
    if out.is_empty() {
        return;
    }
    let judged_by = report.judged_by();
    let judged_by = judged_by.map(|(label, text)| format!("{label}: {}", one_line(text)));
    let judged_by = judged_by.collect::<Vec<_>>().join(" · ");
    line(out, &format!("\n{DIM}{judged_by}{DIM:#}"));
}
