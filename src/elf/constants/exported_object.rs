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

#[cfg(test)]
mod tests {
    use crate::elf::Depth;
    use crate::elf::object::X86_64;
    use crate::elf::testing::Sample;

    #[test]
    fn an_object_of_four_bytes_is_read() {
        let sample = Sample::new(X86_64)
            .function("f", b"\xc3")
            .object("x_graph_version", b"\x02\x0a\x09\x00")
            .object("x_long_version", b"\x02\x0a\x09\x00\x00\x00\x00\x00");
        let from = "{exported-object: {name: '^x_\\w+_version$'}}";
        let readings = sample.readings(from, "bytes", Depth::Default);
        assert_eq!(readings.len(), 1);
        assert_eq!(readings[0].value, "9.10.2");
        assert_eq!(readings[0].detail, "x_graph_version");
    }
}
