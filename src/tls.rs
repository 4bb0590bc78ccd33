//! The cryptography of TLS connections.

use rustls::crypto::ring;

/// Makes ring the TLS provider of this process, unless it has one already. Call it before building a client, since none of them
/// includes a provider.
pub fn install() {
    // The error says that a provider is already installed.
    let _ = ring::default_provider().install_default();
}
