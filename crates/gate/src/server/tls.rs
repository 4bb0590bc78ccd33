//! The certificate of the server, read again when its files change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use imgcheck_base::error::{Error, Result};

/// The files of a server with TLS.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate and those that lead to its authority (PEM).
    pub certificate: PathBuf,
    /// Its private key (PEM).
    pub key: PathBuf,
    /// Authorities whose clients may use what is not admission (PEM).
    pub client_authorities: Option<PathBuf>,
}

/// The configuration that new connections use. One that cannot be read leaves the last in use.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    current: RwLock<Current>,
}

#[derive(Debug, Clone)]
struct Current {
    config: Arc<ServerConfig>,
    /// When the certificate expires, in seconds since 1970.
    expires: i64,
}

impl Tls {
    /// # Errors
    /// A file cannot be read, or key and certificate do not belong together.
    pub fn read(files: TlsFiles) -> Result<Self> {
        let current = RwLock::new(Current::read(&files)?);
        Ok(Tls { files, current })
    }

    /// The files that are read.
    pub fn files(&self) -> Vec<PathBuf> {
        let TlsFiles {
            certificate,
            key,
            client_authorities,
        } = self.files.clone();
        [certificate, key]
            .into_iter()
            .chain(client_authorities)
            .collect()
    }

    /// Reads the files again.
    ///
    /// # Errors
    /// Same as [`Tls::read`]; then the last certificate stays in use.
    pub fn reload(&self) -> Result<()> {
        let current = Current::read(&self.files)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
        Ok(())
    }

    /// What a new connection uses.
    pub fn config(&self) -> Arc<ServerConfig> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.config.clone()
    }

    /// When the certificate in use expires, in seconds since 1970.
    pub fn expires(&self) -> i64 {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.expires
    }
}

impl Current {
    fn read(files: &TlsFiles) -> Result<Self> {
        let chain = certificates(&files.certificate)?;
        let path = &files.key;
        let key = PrivateKeyDer::from_pem_slice(&read(path)?)
            .map_err(|error| wrong(path, format!("no private key: {error}")))?;
        let expires = expiry(&chain[0]).map_err(|it| wrong(&files.certificate, it))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(path, error.to_string()))?;
        let builder = match &files.client_authorities {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(path)? {
                    roots
                        .add(authority)
                        .map_err(|error| wrong(path, error.to_string()))?;
                }
                // The API server and probes have no certificate: who may do what is decided by path.
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                    .allow_unauthenticated()
                    .build()
                    .map_err(|error| wrong(path, error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| wrong(&files.certificate, error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Current {
            config: config.into(),
            expires,
        })
    }
}

/// The certificates of a file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let bytes = read(path)?;
    let found = CertificateDer::pem_slice_iter(&bytes).collect::<std::result::Result<Vec<_>, _>>();
    let found = found.map_err(|error| wrong(path, error.to_string()))?;
    match found.is_empty() {
        true => Err(wrong(path, "no certificate found".to_owned())),
        false => Ok(found),
    }
}

fn expiry(certificate: &CertificateDer) -> std::result::Result<i64, String> {
    let (_, parsed) =
        x509_parser::parse_x509_certificate(certificate).map_err(|error| error.to_string())?;
    Ok(parsed.validity().not_after.timestamp())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| Error::io(path.display().to_string(), error))
}

fn wrong(path: &Path, problem: String) -> Error {
    Error::config(format!("{}: {problem}", path.display()))
}
