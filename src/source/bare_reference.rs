//! A reference without a transport: the image of the local Docker engine, else that of the registry.

use super::daemon::{self, Daemon, EngineKind, Lookup};
use super::image::Image;
use super::registry;
use super::request::{LayerConsumer, Request, Source};
use crate::error::Result;

/// An image reference such as `busybox:1`.
pub(super) struct BareReference(pub String);

impl Source for BareReference {
    fn images(&self, request: &Request, layers: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let reference = &self.0;
        let docker = Daemon {
            kind: EngineKind::Docker,
            reference: reference.clone(),
        };
        let (attempts, is_unexpected) = match docker.find(request)? {
            Lookup::Image(image) => return image.read(request, layers),
            Lookup::NoSuchImage(attempts) => (attempts, false),
            Lookup::NoEngine(attempts) => {
                let is_unexpected = attempts.iter().any(|attempt| attempt.is_unexpected());
                (attempts, is_unexpected)
            }
        };
        let attempts = daemon::describe_all(&attempts);
        let images = registry::open(reference, request)
            .map_err(|error| error.in_context(format!("{attempts}; then the registry: ")))?;
        if is_unexpected {
            layers.progress().note(&format!(
                "Docker could not be reached ({attempts}); checking the image of the registry"
            ));
        }
        Ok(images)
    }
}
