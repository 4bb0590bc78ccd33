//! Archives of container images, read within limits: tar by seeking or as a stream, what compresses it, and SquashFS by random access.

pub mod archive;
pub mod squashfs;
