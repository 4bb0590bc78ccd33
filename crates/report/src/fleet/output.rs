//! Where the records of a sweep go.

use std::io;

use super::csv::Csv;
use super::jsonl::Jsonl;
use super::page::FleetPage;
use super::parquet;
use super::record::FleetRecord;
use super::sarif::Sarif;
use super::text::Text;
use super::writer::{FleetTotals, JudgedBy, Sink, Writer};
use imgcheck_base::error::{Error, Result};

/// A format of the results of a sweep.
///
/// ```
/// assert_eq!(imgcheck::FleetFormat::ALL.len(), 6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetFormat {
    /// A short summary for a terminal.
    Text,
    /// One record a line, in JSON.
    Jsonl,
    /// A table for spreadsheets: one image a row.
    Csv,
    /// A table for analytics: one image a row. Needs a build with the feature `parquet`.
    Parquet,
    /// SARIF 2.1.0: one result a finding.
    Sarif,
    /// A page for a browser.
    Html,
}

impl FleetFormat {
    /// All formats.
    pub const ALL: [FleetFormat; 6] = [
        FleetFormat::Text,
        FleetFormat::Jsonl,
        FleetFormat::Csv,
        FleetFormat::Parquet,
        FleetFormat::Sarif,
        FleetFormat::Html,
    ];
}

/// Writes the results of a sweep in one format, record by record. Memory does not grow with the number of records, but for small
/// counts and, for the page, a bounded part of them.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
/// use imgcheck::{Checker, FleetFormat, FleetRecord, FleetTotals, ImageRequest};
///
/// let checker = Checker::builder().build()?;
/// let report = checker.check(&[ImageRequest::new("testdata/sample/pytorch-cuda-v2.9.tar")]);
/// let mut output = checker.fleet_output(FleetFormat::Jsonl, Box::new(std::io::sink()))?;
/// output.write(&FleetRecord::of(&report.images[0]))?;
/// output.finish(&FleetTotals { listed: 1, judged: 1, complete: true, ..FleetTotals::default() })?;
/// # Ok(())
/// # }
/// ```
pub struct FleetOutput {
    writer: Box<dyn Writer>,
}

impl FleetOutput {
    /// Starts a document. Nothing but `sink` buffers what is written to it.
    ///
    /// # Errors
    /// This build of imgcheck does not have the format, or `sink` fails.
    pub fn create(format: FleetFormat, sink: Sink, judged_by: &JudgedBy) -> Result<Self> {
        let failed = |error| Error::output("the results of the sweep", error);
        let writer: Box<dyn Writer> = match format {
            FleetFormat::Text => Box::new(Text::new(sink)),
            FleetFormat::Jsonl => Box::new(Jsonl::new(sink)),
            FleetFormat::Csv => Box::new(Csv::new(sink).map_err(failed)?),
            FleetFormat::Parquet => parquet::writer(sink, judged_by)?,
            FleetFormat::Sarif => Box::new(Sarif::new(sink, judged_by).map_err(failed)?),
            FleetFormat::Html => Box::new(FleetPage::new(sink, judged_by)),
        };
        Ok(FleetOutput { writer })
    }

    /// Writes a record.
    ///
    /// # Errors
    /// The sink fails.
    pub fn write(&mut self, record: &FleetRecord) -> io::Result<()> {
        self.writer.write(record)
    }

    /// Writes the end of the document, and flushes the sink. Without it a document is incomplete.
    ///
    /// # Errors
    /// The sink fails.
    pub fn finish(self, totals: &FleetTotals) -> io::Result<()> {
        self.writer.finish(totals)
    }
}

impl std::fmt::Debug for FleetOutput {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("FleetOutput")
            .finish_non_exhaustive()
    }
}
