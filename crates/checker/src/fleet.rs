//! The results of a sweep.

use std::io::Write;

use super::state::Checker;
use imgcheck_base::error::Result;
use imgcheck_report::fleet::{FleetFormat, FleetOutput, JudgedBy};

impl Checker {
    /// Starts a document with the results of a sweep, judged by the rules of this checker. Nothing but `sink` buffers what is
    /// written to it.
    ///
    /// # Errors
    /// This build of imgcheck does not have the format, or `sink` fails.
    pub fn fleet_output(
        &self,
        format: FleetFormat,
        sink: Box<dyn Write + Send>,
    ) -> Result<FleetOutput> {
        let judged_by = JudgedBy {
            rules: self.rules.clone(),
            knowledge: self.knowledge.date.clone(),
            configuration: self.configuration.clone(),
        };
        FleetOutput::create(format, sink, &judged_by)
    }
}
