//! SquashFS 4.0 images, read by random access: only the requested blocks of a file are decompressed.
//!
//! The format is described in the Linux kernel (`fs/squashfs/squashfs_fs.h`) and by squashfs-tools-ng (`doc/format.adoc`). Every
//! offset, length and count is of the image, and none is trusted: reads stay within it, blocks have at most the length that the format
//! allows, and what is decompressed in all is bounded as it is for a layer. Extended attributes are not read.

mod block;
mod directory;
mod error;
mod file;
mod image;
mod inode;
mod lzo;
mod metadata;
mod tables;

pub use directory::Child;
pub use file::SquashfsFile;
pub use image::{MAGIC, Squashfs};
pub use inode::{Extent, Inode, InodeKind, Listing};
