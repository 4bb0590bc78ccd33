//! What the tests of several files need.

#![allow(clippy::unwrap_used)]

use imgcheck_base::bounds::Bounds;
use imgcheck_base::progress::NoProgress;
use imgcheck_elf::{Depth, Recipes};
use imgcheck_source::cache::Cache;

use crate::{FilePatterns, LayerReader, ReadContext};

/// A request with the tables that are built in, the default limits, no cache and no progress.
pub fn context() -> ReadContext<'static> {
    let patterns = FilePatterns::new(&imgcheck_tables::read("files").unwrap()).unwrap();
    let recipes = Recipes::new(imgcheck_tables::read("libraries").unwrap());
    let reader = LayerReader::new(patterns, recipes, Cache::default());
    reader.request(Depth::Default, Bounds::default(), &NoProgress)
}
