//! The CUDA version of a driver (`libcuda`), and what a forward-compatibility driver says about itself.

use std::sync::LazyLock;

use regex::bytes::Regex;
use serde_json::Value;

use super::values::{Values, immediates, unanimous};
use crate::candidate::Candidate;
use crate::error::ElfError;
use crate::notes;
use crate::number_format::NumberFormat;
use crate::object::X86_64;
use crate::pattern::bytes_pattern;

/// je +8; mov dword ptr [rdi],imm32; xor eax,eax
static STORE: LazyLock<Regex> = bytes_pattern!(r"\x74\x08\xc7\x07(....)\x31\xc0");
/// Longer than any match of [`STORE`], in bytes.
const OVERLAP: usize = 16;

/// The section with a JSON object about forward compatibility, and the name of its note. nvidia-container-toolkit reads it
/// (`cmd/nvidia-cdi-hook/cudacompat`).
const COMPATIBILITY: &str = ".note.cuda.fwd_compatibility";
const OWNER: &str = "NVIDIA Corporation";
/// Longer texts, and lists with more numbers, are not versions.
const MAX_VALUE: usize = 64;

/// The only plausible version that any code stores through a checked argument before it returns 0. The exported
/// `cuDriverGetVersion` only jumps there.
pub(super) fn cuda(candidate: &Candidate) -> Result<Values, ElfError> {
    let mut numbers = Vec::new();
    if candidate.object.machine == X86_64 {
        candidate.object.search_code(OVERLAP, |_, code| {
            numbers.extend(immediates(&STORE, code));
        })?;
    }
    let format = NumberFormat::ThousandsAndTens;
    Ok(unanimous(numbers, format, "stored by a function"))
}

/// A field of the forward-compatibility note: a text, or numbers separated by spaces.
pub(super) fn compatibility(candidate: &Candidate, field: &str) -> Result<Values, ElfError> {
    let mut sections = candidate.object.sections.iter();
    let Some(section) = sections.find(|section| section.name == COMPATIBILITY) else {
        return Ok(Vec::new());
    };
    let length = section.file.end - section.file.start;
    let bytes = candidate.object.optional(section.file.start, length)?;
    let object = notes::json(&bytes.unwrap_or_default(), OWNER);
    let value = object.and_then(|object| text(object.get(field)?));
    let detail = format!("{field} in {COMPATIBILITY}");
    Ok(value.map(|value| (value, detail)).into_iter().collect())
}

fn text(value: &Value) -> Option<String> {
    let is_short = |length: usize| (1..=MAX_VALUE).contains(&length);
    match value {
        Value::String(text) => {
            let is_plain = is_short(text.len()) && text.chars().all(|c| c.is_ascii_graphic());
            is_plain.then(|| text.clone())
        }
        Value::Array(numbers) if is_short(numbers.len()) => {
            let numbers = numbers.iter().map(|it| Some(it.as_u64()?.to_string()));
            Some(numbers.collect::<Option<Vec<_>>>()?.join(" "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Depth;
    use crate::testing::Sample;

    #[test]
    fn cuda_is_the_only_plausible_store() {
        let store =
            b"\x74\x08\xc7\x07\xf4\x2e\x00\x00\x31\xc0\xc3\x74\x08\xc7\x07\x01\x00\x00\x00\x31\xc0";
        let sample = Sample::new(X86_64).function("f", b"\xc3").code(store);
        let values = sample.values("driver-cuda", "number", Depth::Default);
        assert_eq!(values, ["12.2"]);
        let two = [&store[..11], b"\x74\x08\xc7\x07\xea\x2e\x00\x00\x31\xc0"].concat();
        let sample = Sample::new(X86_64).function("f", b"\xc3").code(&two);
        let values = sample.values("driver-cuda", "number", Depth::Default);
        assert!(values.is_empty());
    }

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

    #[test]
    fn a_forward_compatibility_driver_names_its_cuda_and_host_drivers() {
        let facts = |section, note: &[u8]| {
            let sample = Sample::new(X86_64)
                .soname("libcuda.so.1")
                .function("cuInit", b"\xc3")
                .function("cuDriverGetVersion", b"\xc3")
                .section(section, note);
            let recipes = crate::Recipes::new(
                imgcheck_tables::read("libraries").unwrap_or_else(|error| panic!("{error}")),
            );
            let identity = sample.facts(&recipes, Depth::Default).identity;
            let readings = identity.map(|it| it.readings).unwrap_or_default();
            let values = readings.into_iter().map(|it| (it.fact, it.value));
            values.collect::<Vec<_>>()
        };
        let pair = |fact: &str, value: &str| (fact.to_owned(), value.to_owned());
        let json = r#"{"Format": 1, "CUDA Version": "13.1", "Driver": [535, 550, 570, 575, 580, 590], "Device": [1, 2]}"#;
        assert_eq!(
            facts(COMPATIBILITY, &note(OWNER, json)),
            [
                pair("compat-cuda", "13.1"),
                pair("compat-drivers", "535 550 570 575 580 590")
            ]
        );
        let jetson = note(OWNER, r#"{"Format": 1, "CUDA Version": "13.2"}"#);
        assert_eq!(facts(COMPATIBILITY, &jetson), [pair("compat-cuda", "13.2")]);
        assert_eq!(facts(".note.other", &note(OWNER, json)), []);
        assert_eq!(facts(COMPATIBILITY, &note("Somebody", json)), []);
        assert_eq!(facts(COMPATIBILITY, &note(OWNER, "no JSON")), []);
        assert_eq!(facts(COMPATIBILITY, &[1, 2, 3]), []);
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
            assert_eq!(text(&value).as_deref(), expected, "{json}");
        }
        assert_eq!(text(&Value::from("1".repeat(65))), None);
    }
}
