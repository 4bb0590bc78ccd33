//! A model of the dynamic loader: which file answers each request of a process, in which order files are mapped, and which
//! versions and symbols stay undefined. Nothing is run, and nothing here knows what PyTorch is.
//!
//! The rules are those of glibc (elf/dl-load.c, elf/dl-deps.c, elf/dl-version.c, elf/dl-lookup.c, elf/dl-open.c) or, if the
//! program's interpreter is musl's, of musl (ldso/dynlink.c).
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::collections::BTreeMap;
//!
//! use imgcheck_elf::ElfFacts;
//! use imgcheck_image::{Content, Entry, EntryKind, LayerFacts, RootFilesystem};
//! use imgcheck_loader::{Libc, Process, System};
//!
//! // A root file system of three files: facts alone, from wherever they come.
//! let file = |path: &str, needed: &[&str]| Entry {
//!     path: path.to_owned(),
//!     kind: EntryKind::File(Content::Elf(Box::new(ElfFacts {
//!         class: 2,    // 64 bits
//!         machine: 62, // x86-64
//!         object_type: 3,
//!         interpreter: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
//!         needed: needed.iter().map(|it| (*it).to_owned()).collect(),
//!         ..ElfFacts::default()
//!     }))),
//!     size: 1,
//!     mode: 0o755,
//!     owner: Default::default(),
//! };
//! let layer = LayerFacts {
//!     entries: vec![
//!         file("app/main", &["libcudart.so.12"]),
//!         file("lib64/ld-linux-x86-64.so.2", &[]),
//!         file("opt/cuda/libcudart.so.12", &[]),
//!     ],
//! };
//! let root = RootFilesystem::merge([&layer]);
//! let program = root.resolve("/app/main")?;
//!
//! let start = |variables: &[(&str, &str)]| {
//!     let variables = variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
//!     let system = System::of(&root, program.elf()?, variables.collect::<BTreeMap<_, _>>(), "/")?;
//!     match Process::start(&system, "/app/main").ok()? {
//!         Ok(process) => Some(process.objects().iter().map(|it| it.path.clone()).collect()),
//!         Err(failure) => Some(vec![failure.faults[0].message(Libc::Glibc)]),
//!     }
//! };
//! assert_eq!(
//!     start(&[]).unwrap(),
//!     ["libcudart.so.12: cannot open shared object file: No such file or directory"]
//! );
//! assert_eq!(
//!     start(&[("LD_LIBRARY_PATH", "/opt/cuda")]).unwrap(),
//!     ["/app/main", "/opt/cuda/libcudart.so.12", "/lib64/ld-linux-x86-64.so.2"]
//! );
//! # Ok(())
//! # }
//! ```

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
pub use system::{Command, HostLibrary, Libc, ProcessBudget, System};
