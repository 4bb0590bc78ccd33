//! Images in a registry (OCI distribution specification 1.1).
//!
//! What is asked for is the manifest, and of the rest only what was never fetched before; layers are not read here.

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

use oci_spec::image::Descriptor;

use super::{Access, Image, SourceKind, Wanted, oci};
use crate::digest;
use crate::error::{Error, Result};
use crate::reference::name::Name;
use address::Address;
pub use address::Mirror;
use client::Client;
use failure::{Failure, Kind};
use images::Found;
use repository::Repository;
pub use retry::Patience;

/// How registries are reached.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Any certificate is good enough, and plain HTTP where there is no TLS. Loopback addresses may always speak plain HTTP.
    pub insecure: bool,
    /// Files with certificates (PEM) of authorities that are trusted beside the system's.
    pub ca_certificates: Vec<PathBuf>,
    /// Registries that are asked before others, in this order.
    pub mirrors: Vec<Mirror>,
    /// How long they are waited for.
    pub patience: Patience,
    /// None is asked: all must be known from earlier runs.
    pub offline: bool,
}

/// All registries, with the connections and tokens that were got so far. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Registries(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    options: Options,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    client: Option<Client>,
    repositories: HashMap<Address, Arc<Repository>>,
}

impl Registries {
    /// Nothing is read or connected yet.
    pub fn new(options: Options) -> Self {
        Registries(Arc::new(Shared {
            options,
            open: Mutex::default(),
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

    fn repository(&self, address: Address) -> Result<Arc<Repository>> {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(repository) = open.repositories.get(&address) {
            return Ok(Arc::clone(repository));
        }
        let client = match &open.client {
            Some(client) => client.clone(),
            None => open.client.insert(Client::new(&self.0.options)?).clone(),
        };
        let repository = Arc::new(Repository::new(address.clone(), client));
        open.repositories.insert(address, Arc::clone(&repository));
        Ok(repository)
    }
}

/// The wanted images of a reference.
pub(super) fn open(reference: &str, wanted: &Wanted, access: &Access) -> Result<Vec<Image>> {
    let name = reference.parse::<Name>()?.canonical();
    let named = named(reference, &name)?;
    let mut failures = Vec::new();
    for address in access.registry.addresses(&name) {
        let repository = access.registry.repository(address)?;
        let found = Found::new(reference, Arc::clone(&repository), access);
        match found.resolve(&named) {
            Ok(descriptor) => return images(reference, &found, descriptor, wanted),
            Err(failure) => failures.push((repository, failure)),
        }
    }
    Err(not_found(reference, &named, failures))
}

/// What the manifest is asked for by: the digest, else the tag.
fn named(reference: &str, name: &Name) -> Result<String> {
    match (&name.digest, &name.tag) {
        (Some(digest), _) if digest::hexadecimal(digest).is_none() => Err(Error::unsupported(
            reference,
            "digests of other kinds than sha256 cannot be verified",
        )),
        (Some(digest), _) => Ok(digest.clone()),
        (None, tag) => Ok(tag.clone().unwrap_or_default()),
    }
}

fn images(
    reference: &str,
    found: &Found,
    descriptor: Descriptor,
    wanted: &Wanted,
) -> Result<Vec<Image>> {
    let images = oci::images(found, vec![descriptor], wanted, SourceKind::Registry)?;
    let named = images.into_iter().map(|image| Image {
        reference: Some(reference.to_owned()),
        ..image
    });
    Ok(named.collect())
}

/// What was tried, in order; of the registry itself, which comes last, also what to do.
fn not_found(reference: &str, named: &str, mut failures: Vec<(Arc<Repository>, Failure)>) -> Error {
    let Some((repository, last)) = failures.pop() else {
        return Error::not_found(reference, "no registry was asked");
    };
    let last = if last.kind == Kind::Absent {
        absent(&repository, named, last)
    } else {
        last
    };
    let tried = failures
        .iter()
        .map(|(_, failure)| format!("{}; then ", failure.problem));
    let before: String = tried.collect();
    Failure {
        problem: format!("{before}{}", last.problem),
        ..last
    }
    .into_error(reference)
}

/// The manifest is not there: is anything like it?
fn absent(repository: &Repository, named: &str, failure: Failure) -> Failure {
    let place = format!(
        "{}/{}",
        repository.address.registry, repository.address.repository
    );
    if digest::hexadecimal(named).is_some() {
        let problem = format!(
            "{}: {place} has no manifest with this digest",
            failure.problem
        );
        return Failure::new(Kind::Absent, problem)
            .with_help("it may have been deleted, or belong to another repository");
    }
    let near = tags::near(repository, named);
    if near.is_empty() {
        let problem = format!(
            "{}: there is no tag `{named}`, or no repository {place}",
            failure.problem
        );
        return Failure::new(Kind::Absent, problem)
            .with_help("check how the repository and the tag are spelled");
    }
    let problem = format!("{}: {place} has no tag `{named}`", failure.problem);
    Failure::new(Kind::Absent, problem)
        .with_help(format!("its nearest tags are {}", near.join(", ")))
}
