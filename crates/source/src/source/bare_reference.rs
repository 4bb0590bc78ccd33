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
        let question = request.without_registry.as_deref();
        if let (Some(question), Err(_)) = (question, reference.parse::<Name>()) {
            return Err(unknown(reference, &[], question));
        }
        let mut attempts = Vec::new();
        // Who runs an engine means its image: that of a registry may be another.
        let mut unreachable = None;
        for kind in engines() {
            let reference = reference.clone();
            let daemon = Daemon { kind, reference };
            match daemon.find(request)? {
                Lookup::Image(image) => return image.read(request, layers),
                Lookup::NoSuchImage(more) => attempts.extend(more),
                Lookup::NoEngine(more) => {
                    if more.iter().any(Attempt::is_unexpected) {
                        unreachable.get_or_insert_with(|| daemon.no_engine(&more));
                    }
                    attempts.extend(more);
                }
            }
        }
        match (unreachable, question) {
            (Some(error), None) => return Err(error),
            (Some(error), Some(question)) => {
                let help = format!("{question} {}", error.help().unwrap_or_default());
                return Err(error.with_help(help.trim_start()));
            }
            (None, Some(question)) => return Err(unknown(reference, &attempts, question)),
            (None, None) => {}
        }
        let is_here = attempts.iter().any(Attempt::is_unexpected);
        let tried = match is_here {
            true => daemon::describe_all(&attempts),
            false => NOT_HERE.to_owned(),
        };
        registry::open(reference, request).map_err(|error| {
            let start = (!is_here).then(|| "if Docker has the image, start Docker".to_owned());
            let help = [error.help(), start];
            let help: Vec<String> = help.into_iter().flatten().collect();
            let error = error.in_context(format!("{tried}; then the registry: "));
            match help.is_empty() {
                true => error,
                false => error.with_help(help.join("; ")),
            }
        })
    }
}

const NOT_HERE: &str = "Docker does not run here";

/// Docker; and Podman, if the user says where it is.
fn engines() -> impl Iterator<Item = EngineKind> {
    let podman = variable("CONTAINER_HOST").map(|_| EngineKind::Podman);
    std::iter::once(EngineKind::Docker).chain(podman)
}

/// A name that may be a misspelled file name, and that no engine has as an image. Engines that are not expected to run are not mentioned.
fn unknown(reference: &str, attempts: &[Attempt], question: &str) -> Error {
    let unexpected = attempts.iter().filter(|attempt| attempt.is_unexpected());
    let told = daemon::describe_all(unexpected);
    let engines = match told.is_empty() {
        true if attempts.is_empty() => String::new(),
        true => format!(", and {NOT_HERE}"),
        false => format!(", and no such image in a container engine ({told})"),
    };
    let problem = format!("`{reference}`: no such command or file{engines}");
    let help = format!(
        "{question} docker://{reference} forces a registry, docker-daemon:{reference} the local Docker"
    );
    Error::usage(problem).with_help(help.trim_start())
}
