//! What is judged, and how: rule files and their expressions in [`rules`], the configuration of a team in [`policy`].

pub mod policy;
pub mod rules;
