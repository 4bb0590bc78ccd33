//! TLS connections: their cryptography, and the servers that they trust.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
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

/// By which a client shows a server who it is.
pub struct Identity {
    /// Its certificate, and those of the authorities between it and one that the server trusts.
    pub certificates: Vec<CertificateDer<'static>>,
    /// The private key of the certificate.
    pub key: PrivateKeyDer<'static>,
}

/// The TLS configuration of a client for HTTP/1.1. It uses ring, whatever the process has installed.
///
/// # Errors
/// The machine has no certificate authorities and none are given, or one of those given is invalid.
pub fn client_config(trust: Trust) -> Result<ClientConfig, Error> {
    client_config_as(trust, None)
}

/// Like [`client_config`], with an identity for servers that ask for one.
///
/// # Errors
/// Same as [`client_config`]; also if the key does not belong to the certificate.
pub fn client_config_as(trust: Trust, identity: Option<Identity>) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::Authorities(named) => Arc::new(NamedCertificates {
            others: Verifier::new_with_extra_roots(named.clone(), provider)?,
            named,
        }),
        Trust::Anyone => Arc::new(AnyCertificate),
        Trust::NoOne => {
            let builder = builder.with_root_certificates(RootCertStore::empty());
            return Ok(builder.with_no_client_auth());
        }
    };
    let builder = builder.dangerous();
    let builder = builder.with_custom_certificate_verifier(verifier);
    let mut config = match identity {
        Some(identity) => builder.with_client_auth_cert(identity.certificates, identity.key)?,
        None => builder.with_no_client_auth(),
    };
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

/// Accepts also a server's own certificate if it is one of those named, although nobody but itself signed it. Its name and dates count.
#[derive(Debug)]
struct NamedCertificates {
    named: Vec<CertificateDer<'static>>,
    others: Verifier,
}

impl ServerCertVerifier for NamedCertificates {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer,
        intermediates: &[CertificateDer],
        name: &ServerName,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self
            .others
            .verify_server_cert(certificate, intermediates, name, ocsp, now);
        match verified {
            // The dates are checked before the issuer. "Other" is a certificate of an authority that a server uses for itself.
            Err(Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::Other(_),
            )) if self.named.iter().any(|named| named == certificate) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.others
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.others
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.others.supported_verify_schemes()
    }
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
