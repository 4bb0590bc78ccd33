//! Compares the packages that are installed together, and the variables that they read, for rules.

use super::conflicts;
use super::index_faults;
use super::never_built;
use super::other_cudas;
use super::pin_knowledge::PinKnowledge;
use super::replacements;
use super::settings;
use super::source_builds;
use super::sources::Sources;
use super::system_libraries;
use super::unpinned;
use imgcheck_base::error::Result;

impl Sources {
    /// Finds packages that contradict or replace each other, were never built, are for a different CUDA than intended, or have no version, and
    /// variables with which they fail. The claims of the base images must be known, and markers settled.
    ///
    /// # Errors
    /// A table is broken, which the tests exclude.
    pub fn compare(&mut self) -> Result<()> {
        self.settings = settings::all(&self.stages)?;
        self.source_builds = source_builds::all(&self.stages, &self.kind)?;
        let mut pins = self.stages.iter().flat_map(|stage| &stage.pins);
        if pins.all(|pin| pin.component.is_empty() && !pin.only_index) {
            return Ok(());
        }
        let knowledge = PinKnowledge::builtin()?;
        self.index_faults = index_faults::all(&self.stages, &self.kind, knowledge);
        self.system_libraries = system_libraries::all(&self.stages, knowledge);
        self.pin_conflicts = conflicts::all(&self.stages, knowledge);
        self.replacements = replacements::all(&self.stages, knowledge);
        self.never_built = never_built::all(&self.stages, knowledge);
        self.other_cudas = other_cudas::all(&self.stages, knowledge);
        self.unpinned = unpinned::all(&self.stages, knowledge);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
