//! The columns of the tables: CSV and Parquet.

use super::record::{FleetFinding, FleetRecord, FleetRuns, FleetStatus};
use imgcheck_model::finding::Severity;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// A text in each row.
    Text,
    /// A text, or nothing.
    Optional,
    /// A number, or nothing.
    Number,
    /// Any number of texts.
    List,
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Text(String),
    Optional(Option<String>),
    Number(Option<u64>),
    List(Vec<String>),
}

impl Cell {
    fn kind(&self) -> ColumnKind {
        match self {
            Cell::Text(_) => ColumnKind::Text,
            Cell::Optional(_) => ColumnKind::Optional,
            Cell::Number(_) => ColumnKind::Number,
            Cell::List(_) => ColumnKind::List,
        }
    }
}

/// A row: each column by its name.
pub(super) fn row(record: &FleetRecord) -> Vec<(&'static str, Cell)> {
    let verdict = record.verdict.map(|it| it.as_str().to_owned());
    let version = |name: &str| Cell::Optional(record.stack.get(name).cloned());
    let count = |severity: Severity| {
        let all = record.findings.iter();
        Cell::Number(Some(all.filter(|it| it.severity == severity).count() as u64))
    };
    let findings = |text: fn(&FleetFinding) -> &String| {
        Cell::List(record.findings.iter().map(text).cloned().collect())
    };
    let gaps = record.gaps.iter().map(|gap| gap.as_str().to_owned());
    let runs = |runs: FleetRuns| {
        let targets = record.targets.iter().filter(|it| it.runs == runs);
        Cell::List(targets.map(|it| it.name.clone()).collect())
    };
    let bytes = record.layers.iter().map(|layer| layer.size);
    let against = record.against.as_ref();
    vec![
        ("reference", Cell::Text(record.reference.clone())),
        ("source", Cell::Text(record.source.clone())),
        ("digest", Cell::Optional(record.digest.clone())),
        ("platform", Cell::Text(record.platform.clone())),
        ("status", Cell::Text(status(record.status).to_owned())),
        ("verdict", Cell::Optional(verdict)),
        ("code", Cell::Optional(record.code.clone())),
        ("message", Cell::Optional(record.message.clone())),
        ("errors", count(Severity::Error)),
        ("warnings", count(Severity::Warning)),
        ("notes", count(Severity::Note)),
        ("findings", findings(|it| &it.rule)),
        ("messages", findings(|it| &it.message)),
        ("gaps", Cell::List(gaps.collect())),
        ("torch", version("torch")),
        ("cuda", version("cuda")),
        ("cudnn", version("cudnn")),
        ("nccl", version("nccl")),
        ("python", version("python")),
        (
            "minimum_driver",
            Cell::Optional(record.minimum_driver.clone()),
        ),
        ("architectures", Cell::List(record.architectures.clone())),
        ("runs_on", runs(FleetRuns::Yes)),
        ("not_on", runs(FleetRuns::No)),
        ("unknown_on", runs(FleetRuns::Unknown)),
        ("layers", Cell::Number(Some(record.layers.len() as u64))),
        (
            "bytes",
            Cell::Number(Some(bytes.fold(0, u64::saturating_add))),
        ),
        ("pods", Cell::Number(record.pods)),
        ("pulls", Cell::Number(record.pulls)),
        (
            "against",
            Cell::Optional(against.map(|it| it.verdict.as_str().to_owned())),
        ),
    ]
}

/// The columns of every row.
pub(super) fn columns() -> Vec<(&'static str, ColumnKind)> {
    let row = row(&FleetRecord::default()).into_iter();
    row.map(|(name, cell)| (name, cell.kind())).collect()
}

fn status(status: FleetStatus) -> &'static str {
    match status {
        FleetStatus::Judged => "judged",
        FleetStatus::Failed => "failed",
        FleetStatus::Skipped => "skipped",
    }
}
