//! What the search of the page looks through: four lines a reference.

use crate::fleet::record::{FleetRecord, FleetStatus};
use crate::html::markup::escape;
use crate::one_line;
use imgcheck_base::excerpt::shortened;

/// Bytes of the index: about 100,000 references.
const BYTES: usize = 12 * 1024 * 1024;
/// Characters of a line.
const PIECE: usize = 300;

/// The index as written to the page.
#[derive(Debug, Default)]
pub(super) struct Index {
    html: String,
    /// References in it.
    pub references: u64,
    /// References that came when it was full.
    pub left_out: u64,
}

impl Index {
    /// Adds the lines of a record: reference, result, Pods, and the rules or the code.
    pub fn add(&mut self, record: &FleetRecord) {
        let result = match (record.status, record.verdict) {
            (FleetStatus::Failed, _) => "failed",
            (FleetStatus::Skipped, _) => "skipped",
            (FleetStatus::Judged, verdict) => verdict.map_or("", |it| it.as_str()),
        };
        let mut rules: Vec<&str> = record.findings.iter().map(|it| it.rule.as_str()).collect();
        rules.dedup();
        let why = match &record.code {
            Some(code) => code.clone(),
            None => rules.join(" "),
        };
        let pods = record.pods.map(|pods| pods.to_string()).unwrap_or_default();
        let piece = |text: &str| escape(&one_line(&shortened(text, PIECE)));
        let lines = format!(
            "{}\n{result}\n{pods}\n{}\n",
            piece(&record.reference),
            piece(&why)
        );
        match self.html.len() + lines.len() <= BYTES {
            true => {
                self.html.push_str(&lines);
                self.references += 1;
            }
            false => self.left_out += 1,
        }
    }

    /// The lines, escaped.
    pub fn html(&self) -> &str {
        &self.html
    }
}
