//! Files below an untrusted directory. Nothing outside the directory is opened, and no device or FIFO. On Linux the kernel enforces that,
//! even if the tree changes meanwhile; elsewhere each path is checked before it is opened.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod portable;
#[cfg(all(test, target_os = "linux"))]
mod tests;
mod tree;
mod types;

#[cfg(target_os = "linux")]
pub use linux::{Directory, attribute, directory, file, link_target, metadata, names, root};
#[cfg(not(target_os = "linux"))]
pub use portable::{Directory, attribute, directory, file, link_target, metadata, names, root};
pub use tree::Tree;
pub use types::{FileKind, Links, Metadata};
