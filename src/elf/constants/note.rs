//! A field of a JSON object in an ELF note, such as NVIDIA's `.note.cuda.fwd_compatibility`.

use serde::Deserialize;
use serde_json::Value;

use super::Found;
use crate::elf::error::ElfError;
use crate::elf::identify::Subject;
use crate::elf::notes;

/// Longer texts, and lists of more numbers, are not what the field is for.
const VALUE_LIMIT: usize = 64;

/// A field of the object; a list of numbers is written with spaces between them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::elf) struct NoteField {
    /// Name of the section.
    pub section: String,
    /// Name of the note.
    pub owner: String,
    /// Name of the field.
    pub field: String,
}

impl NoteField {
    pub fn read(&self, subject: &Subject) -> Result<Found, ElfError> {
        let mut sections = subject.object.sections.iter();
        let Some(section) = sections.find(|section| section.name == self.section) else {
            return Ok(Vec::new());
        };
        let length = section.file.end - section.file.start;
        let bytes = subject.object.optional(section.file.start, length)?;
        let object = notes::json(&bytes.unwrap_or_default(), &self.owner);
        let value = object.and_then(|object| written(object.get(&self.field)?));
        let detail = format!("{} of {}", self.field, self.section);
        Ok(value.map(|value| (value, detail)).into_iter().collect())
    }
}

fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let is_short = !text.is_empty() && text.len() <= VALUE_LIMIT;
            (is_short && text.chars().all(|c| c.is_ascii_graphic())).then(|| text.clone())
        }
        Value::Array(numbers) => {
            let is_short = !numbers.is_empty() && numbers.len() <= VALUE_LIMIT;
            let numbers = numbers
                .iter()
                .map(|it| it.as_u64().map(|it| it.to_string()));
            let numbers: Option<Vec<String>> = numbers.collect();
            numbers
                .filter(|_| is_short)
                .map(|numbers| numbers.join(" "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::object::X86_64;
    use crate::elf::testing::Sample;
    use crate::elf::{Depth, Recipes};

    /// The note of the forward-compatibility driver 590.44.01, as nvidia-container-toolkit's tests read it.
    fn note(owner: &str, text: &str) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [owner.len() as u32 + 1, text.len() as u32, 1] {
            note.extend(word.to_le_bytes());
        }
        note.extend(owner.bytes());
        note.resize((note.len() + 1).next_multiple_of(4), 0);
        note.extend(text.bytes());
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }

    const COMPATIBILITY: &str = r#"{"Format": 1, "CUDA Version": "13.1", "Driver": [535, 550, 570, 575, 580, 590], "Device": [1, 2]}"#;

    #[test]
    fn the_driver_of_a_compat_package_says_what_it_is_for() {
        let owner = "NVIDIA Corporation";
        let facts = |section, note: &[u8]| {
            let sample = Sample::new(X86_64)
                .soname("libcuda.so.1")
                .function("cuInit", b"\xc3")
                .function("cuDriverGetVersion", b"\xc3")
                .section(section, note);
            let recipes = Recipes::builtin().unwrap_or_else(|error| panic!("{error}"));
            let identity = sample.facts(&recipes, Depth::Default).identity;
            let readings = identity.map(|it| it.readings).unwrap_or_default();
            let values = readings.into_iter().map(|it| (it.fact, it.value));
            values.collect::<Vec<_>>()
        };
        let name = ".note.cuda.fwd_compatibility";
        let text = |text: &str| text.to_owned();
        assert_eq!(
            facts(name, &note(owner, COMPATIBILITY)),
            [
                (text("compat-cuda"), text("13.1")),
                (text("compat-drivers"), text("535 550 570 575 580 590"))
            ]
        );
        let jetson = note(owner, r#"{"Format": 1, "CUDA Version": "13.2"}"#);
        assert_eq!(facts(name, &jetson), [(text("compat-cuda"), text("13.2"))]);
        assert_eq!(facts(".note.other", &note(owner, COMPATIBILITY)), []);
        assert_eq!(facts(name, &note("Somebody", COMPATIBILITY)), []);
        assert_eq!(facts(name, &note(owner, "no JSON")), []);
        assert_eq!(facts(name, &[1, 2, 3]), []);
    }

    #[test]
    fn only_short_values_count() {
        for (json, expected) in [
            (r#""13.1""#, Some("13.1")),
            ("[535, 550]", Some("535 550")),
            ("[]", None),
            (r#"[535, "x"]"#, None),
            (r#""a\nb""#, None),
            ("{}", None),
            ("1", None),
        ] {
            let value: Value = serde_json::from_str(json).unwrap_or_default();
            assert_eq!(written(&value).as_deref(), expected, "{json}");
        }
        assert_eq!(written(&Value::from("1".repeat(65))), None);
    }
}
