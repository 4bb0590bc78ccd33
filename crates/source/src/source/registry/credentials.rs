//! The credentials that `docker login`, `podman login` and their credential helpers store.
//!
//! This file chooses the entry and the file, since keys with namespaces and `auth.json` are not in [`docker_credential`], which
//! decodes the entry or runs its helper.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use docker_credential::{CredentialRetrievalError, DockerCredential};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::failure::printable;
use crate::source::environment::variable_os;

/// Docker Hub's registry, its names in files, and the one that credential helpers use.
const HUB: &str = "docker.io";
const HUB_NAMES: [&str; 3] = [HUB, "index.docker.io", "registry-1.docker.io"];
const HUB_SERVER: &str = "https://index.docker.io/v1/";

/// Credentials for a registry.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A user name with a password or an access token.
    Password {
        /// The user name.
        user: String,
        /// The password or access token.
        password: String,
    },
    /// An OAuth2 refresh token, which the registry exchanges for access tokens.
    IdentityToken(String),
}

impl Credentials {
    /// What a pull secret, the JSON of `.dockerconfigjson`, has for a repository. Whoever writes the secret starts no credential helper.
    pub fn of_pull_secret(text: &str, registry: &str, repository: &str) -> Option<Self> {
        let file: File = serde_json::from_str(text).ok()?;
        let mut keys = keys(registry, repository).into_iter();
        let auth = keys.find_map(|key| file.auth(&key))?;
        Entry::Auth(auth).credentials().ok().flatten()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credentials(hidden)")
    }
}

/// The result of a search for credentials.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    pub credentials: Option<Credentials>,
    /// Where they were found, for messages.
    pub origin: Option<String>,
    /// The file that was searched first, for messages.
    pub searched: String,
    /// Files and helpers that failed, for the message if credentials turn out to be required.
    pub problems: Vec<String>,
}

impl Lookup {
    /// The credentials that were given with the request.
    pub fn of_request(credentials: Credentials) -> Self {
        Lookup {
            credentials: Some(credentials),
            origin: Some("the request".to_owned()),
            ..Lookup::default()
        }
    }
}

/// The credentials for a repository: those of the first file that has some.
pub(super) fn find(registry: &str, repository: &str) -> Lookup {
    find_in(&files(&variable_os), registry, repository)
}

/// The files in the order of their search: those that the environment names, then Docker's, then Podman's
/// (containers-auth.json(5)).
fn files(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let directory = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = |below: &str| directory("HOME").map(|home| home.join(below));
    let docker = directory("DOCKER_CONFIG").or_else(|| home(".docker"));
    let runtime = directory("XDG_RUNTIME_DIR");
    let config = directory("XDG_CONFIG_HOME").or_else(|| home(".config"));
    [
        directory("REGISTRY_AUTH_FILE"),
        docker.map(|directory| directory.join("config.json")),
        runtime.map(|directory| directory.join("containers/auth.json")),
        config.map(|directory| directory.join("containers/auth.json")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The path with `~` for the home directory.
fn shown(path: &Path) -> String {
    match variable_os("HOME").and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

fn find_in(files: &[PathBuf], registry: &str, repository: &str) -> Lookup {
    let mut lookup = Lookup {
        searched: files
            .first()
            .map_or_else(|| "the environment".to_owned(), |path| shown(path)),
        ..Lookup::default()
    };
    for path in files {
        let file = match File::read(path) {
            Ok(Some(file)) => file,
            Ok(None) => continue,
            Err(problem) => {
                lookup.problems.push(problem);
                continue;
            }
        };
        for entry in file.entries(registry, repository) {
            match entry.credentials() {
                Ok(Some(credentials)) => {
                    lookup.credentials = Some(credentials);
                    lookup.origin = Some(entry.origin(path));
                    return lookup;
                }
                Ok(None) => {}
                Err(problem) => {
                    let problem = format!("{}: {problem}", entry.origin(path));
                    lookup.problems.push(problem);
                }
            }
        }
    }
    lookup
}

/// `config.json` or `auth.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Map<String, Value>>,
    #[serde(default)]
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

/// One place in a file that may have credentials.
enum Entry {
    Auth(Map<String, Value>),
    Helper { name: String, server: String },
}

impl File {
    /// `None` if the file does not exist.
    fn read(path: &Path) -> Result<Option<Self>, String> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", shown(path))),
        };
        // The message of the parser could show a secret.
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            format!(
                "{}: line {}: not a configuration file of Docker or Podman",
                shown(path),
                error.line()
            )
        })
    }

    /// The helper of the registry, the entry with the longest matching key, the helper of all registries.
    fn entries(&self, registry: &str, repository: &str) -> Vec<Entry> {
        let server = if registry == HUB {
            HUB_SERVER
        } else {
            registry
        };
        let helper = |name: &String| Entry::Helper {
            name: name.clone(),
            server: server.to_owned(),
        };
        let for_registry = self
            .cred_helpers
            .iter()
            .find(|(key, name)| normalise(key) == registry && !name.is_empty());
        let store = self.creds_store.iter().filter(|name| !name.is_empty());
        let auth = keys(registry, repository)
            .into_iter()
            .find_map(|key| self.auth(&key));
        for_registry
            .map(|(_, name)| helper(name))
            .into_iter()
            .chain(auth.map(Entry::Auth))
            .chain(store.map(helper))
            .collect()
    }

    fn auth(&self, key: &str) -> Option<Map<String, Value>> {
        let matching = self.auths.iter().filter(|(name, _)| normalise(name) == key);
        matching
            .map(|(_, entry)| filled(entry))
            .find(|entry| !entry.is_empty())
    }
}

/// The members that are not empty: helpers leave empty ones behind.
fn filled(entry: &Map<String, Value>) -> Map<String, Value> {
    entry
        .iter()
        .filter(|(_, value)| value.as_str().is_some_and(|text| !text.is_empty()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The keys of a repository, from its full name to the registry.
fn keys(registry: &str, repository: &str) -> Vec<String> {
    let mut keys = vec![format!("{registry}/{repository}")];
    while let Some((parent, _)) = keys[keys.len() - 1].rsplit_once('/') {
        keys.push(parent.to_owned());
    }
    keys
}

/// A key without the additions of older tools: a scheme, the version of the API, another name of Docker Hub.
fn normalise(key: &str) -> String {
    let bare = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"))
        .unwrap_or(key)
        .trim_end_matches('/');
    let bare = bare
        .strip_suffix("/v1")
        .or_else(|| bare.strip_suffix("/v2"))
        .unwrap_or(bare);
    let (host, path) = bare.split_once('/').unwrap_or((bare, ""));
    let host = if HUB_NAMES.contains(&host) { HUB } else { host };
    if path.is_empty() {
        host.to_owned()
    } else {
        format!("{host}/{path}")
    }
}

impl Entry {
    fn origin(&self, path: &Path) -> String {
        match self {
            Entry::Auth(_) => shown(path),
            Entry::Helper { name, .. } => {
                format!("docker-credential-{name} ({})", shown(path))
            }
        }
    }

    /// `None` if the helper has none.
    fn credentials(&self) -> Result<Option<Credentials>, String> {
        let (config, server) = match self {
            Entry::Auth(auth) => (json!({"auths": {HUB: auth}}), HUB),
            Entry::Helper { name, server } => {
                (json!({"credHelpers": {server: name}}), server.as_str())
            }
        };
        let config = config.to_string();
        match docker_credential::get_credential_from_reader(config.as_bytes(), server) {
            Ok(DockerCredential::IdentityToken(token)) => {
                Ok(Some(Credentials::IdentityToken(token)))
            }
            Ok(DockerCredential::UsernamePassword(user, password)) => {
                // Docker pads with zero bytes.
                let password = password.trim_end_matches('\0').to_owned();
                Ok(Some(Credentials::Password { user, password }))
            }
            Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(None),
            Err(CredentialRetrievalError::HelperFailure { stdout, .. })
                if stdout.contains("credentials not found") =>
            {
                Ok(None)
            }
            Err(CredentialRetrievalError::HelperFailure { stderr, .. }) => {
                Err(printable(&format!("failed: {}", stderr.trim())))
            }
            Err(error) => Err(printable(&error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The user of the credential that a file has for a repository.
    fn user(config: &str, registry: &str, repository: &str) -> Option<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, config).unwrap();
        let found = find_in(&[file.path().to_owned()], registry, repository);
        assert_eq!(found.problems, Vec::<String>::new());
        match found.credentials? {
            Credentials::Password { user, .. } => Some(user),
            Credentials::IdentityToken(token) => Some(token),
        }
    }

    fn entry(key: &str, user: &str) -> String {
        format!(r#""{key}": {{"username": "{user}", "password": "x"}}"#)
    }

    #[test]
    fn docker_hub_has_several_names() {
        for key in [
            "https://index.docker.io/v1/",
            "https://index.docker.io/v1",
            "index.docker.io",
            "docker.io",
            "registry-1.docker.io",
        ] {
            let config = format!(r#"{{"auths": {{{}}}}}"#, entry(key, "me"));
            let found = user(&config, HUB, "library/busybox");
            assert_eq!(found.as_deref(), Some("me"), "{key}");
            assert_eq!(user(&config, "quay.io", "library/busybox"), None, "{key}");
        }
        let config = format!(
            r#"{{"auths": {{{}, {}}}}}"#,
            entry("docker.io", "me"),
            entry("docker.io/team", "team")
        );
        assert_eq!(user(&config, HUB, "team/x").as_deref(), Some("team"));
        assert_eq!(user(&config, HUB, "library/x").as_deref(), Some("me"));
    }

    #[test]
    fn an_identity_token_is_preferred_to_the_user_name() {
        let config = r#"{"auths": {"r.example": {"auth": "MDAwOg==", "identitytoken": "t"}}}"#;
        assert_eq!(user(config, "r.example", "x").as_deref(), Some("t"));
    }

    #[test]
    fn a_pull_secret_starts_no_helper() {
        let secret = format!(r#"{{"auths": {{{}}}}}"#, entry("r.example", "me"));
        let found = Credentials::of_pull_secret(&secret, "r.example", "team/x");
        assert!(matches!(found, Some(Credentials::Password { user, .. }) if user == "me"));
        assert_eq!(
            Credentials::of_pull_secret(&secret, "other.example", "x"),
            None
        );
        for text in [
            r#"{"credHelpers": {"r.example": "x"}, "credsStore": "x"}"#,
            r#"{"auths": {"r.example": {"auth": "%"}}}"#,
            "[]",
            "",
        ] {
            assert_eq!(
                Credentials::of_pull_secret(text, "r.example", "x"),
                None,
                "{text}"
            );
        }
    }

    #[test]
    fn the_environment_chooses_the_files() {
        let named = |names: &[(&str, &str)]| {
            let names: Vec<(String, OsString)> = names
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).into()))
                .collect();
            files(&|wanted| {
                let found = names.iter().find(|(name, _)| name == wanted)?;
                Some(found.1.clone())
            })
        };
        assert_eq!(
            named(&[
                ("HOME", "/h"),
                ("XDG_RUNTIME_DIR", "/r"),
                ("DOCKER_CONFIG", "")
            ]),
            [
                "/h/.docker/config.json",
                "/r/containers/auth.json",
                "/h/.config/containers/auth.json"
            ]
            .map(PathBuf::from)
        );
        assert_eq!(
            named(&[("DOCKER_CONFIG", "/d"), ("REGISTRY_AUTH_FILE", "/a")]),
            ["/a", "/d/config.json"].map(PathBuf::from)
        );
        assert_eq!(named(&[]), Vec::<PathBuf>::new());
    }
}
