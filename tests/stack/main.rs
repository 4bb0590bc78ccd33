//! The stack of small images, one of each kind.

#![allow(clippy::unwrap_used)]

mod builder;
mod hostile;
mod libraries;
mod python;
mod system;
mod torch;
