//! Images in a registry (OCI distribution specification 1.1).
//!
//! The manifest is always requested, other documents only if the cache does not have them. Layers are not read here.

mod access;
mod address;
mod api;
mod artifacts;
mod authorization;
mod body;
mod challenge;
mod client;
pub(super) mod credentials;
mod download;
mod failure;
mod gitlab;
mod guard;
mod harbor;
mod host_certificates;
mod images;
mod link;
mod listing;
mod near_tags;
mod options;
mod pace;
mod push;
mod refusal;
pub(super) mod registries;
mod repository;
mod retry;
mod settle;
mod token_server;

use std::sync::Arc;

use super::image::{Image, SourceKind};
use super::oci;
use super::request::{LayerConsumer, Request, Source};
pub use access::Access;
use address::Address;
pub use address::Mirror;
pub use api::TagListing;
pub use artifacts::Artifacts;
pub use credentials::Credentials;
use failure::{Failure, Kind};
pub use gitlab::gitlab;
pub use guard::Guard;
pub use harbor::harbor;
use images::RepositoryBlobs;
use imgcheck_base::digest;
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_base::reference::name::Name;
pub use listing::{Listing, repositories, tags};
pub use options::Options;
pub use pace::Pace;
pub use registries::Registries;
use repository::Repository;
pub use retry::RetryPolicy;
pub use settle::{Addition, Settling};

/// `docker://REFERENCE`.
pub(super) struct Registry(pub String);

impl Source for Registry {
    fn images(&self, request: &Request, _: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        open(&self.0, request)
    }
}

/// The selected images of a reference, from a mirror or its registry.
pub(super) fn open(reference: &str, request: &Request) -> Result<Vec<Image>> {
    let selection = request.selection(None)?;
    let (blobs, descriptor) = first_that_has(reference, request, RepositoryBlobs::resolve)?;
    let images = oci::images(&blobs, vec![descriptor], &selection, SourceKind::Registry)?;
    let named = images.into_iter().map(|image| Image {
        reference: Some(reference.to_owned()),
        ..image
    });
    Ok(named.collect())
}

/// The digest of the manifest or index of a reference, as a mirror or its registry says. Nothing is read.
///
/// # Errors
/// The reference is not one, no registry has it, or it was not answered.
pub fn digest_of(reference: &str, request: &Request) -> Result<String> {
    let (_, digest) = first_that_has(reference, request, RepositoryBlobs::digest)?;
    Ok(digest)
}

/// What the first of the mirrors and the registry of a reference answers.
fn first_that_has<T>(
    reference: &str,
    request: &Request,
    ask: impl Fn(&RepositoryBlobs, &str) -> std::result::Result<T, Failure>,
) -> Result<(RepositoryBlobs, T)> {
    let name = reference.parse::<Name>()?.canonical();
    let manifest = manifest_name(reference, &name)?;
    let mut before = String::new();
    let mut last = None;
    for address in request.registries.addresses(&name) {
        // The credentials of the request are for its own registry, not for mirrors.
        let is_own = Some(&address.registry) == name.registry.as_ref();
        let credentials = request.credentials.clone().filter(|_| is_own);
        let cancellation = request.bounds.cancellation.clone();
        let repository =
            request
                .registries
                .repository(address, credentials, Access::Pull, cancellation)?;
        let blobs = RepositoryBlobs::new(
            reference,
            repository,
            request.cache.clone(),
            request.bounds.limits,
        );
        let failure = match ask(&blobs, &manifest) {
            Ok(answer) => return Ok((blobs, answer)),
            Err(failure) => failure,
        };
        request.bounds.cancellation.check()?;
        if let Some((_, failure)) = last.replace((Arc::clone(&blobs.repository), failure)) {
            before.push_str(&format!("{}; then ", failure.problem));
        }
    }
    let Some((repository, failure)) = last else {
        return Err(Error::not_found(reference, "no registry to ask"));
    };
    let failure = match failure.kind {
        Kind::Final(ErrorCode::NotFound) => not_found(reference, &repository, &manifest, failure),
        _ => failure,
    };
    request.bounds.cancellation.check()?;
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

/// The failure of a missing manifest, with the nearest tags. The repository is named only if the reference does not: it may be that of a mirror.
fn not_found(
    reference: &str,
    repository: &Repository,
    manifest: &str,
    failure: Failure,
) -> Failure {
    let Failure { problem, .. } = failure;
    let Address {
        registry,
        repository: path,
        ..
    } = &repository.address;
    let place = format!("{registry}/{path}");
    let place = match reference.starts_with(&place) {
        true => "the repository",
        false => &place,
    };
    if digest::hexadecimal(manifest).is_some() {
        return Failure::not_found(format!(
            "manifest not found: {place} has no manifest with this digest ({problem})"
        ))
        .with_help("it may have been deleted, or belong to another repository");
    }
    let near = repository.run(async { Ok(near_tags::near(repository, manifest).await) });
    match near.unwrap_or_default() {
        near if near.is_empty() => Failure::not_found(format!(
            "repository not found, or {place} has no tag `{manifest}` ({problem})"
        ))
        .with_help("check the spelling of the repository and the tag"),
        near => Failure::not_found(format!(
            "tag not found: {place} has no tag `{manifest}` ({problem})"
        ))
        .with_help(format!("the nearest tags are {}", near.join(", "))),
    }
}
