//! Images in a registry (OCI distribution specification 1.1).
//!
//! The manifest is always requested, other documents only if the cache does not have them. Layers are not read here.

mod address;
mod authorization;
mod body;
mod challenge;
mod client;
mod credentials;
mod download;
mod failure;
mod images;
mod repository;
mod retry;
mod tags;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Access, Image, SourceKind, Wanted, oci};
use crate::digest;
use crate::error::{Error, ErrorCode, Result};
use crate::reference::name::Name;
use address::Address;
pub use address::Mirror;
use client::Client;
pub use credentials::Credentials;
use failure::{Failure, Kind};
use images::RepositoryBlobs;
use repository::{Repository, Session};
pub use retry::RetryPolicy;

/// How registries are reached.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Trust any certificate, and allow plain HTTP. Loopback addresses may always use plain HTTP.
    pub insecure: bool,
    /// Files with certificates (PEM) of authorities to trust in addition to the system's.
    pub ca_certificates: Vec<PathBuf>,
    /// Registries to ask before others, in this order.
    pub mirrors: Vec<Mirror>,
    /// Time limits and further attempts.
    pub policy: RetryPolicy,
    /// Send no requests: only images in the cache can be read.
    pub offline: bool,
}

/// Access to registries: options, connections and tokens. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Registries(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    options: Options,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    client: Option<Client>,
    sessions: HashMap<Address, Arc<Session>>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.sessions.keys()).finish()
    }
}

impl Registries {
    /// Reads nothing and connects to nothing yet.
    pub fn new(options: Options) -> Self {
        Registries(Arc::new(Shared {
            options,
            state: Mutex::default(),
        }))
    }

    /// The mirrors of a repository, then its registry.
    fn addresses(&self, name: &Name) -> Vec<Address> {
        let own = Address::of(name);
        let mirrors = self.0.options.mirrors.iter();
        mirrors
            .filter(|mirror| mirror.registry == own.registry)
            .map(|mirror| own.on(mirror))
            .chain([own.clone()])
            .collect()
    }

    /// Credentials of the request are for its own registry only, and their session is never shared.
    fn repository(&self, address: Address, registry: &str, access: &Access) -> Result<Repository> {
        let credentials = access
            .credentials
            .clone()
            .filter(|_| address.registry == registry);
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let client = match &state.client {
            Some(client) => client.clone(),
            None => state.client.insert(Client::new(&self.0.options)?).clone(),
        };
        let session = match credentials {
            None => Arc::clone(state.sessions.entry(address.clone()).or_default()),
            Some(_) => Arc::default(),
        };
        Ok(Repository {
            address,
            client,
            session,
            credentials,
            cancellation: access.cancellation.clone(),
        })
    }
}

/// The selected images of a reference.
pub(super) fn open(reference: &str, wanted: &Wanted, access: &Access) -> Result<Vec<Image>> {
    let name = reference.parse::<Name>()?.canonical();
    let manifest = manifest_name(reference, &name)?;
    let registry = name.registry.clone().unwrap_or_default();
    let mut before = String::new();
    let mut last = None;
    for address in access.registry.addresses(&name) {
        let repository = access.registry.repository(address, &registry, access)?;
        let blobs =
            RepositoryBlobs::new(reference, repository, access.cache.clone(), access.limits);
        let repository = &blobs.repository;
        let failure = match repository.run(blobs.resolve(&manifest)) {
            Ok(descriptor) => {
                let images = oci::images(&blobs, vec![descriptor], wanted, SourceKind::Registry)?;
                let named = images.into_iter().map(|image| Image {
                    reference: Some(reference.to_owned()),
                    ..image
                });
                return Ok(named.collect());
            }
            Err(failure) => failure,
        };
        access.cancellation.check()?;
        if let Some((_, failure)) = last.replace((Arc::clone(repository), failure)) {
            before.push_str(&format!("{}; then ", failure.problem));
        }
    }
    let Some((repository, failure)) = last else {
        return Err(Error::not_found(reference, "no registry to ask"));
    };
    let failure = match failure.kind {
        Kind::Final(ErrorCode::NotFound) => not_found(&repository, &manifest, failure),
        _ => failure,
    };
    access.cancellation.check()?;
    let problem = format!("{before}{}", failure.problem);
    Err(Failure { problem, ..failure }.into_error(reference))
}

/// The digest of a reference, else its tag.
fn manifest_name(reference: &str, name: &Name) -> Result<String> {
    match (&name.digest, &name.tag) {
        (Some(digest), _) if digest::hexadecimal(digest).is_none() => Err(Error::unsupported(
            reference,
            "only sha256 digests are supported",
        )),
        (Some(digest), _) => Ok(digest.clone()),
        (None, tag) => Ok(tag.clone().unwrap_or_default()),
    }
}

/// The failure of a missing manifest, with the nearest tags.
fn not_found(repository: &Repository, manifest: &str, failure: Failure) -> Failure {
    let Failure { problem, .. } = failure;
    let Address {
        registry,
        repository: path,
        ..
    } = &repository.address;
    if digest::hexadecimal(manifest).is_some() {
        return Failure::not_found(format!(
            "manifest not found: {registry}/{path} has no manifest with this digest ({problem})"
        ))
        .with_help("it may have been deleted, or belong to another repository");
    }
    let near = repository.run(async { Ok(tags::near(repository, manifest).await) });
    match near.unwrap_or_default() {
        near if near.is_empty() => Failure::not_found(format!(
            "tag or repository not found: {registry}/{path}:{manifest} ({problem})"
        ))
        .with_help("check the spelling of the repository and the tag"),
        near => Failure::not_found(format!(
            "tag not found: {registry}/{path} has no tag `{manifest}` ({problem})"
        ))
        .with_help(format!("the nearest tags are {}", near.join(", "))),
    }
}
