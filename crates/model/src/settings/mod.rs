//! Variables of GPU packages with which something fails, slows down, or runs on the CPU: `image.settings` and `lint.settings`.
//!
//! What a variable may say is data: `rules/knowledge/settings.yaml`.

mod faults;
mod installed;
mod knowledge;
mod options;
mod releases;
mod values;
mod words;
mod wrong;

pub use faults::{Effect, Fault, Problem};
pub use installed::Installed;
pub use knowledge::{NamesTable, Settings, SettingsTable};
pub use values::Names;

#[cfg(test)]
mod tests;
