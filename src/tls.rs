//! The cryptography of TLS connections.

use rustls::crypto::ring;

/// Chooses ring for all TLS of this process. To be called before a client is built, for none of ours brings a provider of its own;
/// later calls change nothing.
pub fn install() {
    // The error is that one is installed already.
    let _ = ring::default_provider().install_default();
}
