//! A number of four bytes that is exported as a data object.

use serde::Deserialize;

use super::Found;
use crate::elf::decode::Decoder;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::recipes::Pattern;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct ExportedObject {
    /// Pattern of its name.
    pub name: Pattern,
}

impl ExportedObject {
    pub fn read(&self, subject: &Subject, decoder: Decoder) -> Result<Found, ElfError> {
        let mut found = Vec::new();
        for export in subject.exports {
            if !export.object || export.size != 4 || !self.name.0.is_match(export.name.as_bytes()) {
                continue;
            }
            let bytes = subject.object.at_address(export.address, 4)?;
            let number = <[u8; 4]>::try_from(bytes.as_ref()).map(u32::from_le_bytes);
            if let Some(value) = number.ok().and_then(|number| decoder.decode(number)) {
                found.push((value, export.name.clone()));
            }
        }
        Ok(found)
    }
}
