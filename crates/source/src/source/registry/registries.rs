//! Access to registries: options, connections and tokens.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::access::Access;
use super::address::Address;
use super::client::Client;
use super::credentials::Credentials;
use super::host_certificates::HostCertificates;
use super::options::Options;
use super::pace::Pace;
use super::repository::{Repository, Session};
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::Result;
use imgcheck_base::reference::name::Name;

/// Access to registries: options, connections and tokens. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Registries {
    shared: Arc<Shared>,
    /// Whether a registry that limits requests is an error at once.
    at_once: bool,
}

#[derive(Debug, Default)]
struct Shared {
    options: Options,
    pace: Arc<Pace>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the directories with certificates that are for one registry only; most have none, and share a client.
    clients: HashMap<Vec<PathBuf>, Client>,
    sessions: HashMap<Address, Arc<Session>>,
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.sessions.keys()).finish()
    }
}

impl Registries {
    /// Reads nothing and connects to nothing yet.
    pub fn new(options: Options) -> Self {
        let pace = Arc::new(Pace::new(options.request_interval));
        let shared = Arc::new(Shared {
            options,
            pace,
            state: Mutex::default(),
        });
        Registries {
            shared,
            at_once: false,
        }
    }

    /// The same access for whoever cannot wait: a registry that limits requests is an error at once, and so is one that has asked for a
    /// pause that is not over.
    pub fn at_once(&self) -> Self {
        Registries {
            at_once: true,
            ..self.clone()
        }
    }

    /// The same options without access to any network.
    pub fn offline(&self) -> Self {
        Registries::new(Options {
            offline: true,
            ..self.shared.options.clone()
        })
    }

    /// When hosts may be contacted.
    pub fn pace(&self) -> &Pace {
        &self.shared.pace
    }

    /// The mirrors of a repository, then its registry.
    pub(super) fn addresses(&self, name: &Name) -> Vec<Address> {
        let own = Address::of(name);
        let mirrors = self.shared.options.mirrors.iter();
        mirrors
            .filter(|mirror| mirror.registry == own.registry)
            .map(|mirror| own.on(mirror))
            .chain([own.clone()])
            .collect()
    }

    /// A repository at an address. Sessions with credentials of their own, and those that may push, are never shared.
    pub(super) fn repository(
        &self,
        address: Address,
        credentials: Option<Credentials>,
        access: Access,
        cancellation: Cancellation,
    ) -> Result<Repository> {
        let mut state = self
            .shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let directories = address.certificate_directories();
        let client = match state.clients.get(&directories) {
            Some(client) => client.clone(),
            None => {
                let own = HostCertificates::read(&directories)?;
                let client = Client::new(&self.shared.options, own, Arc::clone(&self.shared.pace))?;
                state.clients.insert(directories, client.clone());
                client
            }
        };
        let session = match (&credentials, access) {
            (None, Access::Pull | Access::Catalog) => {
                Arc::clone(state.sessions.entry(address.clone()).or_default())
            }
            _ => Arc::default(),
        };
        Ok(Repository {
            address,
            client,
            session,
            credentials,
            access,
            cancellation,
            at_once: self.at_once,
        })
    }
}
