//! imgcheck reads a container image at rest and says whether it holds what its labels promise.
//!
//! Data flows one way, and each module knows only the modules above it in this list:
//! reference → source → layer facts (with ELF facts) → root filesystem → stack and claims → rules →
//! findings → report. `checker` is the only place that joins them.

mod beneath;
mod cancellation;
mod digest;
mod embedded;
mod error;
mod glob;
mod json_schema;
mod limits;
mod parallel;
mod progress;
mod spelling;
mod tls;
mod vocabulary;
mod yaml;

mod reference;
mod version;

mod archive;
mod cache;

mod elf;
mod source;

mod layer;

mod image;

mod launch;

mod loader;

mod claims;
mod stack;

mod process;

mod targets;

mod knowledge;

mod finding;
mod policy;

mod lint;

mod rules;

mod report;

mod checker;

/// What the fuzz targets, the benchmarks and the tests of this repository reach. It may change at any time.
#[doc(hidden)]
pub mod internals {
    macro_rules! expose {
        ($($module:ident)*) => { $(pub mod $module { pub use crate::$module::*; })* };
    }
    expose! {
        archive beneath cache cancellation checker claims digest elf embedded
        error finding glob image json_schema knowledge launch layer limits lint
        loader parallel policy process progress reference report rules
        source spelling stack targets tls version vocabulary yaml
    }
}
