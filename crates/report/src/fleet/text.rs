//! A short summary for a terminal.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::counts::{Counts, Row};
use super::record::{FleetRecord, FleetStatus};
use super::writer::{FleetTotals, Sink, Writer};
use crate::{Verdict, one_line};

/// Lines of each list.
const LINES: usize = 10;

/// Writes the summary.
pub(super) struct Text {
    sink: Sink,
    counts: Counts,
}

impl Text {
    pub(super) fn new(sink: Sink) -> Self {
        Text {
            sink,
            counts: Counts::new(LINES),
        }
    }
}

impl Writer for Text {
    fn write(&mut self, record: &FleetRecord) -> io::Result<()> {
        self.counts.add(record);
        Ok(())
    }

    fn finish(mut self: Box<Self>, totals: &FleetTotals) -> io::Result<()> {
        let text = summary(&self.counts, totals);
        self.sink.write_all(text.as_bytes())?;
        self.sink.flush()
    }
}

fn summary(counts: &Counts, totals: &FleetTotals) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "{} listed = {} judged + {} failed + {} skipped",
        totals.listed, totals.judged, totals.failed, totals.skipped
    );
    if !totals.complete {
        text.push_str("The list is incomplete:\n");
        list(
            &mut text,
            totals.unread.iter().map(|it| one_line(it)),
            totals.unread.len() as u64,
        );
    }
    let verdict = |verdict| counts.verdicts.of(&verdict);
    let _ = writeln!(
        text,
        "{} fail, {} incomplete, {} pass{}",
        verdict(Verdict::Fail),
        verdict(Verdict::Incomplete),
        verdict(Verdict::Pass) - counts.not_counted,
        match counts.not_counted {
            0 => String::new(),
            number => format!(", {number} with errors that are not counted"),
        }
    );
    let rules = counts.by_rule();
    if !rules.is_empty() {
        text.push_str("\nRules with the most findings (images):\n");
        let lines = rules.iter().map(|(rule, severity, count)| {
            format!("{count:>8}  {:<7}  {}", severity.as_str(), one_line(rule))
        });
        list(&mut text, lines, rules.len() as u64);
    }
    let targets = counts.by_target();
    if !targets.is_empty() {
        text.push_str("\nTargets:\n");
        let lines = targets.iter().map(|(name, [yes, no, unknown, without])| {
            let name = one_line(name);
            format!(
                "  {name}: {yes} run, {no} do not, {unknown} unknown, {without} without GPU code"
            )
        });
        list(&mut text, lines, targets.len() as u64);
    }
    let order = match (counts.knows_pods, counts.knows_pulls) {
        (true, _) => ", most Pods first",
        (_, true) => ", most pulls first",
        _ => "",
    };
    rows(
        &mut text,
        &format!("Tags that lie{order}"),
        counts.lies.items(),
        counts.lies.total,
    );
    rows(
        &mut text,
        &format!("Other images that fail{order}"),
        counts.failing.items(),
        counts.failing.total,
    );
    rows(
        &mut text,
        "Incomplete",
        counts.incomplete.items(),
        counts.incomplete.total,
    );
    rows(
        &mut text,
        "Failed and skipped",
        counts.unread.items(),
        counts.unread.total,
    );
    if counts.moves.iter().next().is_some() {
        let better = counts
            .moves
            .iter()
            .filter(|((here, there), _)| there < here);
        let better: u64 = better.map(|(_, count)| count).sum();
        let title = match totals.against.is_empty() {
            true => "Compared".to_owned(),
            false => format!("Against {}", one_line(&totals.against)),
        };
        let _ = writeln!(
            text,
            "\n{title}: {} worse, {better} better",
            counts.worse.total
        );
        rows(&mut text, "Worse", counts.worse.items(), counts.worse.total);
    }
    text
}

/// A list with its title, if it has anything.
fn rows(text: &mut String, title: &str, rows: Vec<&Row>, total: u64) {
    if total == 0 {
        return;
    }
    let _ = writeln!(text, "\n{title} ({total}):");
    let lines = rows.iter().map(|row| {
        let pods = row
            .pods
            .map(|pods| format!(" ({pods} Pods)"))
            .unwrap_or_default();
        let code = match row.status {
            FleetStatus::Judged => String::new(),
            _ => format!(" {}", one_line(&row.code)),
        };
        let more = if row.more > 0 {
            format!("; {} more", row.more)
        } else {
            String::new()
        };
        let messages = one_line(&row.messages.join("; "));
        format!(
            "  {}{pods}:{code} {messages}{more}",
            one_line(&row.reference)
        )
    });
    list(text, lines, total);
}

/// At most [`LINES`] lines, and how many are left out.
fn list(text: &mut String, lines: impl Iterator<Item = String>, total: u64) {
    for line in lines.take(LINES) {
        let _ = writeln!(text, "{line}");
    }
    if total > LINES as u64 {
        let _ = writeln!(text, "  … and {} more", total - LINES as u64);
    }
}
