//! The ways in which a version stands in the bytes of a library. Each is generic; which library is read which way is data.
//!
//! Machine code is matched by the byte patterns that compilers emit, not disassembled: x86-64 after Intel SDM volume 2,
//! AArch64 after the Arm ARM (DDI 0487), section C6.2.

mod aarch64;
mod after_string;
mod compared;
mod constant_functions;
mod exported_object;
mod formatted_call;
mod getter;
mod guarded_store;
mod modal;
mod note;
mod returned;
mod stored;
mod stored_through_argument;
mod string;

use serde::Deserialize;

use super::decode::Decoder;
use super::error::ElfError;
use super::facts::ReadingKind;
use super::identify::Subject;
use super::object::{AARCH64, X86_64};
use super::recipes::Pattern;

/// Values with the place where each was found.
pub(super) type Found = Vec<(String, String)>;

/// A file in which one reading finds more values than this tells nothing: it was made so. Real ones have a handful.
const CANDIDATES: usize = 64;

/// One way to read a value; see the module of each.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Primitive {
    StoredThroughArgument(stored_through_argument::StoredThroughArgument),
    Stored(stored::Stored),
    StoredPair(stored::StoredPair),
    Returned(returned::Returned),
    ReturnedFields(returned::ReturnedFields),
    ExportedObject(exported_object::ExportedObject),
    AfterString(after_string::AfterString),
    String(string::StringMatch),
    Soname(string::SonameMatch),
    FormattedCall(formatted_call::FormattedCall),
    Compared(compared::Compared),
    Modal(modal::Modal),
    ConstantFunctions(constant_functions::ConstantFunctions),
    Getter(getter::Getter),
    GuardedStore(guarded_store::GuardedStore),
    NoteField(note::NoteField),
}

impl Primitive {
    /// The exports that it looks at.
    pub fn exports(&self) -> Vec<&str> {
        match self {
            Primitive::StoredThroughArgument(it) => vec![&it.export],
            Primitive::Stored(it) => vec![&it.export],
            Primitive::StoredPair(it) => vec![&it.export],
            Primitive::Returned(it) => vec![&it.export],
            Primitive::ReturnedFields(it) => vec![&it.export],
            Primitive::Compared(it) => it.near.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// The pattern of the data objects that it looks at.
    pub fn object(&self) -> Option<&Pattern> {
        match self {
            Primitive::ExportedObject(it) => Some(&it.name),
            _ => None,
        }
    }

    /// Whether it reads code and data, or strings.
    pub fn kind(&self) -> ReadingKind {
        match self {
            Primitive::String(_) | Primitive::Soname(_) | Primitive::NoteField(_) => {
                ReadingKind::String
            }
            _ => ReadingKind::Code,
        }
    }

    /// Takes the reading; empty if the file does not have it.
    pub fn read(&self, subject: &Subject, decoder: Decoder) -> Result<Found, ElfError> {
        let found: Found = match self {
            Primitive::StoredThroughArgument(it) => it.read(subject, decoder),
            Primitive::Stored(it) => it.read(subject, decoder),
            Primitive::StoredPair(it) => it.read(subject),
            Primitive::Returned(it) => it.read(subject, decoder),
            Primitive::ReturnedFields(it) => it.read(subject),
            Primitive::ExportedObject(it) => it.read(subject, decoder),
            Primitive::AfterString(it) => it.read(subject, decoder),
            Primitive::String(it) => it.read(subject),
            Primitive::Soname(it) => Ok(it.read(subject)),
            Primitive::FormattedCall(it) => it.read(subject),
            Primitive::Compared(it) => it.read(subject, decoder),
            Primitive::Modal(it) => it.read(subject, decoder),
            Primitive::ConstantFunctions(it) => it.read(subject, decoder),
            Primitive::Getter(it) => it.read(subject, decoder),
            Primitive::GuardedStore(it) => it.read(subject, decoder),
            Primitive::NoteField(it) => it.read(subject),
        }?;
        Ok(match found.len() {
            ..=CANDIDATES => found,
            _ => Vec::new(),
        })
    }
}

/// The one value that all numbers decode to; nothing if they disagree, for then some of them are not versions.
fn unanimous(
    numbers: impl IntoIterator<Item = u32>,
    decoder: Decoder,
    detail: impl Into<String>,
) -> Found {
    let mut values: Vec<String> = numbers
        .into_iter()
        .filter_map(|number| decoder.decode(number))
        .collect();
    values.sort_unstable();
    values.dedup();
    match <[String; 1]>::try_from(values) {
        Ok([value]) => vec![(value, detail.into())],
        Err(_) => Vec::new(),
    }
}

/// The constant that a function returns, if it does nothing else.
pub(super) fn only_returns(machine: u16, body: &[u8]) -> Option<u32> {
    match (machine, body) {
        // mov eax, imm32; ret — with or without endbr64 before it
        (X86_64, [0xb8, a, b, c, d, 0xc3, ..])
        | (X86_64, [0xf3, 0x0f, 0x1e, 0xfa, 0xb8, a, b, c, d, 0xc3, ..]) => {
            Some(u32::from_le_bytes([*a, *b, *c, *d]))
        }
        (AARCH64, body) => aarch64::only_returns(body),
        _ => None,
    }
}

/// The immediate that a regular expression captured.
fn immediate(capture: Option<regex::bytes::Match>) -> Option<u32> {
    let bytes: [u8; 4] = capture?.as_bytes().try_into().ok()?;
    Some(u32::from_le_bytes(bytes))
}

/// A byte pattern of this program.
macro_rules! bytes_pattern {
    ($pattern:expr) => {
        std::sync::LazyLock::new(|| {
            #[allow(clippy::expect_used)]
            regex::bytes::Regex::new(concat!("(?s-u)", $pattern)).expect("a fixed pattern")
        })
    };
}
use bytes_pattern;
