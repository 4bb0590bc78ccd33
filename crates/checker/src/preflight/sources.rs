//! Reads the images of manifests from where the request says that they are.

use std::collections::BTreeMap;

use super::super::facts::ImageFacts;
use super::super::request::ImageRequest;
use super::super::state::Checker;
use super::super::subject::Subject;
use super::request::PreflightRequest;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::reference::name::Name;
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_launch::Overlay;
use imgcheck_lint::workload::Workload;

/// Names the images that only a source says: a container that starts a squash file has no reference, but may have a source by its path.
pub(super) fn name_files(workloads: &mut [Workload], sources: &BTreeMap<String, String>) {
    let containers = workloads.iter_mut().flat_map(|it| &mut it.containers);
    for container in containers.filter(|it| it.image.is_empty()) {
        if sources.contains_key(&container.decided_by) {
            container.image = std::mem::take(&mut container.decided_by);
        }
    }
}

/// Where the images of a request are.
pub(super) struct Sources<'s> {
    pub checker: &'s Checker,
    pub request: &'s PreflightRequest,
    /// Sources by reference; other images are looked up by their references.
    pub sources: &'s BTreeMap<String, String>,
    /// What is deployed.
    pub workloads: &'s [Workload],
}

impl Sources<'_> {
    /// Reads an image. A reference of a manifest is never a path: whoever writes the manifest does not choose files of this machine.
    pub fn read(&self, image: &str, architecture: &str) -> Result<(ImageFacts, Subject)> {
        let mut request = match (self.sources.get(image), image.parse::<Name>()) {
            (Some(source), Ok(_)) => self.request.request(source).compare_with(image),
            // The path of a squash file promises nothing.
            (Some(source), Err(_)) => self.request.request(source),
            (None, Err(error)) => return Err(error),
            (None, Ok(_)) => ImageRequest {
                target: ImageReference::Reference(image.to_owned()),
                ..self.request.request(image)
            },
        };
        if !architecture.is_empty() {
            request = request.platform(format!("linux/{architecture}"));
        }
        let request = request.launched_with(self.overlays(image));
        let mut images = self.checker.images(&request)?;
        let is_named = |(_, subject): &(ImageFacts, Subject)| subject.reference() == Some(image);
        let at = images.iter().position(is_named).unwrap_or(0);
        match images.is_empty() {
            true => Err(Error::not_found(image, "contains no image")),
            false => Ok(images.swap_remove(at)),
        }
    }

    /// What containers of an image replace that may decide about imports, each once.
    fn overlays(&self, image: &str) -> Vec<Overlay> {
        let mut overlays: Vec<Overlay> = Vec::new();
        let containers = self.workloads.iter().flat_map(|it| &it.containers);
        for container in containers.filter(|it| it.image == image) {
            let overlay = &container.overlay;
            if overlay.may_change_imports() && !overlays.contains(overlay) {
                overlays.push(overlay.clone());
            }
        }
        overlays
    }
}
