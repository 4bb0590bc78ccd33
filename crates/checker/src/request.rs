//! Which image to read, and how.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use chrono::{NaiveDate, Utc};

use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::limits::Limits;
use imgcheck_base::progress::{NoProgress, Progress};
use imgcheck_base::reference::transport::{ImageReference, Remote};
use imgcheck_elf::Depth;
use imgcheck_launch::Overlay;
use imgcheck_rules::rules::TypedName;
use imgcheck_source::source::registry::Credentials;
use imgcheck_source::source::{Image, SourceKind};

/// Which image to read, and how.
///
/// ```
/// use std::time::{Duration, Instant};
/// use imgcheck::{Cancellation, ImageRequest};
///
/// let deadline = Instant::now() + Duration::from_secs(60);
/// let request = ImageRequest::new("docker://nvcr.io/nvidia/pytorch:25.08-py3")
///     .platform("linux/arm64")
///     .cancellation(Cancellation::default().with_deadline(deadline));
/// assert_eq!(request.name(), "docker://nvcr.io/nvidia/pytorch:25.08-py3");
/// ```
#[derive(Clone)]
pub struct ImageRequest {
    pub(crate) name: String,
    pub(crate) target: ImageReference,
    /// Other names of the same image, under which it is judged, too.
    pub(crate) aliases: Vec<String>,
    pub(crate) platform: Option<String>,
    pub(crate) all_platforms: bool,
    pub(crate) cached_only: bool,
    pub(crate) depth: Depth,
    pub(crate) reference: Option<String>,
    pub(crate) without_registry: Option<String>,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) limits: Option<Limits>,
    pub(crate) cancellation: Cancellation,
    /// What the containers replace that will be judged: what they import is read, too.
    pub(crate) overlays: Vec<Overlay>,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) day: NaiveDate,
}

impl ImageRequest {
    /// An image as the command line names it: a path, `-` for standard input, a reference, or a reference with a transport such
    /// as `docker-archive:`, `oci:`, `docker-daemon:` or `docker://`. It is judged on the present day (UTC).
    pub fn new(image: impl Into<String>) -> Self {
        let name = image.into();
        ImageRequest {
            target: ImageReference::parse(&name),
            name,
            aliases: Vec::new(),
            platform: None,
            all_platforms: false,
            cached_only: false,
            depth: Depth::Default,
            reference: None,
            without_registry: None,
            credentials: None,
            limits: None,
            cancellation: Cancellation::default(),
            overlays: Vec::new(),
            progress: Arc::new(NoProgress),
            day: Utc::now().date_naive(),
        }
    }

    /// The platform of a multi-platform image: `os/architecture[/variant]` or only the architecture. By default it is linux and
    /// the architecture of this machine, or else the only platform of the image.
    #[must_use]
    pub fn platform(mut self, platform: impl Into<String>) -> Self {
        self.platform = Some(platform.into());
        self
    }

    /// Reads every platform of a multi-platform image.
    #[must_use]
    pub fn all_platforms(mut self, all: bool) -> Self {
        self.all_platforms = all;
        self
    }

    /// Sends no request: only an image by digest whose facts are in the cache can be read.
    #[must_use]
    pub fn cached_only(mut self, cached_only: bool) -> Self {
        self.cached_only = cached_only;
        self
    }

    /// How much of each file is read.
    #[must_use]
    pub fn depth(mut self, depth: Depth) -> Self {
        self.depth = depth;
        self
    }

    /// Compares the image with this reference instead of the one that it records.
    #[must_use]
    pub fn compare_with(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Looks a reference without a transport up in container engines only, because it may be a misspelled file name. If no engine
    /// has it, that is a usage error; `question` is what may be meant instead, or empty.
    #[must_use]
    pub fn without_registry(mut self, question: impl Into<String>) -> Self {
        self.without_registry = Some(question.into());
        self
    }

    /// Credentials for the registry of the image. They are used for this request and this registry only; without them they are
    /// looked up in `~/.docker/config.json`.
    #[must_use]
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Limits for this request, instead of those of the [`Checker`](crate::Checker).
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Ends the request early, or sets its deadline.
    #[must_use]
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Reads what the image imports with these changes of its configuration, too: see [`Subject::launched_with`](crate::Subject::launched_with).
    #[must_use]
    pub fn launched_with(mut self, overlays: Vec<Overlay>) -> Self {
        self.overlays = overlays;
        self
    }

    /// Receives progress events.
    #[must_use]
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// The day that decides whether an ignore has expired.
    #[must_use]
    pub fn day(mut self, day: NaiveDate) -> Self {
        self.day = day;
        self
    }

    /// The same request for another image.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        ImageRequest {
            target: ImageReference::parse(name),
            name: name.to_owned(),
            aliases: Vec::new(),
            ..self.clone()
        }
    }

    /// The reference that was typed, else the path.
    pub(crate) fn typed(&self) -> String {
        let reference = self.reference.clone();
        reference.unwrap_or_else(|| self.target.typed())
    }

    /// The name for fingerprints, which do not depend on the directory of a file.
    pub(crate) fn typed_name(&self) -> TypedName {
        let typed = self.typed();
        let path = self
            .path()
            .filter(|path| path.display().to_string() == typed);
        match path.and_then(Path::file_name) {
            Some(name) if self.reference.is_none() => TypedName {
                repository: name.to_string_lossy().into_owned(),
                ..TypedName::default()
            },
            _ => TypedName::of_reference(&typed),
        }
    }

    /// The image as it was named.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The reference, if the image is looked up in its registry.
    pub fn in_registry(&self) -> Option<&str> {
        match &self.target {
            ImageReference::Remote(Remote::Registry, reference) => Some(reference),
            _ => None,
        }
    }

    /// The reference, if the image is from its registry: as it was named, or because no container engine has it.
    pub(crate) fn read_in_registry(&self, image: &Image) -> Option<&str> {
        match &self.target {
            ImageReference::Reference(reference) if image.kind == SourceKind::Registry => {
                Some(reference)
            }
            _ => self.in_registry(),
        }
    }

    /// The same image, of which a bare reference is looked up in its registry only.
    pub fn in_own_registry(mut self) -> Self {
        if let ImageReference::Reference(reference) = self.target {
            self.target = ImageReference::Remote(Remote::Registry, reference);
        }
        self
    }

    /// What ends the request early.
    pub fn own_cancellation(&self) -> Cancellation {
        self.cancellation.clone()
    }

    /// What receives its progress events.
    pub fn own_progress(&self) -> Arc<dyn Progress> {
        Arc::clone(&self.progress)
    }

    /// The file or directory that the request names; `None` for a reference.
    pub fn path(&self) -> Option<&Path> {
        self.target.path()
    }
}

impl fmt::Debug for ImageRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("ImageRequest");
        fields.field("name", &self.name);
        fields.field("platform", &self.platform);
        fields.field("depth", &self.depth).finish_non_exhaustive()
    }
}
