//! Versions as they are written in this field.
//!
//! Three notations occur: dotted numbers (CUDA `12.8.1`, drivers `570.26`, NGC `13.0.2.006`), Python's
//! [PEP 440](https://packaging.python.org/specifications/version-specifiers/) (`2.8.0+cu128`), and Debian's
//! [`deb-version(7)`](https://manpages.debian.org/deb-version.7) (`1:8.9.7.29-1+cuda12.2`). Every function returns `None` for a version
//! that cannot be read, or is `unknown`: callers must not guess.

mod compare;
pub mod debian;
pub mod fits;
pub mod marker;
pub mod requirement;
mod respelled;

pub use compare::{compare, first_numbers, is_since, is_until, meets, newer, release, satisfies};
pub use fits::fits;
pub use respelled::{renamed, without};
