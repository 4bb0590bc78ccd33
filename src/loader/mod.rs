//! A model of the dynamic loader: which file answers each request of a process, in which order files are mapped, and which
//! versions and symbols stay undefined. Nothing is run, and nothing here knows what PyTorch is.
//!
//! The rules are those of glibc (elf/dl-load.c, elf/dl-deps.c, elf/dl-version.c, elf/dl-lookup.c, elf/dl-open.c) or, if the
//! program's interpreter is musl's, of musl (ldso/dynlink.c).

pub mod abi;
mod builtin;
pub mod cache;
mod directories;
mod fault;
pub mod hwcaps;
pub mod ldconfig;
mod lookup;
mod mapping;
mod object;
mod open;
mod process;
mod relocate;
mod search;
mod system;
#[cfg(test)]
mod tests;
mod tokens;

pub use fault::{Failure, Fault};
pub use lookup::Lookup;
pub use object::{Object, ObjectId, Reason, SearchPath, SearchedDirectory};
pub use open::OpenMode;
pub use process::Process;
pub use system::{Bounds, Command, HostLibrary, Libc, System};
