//! What the dynamic loader would do: which file answers each request of a process, in which order files are loaded, and which
//! versions and symbols stay unmet. Nothing is run; nothing here knows what PyTorch is.
//!
//! The rules are those of glibc (elf/dl-load.c, elf/dl-deps.c, elf/dl-version.c, elf/dl-lookup.c, elf/dl-open.c) and, where the
//! program's interpreter is musl's, of musl (ldso/dynlink.c). Programs that run with other privileges than their caller's
//! (set-user-ID) are out of scope.

pub mod abi;
pub mod cache;
mod fault;
pub mod hwcaps;
pub mod ldconfig;
mod object;
mod process;
mod relocate;
mod search;
mod system;
#[cfg(test)]
mod tests;

pub use fault::Fault;
pub use object::{Object, ObjectId, Reason, Source, Tried};
pub use process::{Failure, Mode, Process};
pub(crate) use search::DIRECTORIES;
pub use system::{Family, HostLibrary, System};
