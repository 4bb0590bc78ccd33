//! Where the recipes of `testdata/recipes` put real images and files of published wheels.

use std::path::{Path, PathBuf};

/// The directory of IMGCHECK_REAL, else `testdata/real`.
pub fn directory() -> PathBuf {
    std::env::var_os("IMGCHECK_REAL")
        .filter(|value| !value.is_empty())
        .map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/real"),
            PathBuf::from,
        )
}
