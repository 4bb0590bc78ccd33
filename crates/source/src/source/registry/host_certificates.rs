//! The certificates that Docker and Podman have for single registries: `/etc/docker/certs.d/HOST[:PORT]/`.
//!
//! `*.crt` are certificates of authorities; `NAME.cert` and `NAME.key` are the client's own certificate and its key
//! (<https://docs.docker.com/engine/security/certificates/>, containers-certs.d(5)).

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::failure::chain;
use crate::source::environment::variable_os;
use crate::tls::Identity;
use imgcheck_base::error::{Error, Result};

/// What the files of a registry hold.
#[derive(Default)]
pub(super) struct HostCertificates {
    /// Certificates of authorities, and of the registry itself.
    pub authorities: Vec<CertificateDer<'static>>,
    /// The first client certificate.
    pub identity: Option<Identity>,
}

/// The directories for a registry that exist, those of the user first.
pub(super) fn directories(host: &str) -> Vec<PathBuf> {
    directories_of(&variable_os, host)
}

fn directories_of(variable: &dyn Fn(&str) -> Option<OsString>, host: &str) -> Vec<PathBuf> {
    // The name of a registry becomes the name of a directory.
    if host.is_empty() || host.starts_with('.') || host.contains(['/', '\\']) {
        return Vec::new();
    }
    let directory = |name: &str| {
        let value = variable(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let config =
        directory("XDG_CONFIG_HOME").or_else(|| directory("HOME").map(|home| home.join(".config")));
    let of_user = config
        .iter()
        .flat_map(|config| ["containers", "docker"].map(|name| config.join(name)));
    let of_system = ["/etc/containers", "/etc/docker"].map(PathBuf::from);
    let all = of_user.chain(of_system);
    all.map(|place| place.join("certs.d").join(host))
        .filter(|place| place.is_dir())
        .collect()
}

impl HostCertificates {
    /// Reads the files of some directories. A key that this user may not read is left out, as if it were not there.
    ///
    /// # Errors
    /// A file cannot be read, or is not what its name says.
    pub fn read(directories: &[PathBuf]) -> Result<Self> {
        let mut found = HostCertificates::default();
        for directory in directories {
            let entries = fs::read_dir(directory);
            let entries = entries.map_err(|error| refused(directory, &error.to_string()))?;
            let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            files.sort();
            for file in files {
                match file.extension().and_then(|end| end.to_str()) {
                    Some("crt") => found.authorities.extend(certificates(&file)?),
                    Some("cert") if found.identity.is_none() => {
                        found.identity = identity(&file)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(found)
    }
}

fn identity(file: &Path) -> Result<Option<Identity>> {
    let path = file.with_extension("key");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(refused(&path, &error.to_string())),
    };
    let key = PrivateKeyDer::from_pem_slice(&bytes);
    Ok(Some(Identity {
        certificates: certificates(file)?,
        key: key.map_err(|error| refused(&path, &chain(&error)))?,
    }))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let bytes = fs::read(file).map_err(|error| refused(file, &error.to_string()))?;
    let certificates = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(refused(file, "no certificate found")),
        Err(error) => Err(refused(file, &chain(&error))),
    }
}

fn refused(path: &Path, problem: &str) -> Error {
    Error::config(format!("{}: {problem}", path.display())).with_help(
        "imgcheck reads these files as Docker does: *.crt are certificates (PEM), NAME.cert and NAME.key a client certificate and its key",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_existing_directories_of_the_registry_count() {
        let home = tempfile::tempdir().unwrap();
        let variable = |name: &str| (name == "HOME").then(|| home.path().as_os_str().to_owned());
        let own = home
            .path()
            .join(".config/containers/certs.d/r.example:5000");
        fs::create_dir_all(&own).unwrap();
        let found = |host: &str| directories_of(&variable, host);
        assert_eq!(found("r.example:5000"), vec![own.clone()]);
        assert!(found("r.example").is_empty());
        for host in ["", ".", "..", "a/../b"] {
            assert!(found(host).is_empty(), "{host}");
        }
        fs::write(own.join("ca.crt"), "no certificate").unwrap();
        let error = HostCertificates::read(&found("r.example:5000"))
            .err()
            .unwrap();
        assert!(
            error.to_string().contains("ca.crt: no certificate found"),
            "{error}"
        );
        assert_eq!(error.exit_code(), 2);
    }
}
