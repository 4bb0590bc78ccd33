//! What the user typed: image references, and the transports that name where an image is stored.

pub mod name;
pub mod transport;
