//! Images that attack their reader: code builds each one, imgcheck reads it, and the result must be the expected one.
//!
//! A table of `costs.md` has a row for each, with its time and memory; another has a row for each series of growing images. Tests
//! compare the rows with the code. These commands write them again, with times of the release build:
//!
//! ```sh
//! cargo build --release
//! IMGCHECK_ATTACK_TABLE=1 cargo test --test it hostile:: -- --test-threads 1
//! ```

mod archives;
mod attack;
mod bombs;
mod documents;
mod elf;
mod forge;
mod gpu;
mod growth;
mod links;
mod loader;
mod names;
mod output;
mod processes;
mod references;
mod rules_input;
mod sparse;
mod table;
mod tars;

use attack::Attack;

/// Every attack, in the order of the table; and one test for each kind of attack, so that they run in parallel.
macro_rules! kinds {
    ($($kind:ident)*) => {
        fn attacks() -> Vec<Attack> {
            [$($kind::attacks()),*].into_iter().flatten().collect()
        }

        $(#[test]
        fn $kind() {
            attack::try_all(&$kind::attacks());
        })*
    };
}

kinds! { links names archives sparse bombs documents references elf gpu loader processes rules_input output }
