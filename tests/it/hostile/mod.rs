//! Images that are made to harm who reads them: each is made by code, given to the program, and must end as it says it does.
//!
//! A table of `docs/src/hostile-images.md` has a row for each, with how long it took and how much memory it needed; another has a row
//! for each series of growing images. Tests compare them with what there is. The rows are written anew, with times of the release build, by
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
mod references;
mod rules_input;
mod sparse;
mod table;
mod tars;

use attack::Attack;

/// Every attack there is, in the order of the table; and one test a kind of attack, so that they run beside each other.
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

kinds! { links names archives sparse bombs documents references elf gpu loader rules_input output }
