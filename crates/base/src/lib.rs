//! What all crates of imgcheck share: errors with codes and help, limits, cancellation, references to images, versions, YAML with positions, and
//! files below an untrusted directory.

pub mod beneath;
pub mod bounds;
pub mod cancellation;
pub mod decimal_bytes;
pub mod digest;
pub mod document;
pub mod error;
pub mod excerpt;
pub mod gap;
pub mod glob;
pub mod json_schema;
pub mod key_file;
pub mod lexical;
pub mod limits;
pub mod memory;
pub mod parallel;
pub mod progress;
pub mod read_at;
pub mod reference;
pub mod required_version;
pub mod spelling;
pub mod version;
pub mod yaml;
