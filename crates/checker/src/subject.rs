//! What facts are judged as: which image it is, and on which day.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::NaiveDate;
use oci_spec::image::Descriptor;

use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::limits::Limits;
use imgcheck_launch::Overlay;
use imgcheck_layer::ReadMethod;
use imgcheck_rules::rules::TypedName;
use imgcheck_source::source::{AccessMethod, SourceKind};

/// What [`ImageFacts`](crate::ImageFacts) are judged as: the reference whose promises count, and the day.
///
/// [`Checker::images`](crate::Checker::images) makes one for each image that it reads, with the reference that the image records.
///
/// ```
/// use imgcheck::{Day, Subject};
///
/// let day = Day::from_ymd_opt(2026, 11, 22).unwrap();
/// let subject = Subject::new("pytorch-cuda:v2.9", day);
/// assert_eq!(subject.reference(), Some("pytorch-cuda:v2.9"));
/// ```
#[derive(Debug, Clone)]
pub struct Subject {
    /// What the image is compared with.
    pub(crate) reference: Option<String>,
    /// What the user named it by.
    pub(crate) named: String,
    /// The reference that the user typed, else the path: what ignores are for. An image may record any name of itself.
    pub(crate) typed: String,
    /// The same name, normalized for fingerprints.
    pub(crate) typed_name: TypedName,
    /// The day that decides whether an ignore has expired.
    pub(crate) day: NaiveDate,
    pub(crate) overlay: Overlay,
    pub(crate) limits: Option<Limits>,
    pub(crate) cancellation: Cancellation,
    pub(crate) origin: Origin,
    /// The GPU frameworks that the image loads without the overlay, once somebody asked: clones share the answer.
    pub(crate) own_frameworks: Arc<OnceLock<Vec<String>>>,
}

/// How an image was read. It appears in the report, and no finding depends on it.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub source: SourceKind,
    pub access: Option<AccessMethod>,
    /// Digest of the manifest.
    pub digest: Option<String>,
    /// As many as the image has layers, or none.
    pub layers: Vec<LayerOrigin>,
    /// Manifests of attestations about the image in the index that lists it.
    pub attestations: Vec<Descriptor>,
    /// How long reading took.
    pub reading: Duration,
}

/// How a layer was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct LayerOrigin {
    /// Digest of the blob as stored.
    pub digest: Option<String>,
    /// Bytes of the blob as stored.
    pub size: u64,
    /// How its facts were obtained; unknown if they were read before.
    pub method: Option<ReadMethod>,
}

impl Subject {
    /// An image of this reference, judged on this day.
    pub fn new(reference: impl Into<String>, day: NaiveDate) -> Self {
        let reference = reference.into();
        Subject {
            named: reference.clone(),
            typed: reference.clone(),
            typed_name: TypedName::of_reference(&reference),
            reference: Some(reference).filter(|text| !text.is_empty()),
            day,
            overlay: Overlay::default(),
            limits: None,
            cancellation: Cancellation::default(),
            origin: Origin {
                source: SourceKind::Facts,
                access: None,
                digest: None,
                layers: Vec::new(),
                attestations: Vec::new(),
                reading: Duration::ZERO,
            },
            own_frameworks: Arc::default(),
        }
    }

    /// The reference that the image is compared with; `None` for an image without a name.
    pub fn reference(&self) -> Option<&str> {
        self.reference.as_deref()
    }

    /// Compares with another reference.
    #[must_use]
    pub fn with_reference(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Judges what a container starts whose caller replaces parts of the image configuration, such as a Pod.
    ///
    /// ```
    /// # fn main() -> imgcheck::Result<()> {
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
    /// use imgcheck::{Checker, Day, ImageRequest, Overlay, Subject};
    ///
    /// let checker = Checker::builder().build()?;
    /// let facts = checker.facts(&ImageRequest::new("testdata/sample/pytorch-cuda-v2.9.tar"))?;
    /// let mut pod = Overlay::default();
    /// pod.env.insert("LD_LIBRARY_PATH".to_owned(), "/opt/cuda/lib64".to_owned());
    /// let day = Day::from_ymd_opt(2026, 11, 22).unwrap();
    /// let findings = checker.judge(&facts, &Subject::new("pytorch-cuda:v2.9", day).launched_with(pod))?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn launched_with(mut self, overlay: Overlay) -> Self {
        self.overlay = overlay;
        self
    }

    /// The same image as a container of a cluster names it.
    pub fn of_container(self, image: &str, day: NaiveDate, cancellation: &Cancellation) -> Self {
        Subject {
            reference: Some(image.to_owned()).filter(|it| !it.is_empty()),
            named: image.to_owned(),
            typed: image.to_owned(),
            typed_name: TypedName::of_reference(image),
            day,
            cancellation: cancellation.clone(),
            ..self
        }
    }

    /// Limits for this judgement, instead of those of the [`Checker`](crate::Checker).
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Ends the judgement early.
    #[must_use]
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Judges on another day.
    #[must_use]
    pub fn on(mut self, day: NaiveDate) -> Self {
        self.day = day;
        self
    }
}
