//! TLS connections: their cryptography, and the servers that they trust.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// The servers that a client trusts.
pub enum Trust {
    /// Those with a certificate of an authority of the system, or of one of these.
    Authorities(Vec<CertificateDer<'static>>),
    /// All, whatever their certificate.
    Anyone,
    /// None.
    NoOne,
}

/// The TLS configuration of a client for HTTP/1.1. It uses ring, whatever the process has installed.
///
/// # Errors
/// The machine has no certificate authorities and none are given, or one of those given is invalid.
pub fn client_config(trust: Trust) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::Authorities(extra) => Arc::new(Verifier::new_with_extra_roots(extra, provider)?),
        Trust::Anyone => Arc::new(AnyCertificate),
        Trust::NoOne => {
            let builder = builder.with_root_certificates(RootCertStore::empty());
            return Ok(builder.with_no_client_auth());
        }
    };
    let builder = builder.dangerous();
    let mut config = builder
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Makes ring the TLS provider of this process, unless it has one already.
///
/// Only for clients that cannot be given a configuration: `bollard::Docker::connect_with_ssl` accepts none, and `object_store` only
/// together with an HTTP client that ignores its other options (proxies, certificates, timeouts in the environment).
pub fn install() {
    // The error says that a provider is already installed.
    let _ = ring::default_provider().install_default();
}

/// Accepts every certificate and every signature.
#[derive(Debug)]
struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer,
        _: &[CertificateDer],
        _: &ServerName,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    /// More than ring can verify, since nothing is verified.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        let mut schemes = algorithms.supported_schemes();
        schemes.extend([
            SignatureScheme::ECDSA_NISTP521_SHA512,
            SignatureScheme::ED448,
            SignatureScheme::RSA_PKCS1_SHA1,
            SignatureScheme::ECDSA_SHA1_Legacy,
        ]);
        schemes
    }
}
