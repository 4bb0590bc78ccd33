//! The certificate of `imgcheck serve --self-signed`: made, renewed, and written where the server reads it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use super::server::TlsFiles;
use imgcheck_base::error::{Error, Result};
use imgcheck_cluster::{self as cluster, Connection};

/// How often the certificate and what the webhooks trust are looked at.
const INTERVAL: Duration = Duration::from_secs(600);

/// Writes the certificate that all replicas share into a directory, and keeps it up to date.
///
/// # Errors
/// There is no webhook configuration, the API server refuses, or the directory cannot be written.
pub fn self_signed(connection: &Connection, directory: &Path) -> Result<TlsFiles> {
    let files = TlsFiles {
        certificate: directory.join("tls.crt"),
        key: directory.join("tls.key"),
        client_authorities: None,
    };
    renew(connection, directory, &files)?;
    let (connection, directory, kept) = (connection.clone(), directory.to_owned(), files.clone());
    let renewal = std::thread::Builder::new().name("certificate".to_owned());
    let renewal = renewal.spawn(move || {
        loop {
            std::thread::sleep(INTERVAL);
            if let Err(error) = renew(&connection, &directory, &kept) {
                tracing::error!(%error, "the certificate cannot be renewed; the last one stays in use");
            }
        }
    });
    renewal.map_err(|error| Error::io("the renewal of the certificate", error))?;
    Ok(files)
}

fn renew(connection: &Connection, directory: &Path, files: &TlsFiles) -> Result<()> {
    let made = cluster::certificate(connection)?;
    let failed = |error| Error::io(directory.display().to_string(), error);
    fs::create_dir_all(directory).map_err(failed)?;
    // The server reads both when one changes, and keeps the last pair that fits.
    write(&files.key, &made.key)?;
    write(&files.certificate, &made.certificate)
}

/// Replaces a file that only its owner may read, unless it is the same.
fn write(path: &PathBuf, text: &str) -> Result<()> {
    let failed = |error| Error::io(path.display().to_string(), error);
    if fs::read_to_string(path).is_ok_and(|it| it == text) {
        return Ok(());
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(directory).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
