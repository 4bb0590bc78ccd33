//! What the dynamic loader of an image would do, without running it.

pub mod abi;
pub mod cache;
pub mod hwcaps;
pub mod ldconfig;
