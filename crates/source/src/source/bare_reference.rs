//! A reference without a transport: the image of the local container engine, else that of the registry.

use super::daemon::{self, Attempt, Daemon, EngineKind, Lookup};
use super::environment::variable;
use super::image::Image;
use super::registry;
use super::request::{LayerConsumer, Request, Source};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::reference::name::Name;

/// An image reference such as `busybox:1`.
pub(super) struct BareReference(pub String);

impl Source for BareReference {
    fn images(&self, request: &Request, layers: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let reference = &self.0;
        let without_registry = request.without_registry.as_deref();
        if let (Some(help), Err(_)) = (without_registry, reference.parse::<Name>()) {
            return Err(unknown(reference, &[], help));
        }
        let mut attempts = Vec::new();
        let mut is_unexpected = false;
        for kind in engines() {
            let reference = reference.clone();
            match (Daemon { kind, reference }).find(request)? {
                Lookup::Image(image) => return image.read(request, layers),
                Lookup::NoSuchImage(more) => attempts.extend(more),
                Lookup::NoEngine(more) => {
                    is_unexpected |= more.iter().any(Attempt::is_unexpected);
                    attempts.extend(more);
                }
            }
        }
        if let Some(help) = without_registry {
            return Err(unknown(reference, &attempts, help));
        }
        let attempts = daemon::describe_all(&attempts);
        let images = registry::open(reference, request)
            .map_err(|error| error.in_context(format!("{attempts}; then the registry: ")))?;
        if is_unexpected {
            layers.progress().note(&format!(
                "a container engine could not be reached ({attempts}); checking the image of the registry"
            ));
        }
        Ok(images)
    }
}

/// Docker; and Podman, if the user says where it is.
fn engines() -> impl Iterator<Item = EngineKind> {
    let podman = variable("CONTAINER_HOST").map(|_| EngineKind::Podman);
    std::iter::once(EngineKind::Docker).chain(podman)
}

/// A name that may be a misspelled file name, and that no engine has as an image. Engines that are not expected to run are not mentioned.
fn unknown(reference: &str, attempts: &[Attempt], help: &str) -> Error {
    let attempts = attempts.iter().filter(|attempt| attempt.is_unexpected());
    let attempts = daemon::describe_all(attempts);
    let engines = match attempts.is_empty() {
        true => String::new(),
        false => format!(", and no such image in a container engine ({attempts})"),
    };
    let problem = format!("`{reference}`: no such command or file{engines}");
    Error::usage(problem).with_help(help)
}
