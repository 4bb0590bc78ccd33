//! From the images of containers to digests, with the credentials of their Pod.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::{Instant, timeout_at};

use super::cluster::{PullSecret, Puller};
use super::resolve::Unresolved;
use super::setup::View;
use super::state::Gate;
use imgcheck_base::digest;
use imgcheck_base::error::ErrorCode;
use imgcheck_base::reference::name::Name;

/// Maximum length of a reference in a message, in characters.
const SHOWN: usize = 300;

/// An image in a registry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Image {
    /// `registry/repository`.
    pub repository: String,
    /// The digest of the manifest or index.
    pub digest: String,
}

/// Images by reference.
pub type Images = BTreeMap<String, Result<Image, Unresolved>>;

impl Gate {
    /// Finds the digest of an image.
    ///
    /// # Errors
    /// It is not a reference, its registry is not allowed, or the registry does not have it.
    pub(crate) async fn image(
        &self,
        reference: &str,
        puller: &Puller,
        view: &Arc<View>,
        deadline: Instant,
    ) -> Result<Image, Unresolved> {
        let all = BTreeSet::from([reference]);
        let found = self.images(all, puller, view, deadline).await;
        found
            .into_values()
            .next()
            .unwrap_or_else(|| Err(Unresolved::late("")))
    }

    /// Finds the digests of images, at the same time.
    pub(crate) async fn images(
        &self,
        references: BTreeSet<&str>,
        puller: &Puller,
        view: &Arc<View>,
        deadline: Instant,
    ) -> Images {
        let secrets = self.pull_secrets(puller, deadline).await;
        let one = async |reference: &str| {
            let name = named(reference, view)?;
            let digest = self
                .0
                .resolver
                .resolve(&view.setup.checker, &name, &secrets);
            let digest = timeout_at(deadline, digest).await;
            let registry = name.registry.clone().unwrap_or_default();
            let digest = digest.map_err(|_| Unresolved::late(&registry))??;
            let repository = format!("{registry}/{}", name.repository);
            Ok(Image { repository, digest })
        };
        let found = join_all(references.iter().map(|it| one(it))).await;
        let references = references.into_iter().map(str::to_owned);
        references.zip(found).collect()
    }

    async fn pull_secrets(&self, puller: &Puller, deadline: Instant) -> Vec<PullSecret> {
        let secrets = self.0.cluster.pull_secrets(puller);
        match timeout_at(deadline, secrets).await {
            Ok(Ok(secrets)) => secrets,
            Ok(Err(error)) => {
                tracing::warn!(%error, namespace = puller.namespace, "pull secrets cannot be read");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }
}

/// The canonical name of an image that may be read. Text that is not a reference is never opened as a file.
///
/// # Errors
/// It is not a reference, or its registry is not one of those that the configuration lists.
pub fn named(reference: &str, view: &View) -> Result<Name, Unresolved> {
    let refuse = |code, problem| {
        Err(Unresolved {
            code,
            problem,
            is_final: true,
        })
    };
    let name = match reference.parse::<Name>() {
        Ok(name) => name.canonical(),
        // The reference may be a megabyte.
        Err(error) => {
            return refuse(
                ErrorCode::Usage,
                error.message().chars().take(SHOWN).collect(),
            );
        }
    };
    let registry = name.registry.as_deref().unwrap_or_default();
    match view.setup.config().allows_registry(registry) {
        true => Ok(name),
        false => refuse(
            ErrorCode::Forbidden,
            format!("the registry {registry} is not listed under `gate: {{registries: …}}`"),
        ),
    }
}

/// The name of an image from the parts in a registry's event. No part may change the meaning of another.
///
/// # Errors
/// Same as [`named`].
pub fn stored(
    registry: &str,
    repository: &str,
    digest: &str,
    view: &View,
) -> Result<Name, Unresolved> {
    let reference = format!("{registry}/{repository}@{digest}");
    let is_same = |name: &Name| {
        name.registry.as_deref() == Some(registry)
            && name.repository == repository
            && name.tag.is_none()
            && name.digest.as_deref() == Some(digest)
            && digest::hexadecimal(digest).is_some()
    };
    match reference.parse::<Name>() {
        Ok(name) if !is_same(&name) => Err(Unresolved {
            code: ErrorCode::Usage,
            problem: "registry, repository and digest do not make a reference".to_owned(),
            is_final: true,
        }),
        _ => named(&reference, view),
    }
}
