//! All images of a container engine, each as a separate request.

use super::request::ImageRequest;
use super::state::Checker;
use imgcheck_base::error::{Error, Result};
use imgcheck_source::source::{self, NamedImage};

impl Checker {
    /// The requests that a request for all images of an engine (`docker-daemon:`, `podman:`, `containerd:`) stands for: one for each
    /// image, by name, which reads it once and judges it under each of its names. Any other request stands for itself.
    ///
    /// # Errors
    /// The engine does not answer or has no images, or the request was cancelled.
    pub fn expand(&self, request: &ImageRequest) -> Result<Vec<ImageRequest>> {
        let Some(mut images) = source::all_images(&request.target, &request.cancellation)? else {
            return Ok(vec![request.clone()]);
        };
        if images.is_empty() {
            let problem = "there are no images";
            return Err(Error::not_found(request.name(), problem));
        }
        images.sort();
        Ok(images
            .into_iter()
            .map(|image| request.of_engine(image))
            .collect())
    }
}

impl ImageRequest {
    /// One image of the engine that this request is for.
    fn of_engine(&self, image: NamedImage) -> Self {
        let full = |name: String| format!("{}{name}", self.name);
        let mut names = image.names.into_iter().map(full);
        let first = names.next().unwrap_or_else(|| full(image.id));
        ImageRequest {
            aliases: names.collect(),
            ..self.renamed(&first)
        }
    }
}
