//! Where users keep keys: in a file, or in an environment variable.

use std::fs::File;
use std::io::Read;

/// Maximum length of a key, in bytes: a longer file is not one.
pub const LONGEST: u64 = 1 << 16;
const VARIABLE: &str = "env://";

/// Reads `FILE`, or `env://NAME` for an environment variable; of a file at most one byte more than [`LONGEST`].
///
/// # Errors
/// Why it cannot be read.
pub fn read(place: &str) -> Result<Vec<u8>, String> {
    let Some(name) = place.strip_prefix(VARIABLE) else {
        return read_file(place).map_err(|error| error.to_string());
    };
    let value = std::env::var(name).map(String::into_bytes);
    value.map_err(|error| error.to_string())
}

fn read_file(path: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
