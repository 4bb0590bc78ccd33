//! Docker contexts: named engines in the configuration directory of the command `docker`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::local;
use imgcheck_base::digest;
use imgcheck_base::error::{Error, ErrorCode, Result};

/// Looks up an environment variable; an empty one counts as missing.
pub(super) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The name of the default context, which is not stored.
const DEFAULT: &str = "default";

/// The certificates of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tls {
    pub authority: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Tls {
    /// The files with the names that `docker` uses.
    pub fn in_directory(directory: &Path) -> Self {
        Tls {
            authority: directory.join("ca.pem"),
            certificate: directory.join("cert.pem"),
            key: directory.join("key.pem"),
        }
    }
}

/// The contexts of a user.
#[derive(Debug)]
pub(super) struct Contexts {
    /// `$DOCKER_CONFIG`, usually `~/.docker`.
    pub configuration: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    current_context: Option<String>,
}

/// `contexts/meta/SHA256-OF-NAME/meta.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Meta {
    endpoints: HashMap<String, Endpoint>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Endpoint {
    host: Option<String>,
}

impl Contexts {
    /// The contexts of the configuration directory that the environment names.
    pub fn new(variable: Variable) -> Self {
        let directory = variable("DOCKER_CONFIG").map(PathBuf::from);
        let home = || PathBuf::from(variable("HOME").unwrap_or_default()).join(".docker");
        Contexts {
            configuration: directory.unwrap_or_else(home),
        }
    }

    /// The current context; `None` for the default one.
    pub fn current(&self, variable: Variable) -> Result<Option<String>> {
        let name = match variable("DOCKER_CONTEXT") {
            Some(name) => Some(name),
            None => {
                let path = self.configuration.join("config.json");
                let configuration: Option<Configuration> = json(&path)?;
                configuration.and_then(|configuration| configuration.current_context)
            }
        };
        Ok(name.filter(|name| !name.is_empty() && name != DEFAULT))
    }

    /// The host of a context, and its certificates.
    pub fn endpoint(&self, name: &str) -> Result<(String, Option<Tls>)> {
        let hashed = digest::sha256(name.as_bytes());
        let directory = digest::hexadecimal(&hashed).unwrap_or_default();
        let contexts = self.configuration.join("contexts");
        let path = contexts.join("meta").join(directory).join("meta.json");
        let wrong = |problem: String| {
            let subject = format!("Docker context {name}");
            misconfigured(ErrorCode::NotFound, subject, problem)
        };
        let meta: Meta =
            json(&path)?.ok_or_else(|| wrong(format!("context not found ({})", path.display())))?;
        let endpoint = meta
            .endpoints
            .into_iter()
            .find(|(kind, _)| kind == "docker");
        let host = endpoint
            .and_then(|(_, endpoint)| endpoint.host)
            .filter(|host| !host.is_empty())
            .ok_or_else(|| wrong("it has no Docker endpoint".to_owned()))?;
        let certificates = contexts.join("tls").join(directory).join("docker");
        let tls = certificates
            .is_dir()
            .then(|| Tls::in_directory(&certificates));
        Ok((host, tls))
    }
}

/// `None` if the file does not exist.
fn json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let wrong =
        |problem: String| misconfigured(ErrorCode::Damaged, path.display().to_string(), problem);
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(format!("cannot be read: {error}"))),
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| wrong(format!("is not valid JSON: {error}")))
}

fn misconfigured(code: ErrorCode, subject: String, problem: String) -> Error {
    Error::new(code, subject, problem).with_help(format!(
        "see `docker context ls`, or set DOCKER_HOST, as in DOCKER_HOST={}",
        local::DOCKER
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::address::{Address, addresses};
    use super::super::kind::EngineKind;
    use super::*;

    fn write(directory: &Path, name: &str, text: &str) {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A configuration with the context `far`; the name of its directory is the digest that `docker context create far` uses.
    fn configuration(current: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let name = "512eea46ceb3921dff4363c7069d89d4964d1d9fccaa0f411851a7aa60a5c868";
        let path = directory.path();
        write(
            path,
            "config.json",
            &format!(r#"{{"auths": {{}}, "currentContext": "{current}"}}"#),
        );
        write(
            path,
            &format!("contexts/meta/{name}/meta.json"),
            r#"{"Name": "far", "Metadata": {}, "Endpoints": {"docker": {"Host": "tcp://far:2376", "SkipTLSVerify": false}}}"#,
        );
        write(path, &format!("contexts/tls/{name}/docker/ca.pem"), "");
        directory
    }

    fn found(directory: &Path, context: Option<&str>) -> Result<Vec<Address>> {
        let variable = |name: &str| match name {
            "DOCKER_CONFIG" => Some(directory.to_str().unwrap().to_owned()),
            "DOCKER_CONTEXT" => context.map(str::to_owned),
            _ => None,
        };
        addresses(EngineKind::Docker, &variable)
    }

    #[test]
    fn the_current_context_names_the_engine() {
        let directory = configuration("far");
        for context in [None, Some("far")] {
            let addresses = found(directory.path(), context).unwrap();
            assert_eq!(addresses.len(), 1);
            assert_eq!(addresses[0].to_string(), "tcp://far:2376 (context far)");
            let authority = &addresses[0].tls.as_ref().unwrap().authority;
            assert!(authority.is_file(), "{authority:?}");
        }
        let usual = found(directory.path(), Some("default")).unwrap();
        assert_eq!(usual[0].to_string(), "unix:///var/run/docker.sock");
    }

    #[test]
    fn a_missing_context_is_an_error() {
        let directory = configuration("default");
        assert!(found(directory.path(), None).unwrap()[0].origin.is_none());
        let error = found(directory.path(), Some("near"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("Docker context near: context not found"),
            "{error}"
        );
        write(directory.path(), "config.json", "{");
        let error = found(directory.path(), None).unwrap_err().to_string();
        assert!(error.contains("config.json: is not valid JSON"), "{error}");
    }
}
