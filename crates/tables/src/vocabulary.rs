//! The names that reports, claims and expressions use. They come from `rules/knowledge/vocabulary.yaml` and
//! `rules/knowledge/libraries.yaml`; `build.rs` turns them into constants.

include!(concat!(env!("OUT_DIR"), "/vocabulary.rs"));
