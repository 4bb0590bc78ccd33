//! Refuses directories and entries that other users can write to.
//!
//! Entries have a checksum and no signature, so whoever writes one decides what is believed about a layer. A program that runs as root
//! must not trust a directory that another user owns or everybody can write to.

#[cfg(not(unix))]
mod unchecked;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use unchecked::{IS_CHECKED, Trusted, create, new_entry};
#[cfg(unix)]
pub(super) use unix::{IS_CHECKED, Trusted, create, new_entry};
