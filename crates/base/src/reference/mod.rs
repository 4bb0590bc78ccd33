//! References: image names, and the transports that say where an image is stored.

pub mod name;
pub mod only_tag;
pub mod transport;
