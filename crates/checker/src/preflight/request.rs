//! What to judge, and what is known about images and nodes.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::request::ImageRequest;
use imgcheck_cluster::Connection;

/// Makes the request of an image, from its name.
type MakeRequest = Arc<dyn Fn(&str) -> ImageRequest + Send + Sync>;

/// The manifests that [`Checker::preflight`](crate::Checker::preflight) judges, the sources of their images, and the nodes of the
/// cluster.
///
/// ```
/// use imgcheck::{Depth, ImageRequest, PreflightRequest};
///
/// let request = PreflightRequest::new(["deploy.yaml"])
///     .image("registry.example/team/train:2.8", "oci:build/train")
///     .cluster("prod")
///     .reading(|image| ImageRequest::new(image).depth(Depth::Deep));
/// ```
#[derive(Clone)]
pub struct PreflightRequest {
    pub(super) files: Vec<PathBuf>,
    pub(super) images: BTreeMap<String, String>,
    pub(super) images_file: Option<PathBuf>,
    pub(super) nodes: Vec<PathBuf>,
    pub(super) cluster: Option<String>,
    pub(super) without_clusters: bool,
    pub(super) connection: Option<Connection>,
    reading: MakeRequest,
}

impl PreflightRequest {
    /// Manifests by path; `-` is standard input, a directory means the manifests in it, in `*.yaml`, `*.yml` and `*.json` files.
    pub fn new<P: Into<PathBuf>>(files: impl IntoIterator<Item = P>) -> Self {
        PreflightRequest {
            files: files.into_iter().map(Into::into).collect(),
            images: BTreeMap::new(),
            images_file: None,
            nodes: Vec::new(),
            cluster: None,
            without_clusters: false,
            connection: None,
            reading: Arc::new(|image| ImageRequest::new(image)),
        }
    }

    /// Reads the image of a reference from this source: any that [`ImageRequest::new`] takes.
    #[must_use]
    pub fn image(mut self, reference: impl Into<String>, source: impl Into<String>) -> Self {
        self.images.insert(reference.into(), source.into());
        self
    }

    /// Takes the sources of images from a YAML file with lines `reference: SOURCE`. Paths are relative to the working directory.
    #[must_use]
    pub fn images_file(mut self, file: impl AsRef<Path>) -> Self {
        self.images_file = Some(file.as_ref().to_owned());
        self
    }

    /// Adds the nodes of a cluster: the output of `kubectl get nodes -o json`, or of `kubectl get nodes,resourceslices -o json`.
    #[must_use]
    pub fn nodes(mut self, file: impl AsRef<Path>) -> Self {
        self.nodes.push(file.as_ref().to_owned());
        self
    }

    /// Takes the node classes of this cluster of the configuration.
    #[must_use]
    pub fn cluster(mut self, name: impl Into<String>) -> Self {
        self.cluster = Some(name.into());
        self
    }

    /// Leaves out the clusters of the configuration: without other nodes, images are judged on the targets of the checker.
    #[must_use]
    pub fn without_clusters(mut self) -> Self {
        self.without_clusters = true;
        self
    }

    /// Asks the API server of a cluster for its nodes, ResourceSlices, runtime classes, queues and runtimes. Needs the cargo feature `kube`.
    #[must_use]
    pub fn connection(mut self, connection: Connection) -> Self {
        self.connection = Some(connection);
        self
    }

    /// How images are read: makes the request of each image from its name.
    #[must_use]
    pub fn reading(mut self, make: impl Fn(&str) -> ImageRequest + Send + Sync + 'static) -> Self {
        self.reading = Arc::new(make);
        self
    }

    /// The files that the request names.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The request of an image.
    pub(super) fn request(&self, image: &str) -> ImageRequest {
        (self.reading)(image)
    }
}

impl fmt::Debug for PreflightRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("PreflightRequest");
        fields.field("files", &self.files);
        fields
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}
