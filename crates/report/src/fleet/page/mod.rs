//! The page about a whole fleet: one file, without a server. Its only script is the search; everything else is there without it.

mod curve;
mod index;
mod views;

use std::io::{self, Write};

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::counts::Counts;
use super::record::{FleetRecord, FleetStatus};
use super::sharing::Base;
use super::writer::{FleetTotals, JudgedBy, Sink, Writer};
use crate::html::STYLE;
use crate::{Verdict, printable};
use curve::Drivers;
use imgcheck_base::decimal_bytes::decimal_bytes as bytes;
use index::Index;
use views::{Against, Bars, List, Matrix, TargetView, grouped};

const OWN_STYLE: &str = include_str!("fleet.css");
const SCRIPT: &str = include_str!("search.js");
/// References of each list.
const ROWS: usize = 500;
/// Texts about an incomplete plan.
const UNREAD: usize = 50;

#[derive(Template)]
#[template(path = "fleet/page/page.html")]
struct Page<'p> {
    version: &'static str,
    title: String,
    style: String,
    script: &'static str,
    script_hash: String,
    totals: &'p FleetTotals,
    listed: String,
    judged: String,
    failed: String,
    skipped: String,
    unread: Vec<&'p str>,
    unread_more: usize,
    /// Class, label and count.
    sums: Vec<(&'static str, &'static str, String)>,
    index: &'p str,
    indexed: String,
    index_left_out: Option<String>,
    lists: Vec<List<'p>>,
    knows_pods: bool,
    against: Option<Against>,
    targets: Vec<TargetView>,
    drivers: Option<Drivers>,
    matrix: Option<Matrix>,
    charts: Vec<Bars>,
    has_layers: bool,
    images: String,
    layers: String,
    referenced: String,
    unique: String,
    saved: String,
    /// Bases with their size, and what they save.
    bases: Vec<(Base, String, String)>,
    layers_left_out: u64,
    knowledge: &'p str,
    configuration: Option<&'p str>,
}

/// Writes the page.
pub(super) struct FleetPage {
    sink: Sink,
    counts: Counts,
    index: Index,
    judged_by: JudgedBy,
}

impl FleetPage {
    pub(super) fn new(sink: Sink, judged_by: &JudgedBy) -> Self {
        FleetPage {
            sink,
            counts: Counts::new(ROWS),
            index: Index::default(),
            judged_by: judged_by.clone(),
        }
    }
}

impl Writer for FleetPage {
    fn write(&mut self, record: &FleetRecord) -> io::Result<()> {
        self.counts.add(record);
        self.index.add(record);
        Ok(())
    }

    fn finish(mut self: Box<Self>, totals: &FleetTotals) -> io::Result<()> {
        let page = page(&self.counts, &self.index, totals, &self.judged_by);
        let page = page.render().map_err(io::Error::other)?;
        self.sink.write_all(printable(&page).as_bytes())?;
        self.sink.flush()
    }
}

fn page<'p>(
    counts: &'p Counts,
    index: &'p Index,
    totals: &'p FleetTotals,
    judged_by: &'p JudgedBy,
) -> Page<'p> {
    let sharing = &counts.sharing;
    let with_sizes = |base: Base| {
        let (size, saved) = (bytes(base.bytes), bytes(base.saved()));
        (base, size, saved)
    };
    Page {
        version: env!("CARGO_PKG_VERSION"),
        title: format!("{} images · imgcheck sweep", grouped(totals.listed)),
        style: format!("{STYLE}\n{OWN_STYLE}"),
        script: SCRIPT,
        script_hash: hash(SCRIPT),
        totals,
        listed: grouped(totals.listed),
        judged: grouped(totals.judged),
        failed: grouped(totals.failed),
        skipped: grouped(totals.skipped),
        unread: totals
            .unread
            .iter()
            .take(UNREAD)
            .map(String::as_str)
            .collect(),
        unread_more: totals.unread.len().saturating_sub(UNREAD),
        sums: sums(counts),
        index: index.html(),
        indexed: grouped(index.references),
        index_left_out: (index.left_out > 0).then(|| grouped(index.left_out)),
        lists: views::lists(counts),
        knows_pods: counts.knows_pods,
        against: views::against(counts, &totals.against),
        targets: views::targets(counts),
        drivers: curve::drivers(counts),
        matrix: views::matrix(counts),
        charts: views::charts(counts, &judged_by.rules),
        has_layers: sharing.layers() > 0,
        images: grouped(sharing.images() as u64),
        layers: grouped(sharing.layers() as u64),
        referenced: bytes(sharing.referenced),
        unique: bytes(sharing.unique),
        saved: bytes(sharing.referenced.saturating_sub(sharing.unique)),
        bases: sharing.bases().into_iter().map(with_sizes).collect(),
        layers_left_out: sharing.left_out,
        knowledge: &judged_by.knowledge,
        configuration: judged_by.configuration.as_deref(),
    }
}

fn sums(counts: &Counts) -> Vec<(&'static str, &'static str, String)> {
    let verdict = |verdict| counts.verdicts.of(&verdict);
    let passes = verdict(Verdict::Pass) - counts.not_counted;
    vec![
        ("fail", "Fail", grouped(verdict(Verdict::Fail))),
        (
            "incomplete",
            "Incomplete",
            grouped(verdict(Verdict::Incomplete)),
        ),
        ("pass", "Pass", grouped(passes)),
        ("lies", "Tags that lie", grouped(counts.lies.total)),
        (
            "failed",
            "Failed to read",
            grouped(counts.status(FleetStatus::Failed)),
        ),
        (
            "skipped",
            "Skipped",
            grouped(counts.status(FleetStatus::Skipped)),
        ),
    ]
}

/// A script as a Content-Security-Policy names it.
fn hash(script: &str) -> String {
    format!(
        "sha256-{}",
        STANDARD.encode(Sha256::digest(script.as_bytes()))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`printable`] is applied to the whole page, and the policy of the page allows the script as it is written here.
    #[test]
    fn the_page_contains_nothing_that_is_escaped() {
        for part in [
            OWN_STYLE,
            SCRIPT,
            include_str!("page.html"),
            include_str!("list.html"),
        ] {
            assert_eq!(printable(part), part);
        }
        assert!(!SCRIPT.contains("</"), "it would end the element");
    }
}
