//! Where images are: [`source`] finds them and opens their layers without reading these, [`cache`] keeps what was read of a layer or a document, and
//! [`attest`] is what travels beside an image.

pub mod attest;
pub mod cache;
pub mod object_storage;
pub mod source;
pub mod tls;
