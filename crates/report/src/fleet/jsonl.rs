//! JSON Lines: one record a line. Totals are not in it: they are counted from `status`.

use std::io::{self, Write};

use super::record::FleetRecord;
use super::writer::{FleetTotals, Sink, Writer};
use crate::safe_json;

/// Writes JSON Lines.
pub(super) struct Jsonl(Sink);

impl Jsonl {
    pub(super) fn new(sink: Sink) -> Self {
        Jsonl(sink)
    }
}

impl Writer for Jsonl {
    fn write(&mut self, record: &FleetRecord) -> io::Result<()> {
        let line = safe_json(&serde_json::to_string(record)?);
        writeln!(self.0, "{line}")
    }

    fn finish(mut self: Box<Self>, _: &FleetTotals) -> io::Result<()> {
        self.0.flush()
    }
}
