//! What imgcheck knows of an image: what was promised ([`claims`]), what is in it ([`stack`]), what its processes load ([`process`]), and on
//! which machines that runs ([`targets`]). [`settings`] knows the variables that harm a package.

pub mod claims;
pub mod finding;
mod globs;
pub mod imports;
pub mod knowledge;
pub mod process;
pub mod settings;
pub mod size;
pub mod stack;
pub mod targets;
