//! A build without Parquet.

use super::writer::{JudgedBy, Sink, Writer};
use imgcheck_base::error::{Error, Result};

/// There is no such format in this build.
pub(super) fn writer(_: Sink, _: &JudgedBy) -> Result<Box<dyn Writer>> {
    Err(Error::usage("this imgcheck was built without Parquet")
        .with_help("released programs have it; build with `cargo build --release --features parquet`, or write `jsonl`"))
}
