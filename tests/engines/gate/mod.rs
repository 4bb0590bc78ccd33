//! The promise of a gate: a run that could not read everything never passes, and no run reports something false.
//!
//! The image of these tests is mislabelled, so that a whole check ends with exit code 1. Whatever is done to the program or to
//! what it reads, it ends with that code and the same report, or with a code that is no verdict; with 0, never.

mod case;
mod cut;
mod disk;
mod entries;
mod killed;
mod machine;
mod several;
mod vanished;
