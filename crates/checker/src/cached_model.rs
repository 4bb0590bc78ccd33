//! Models in the cache: an image that was checked before is judged without the facts of its layers.
//!
//! They are JSON. The version in the key ensures that only a program with the same code reads them.

use std::sync::Arc;

use super::analyze::Analysis;
use super::facts::{ImageFacts, Outline};
use super::model::Model;
use super::state::Checker;
use super::subject::{LayerOrigin, Subject};
use imgcheck_base::digest::sha256;
use imgcheck_base::limits::Limits;
use imgcheck_elf::Depth;
use imgcheck_layer::cache::version_of;
use imgcheck_layer::{ReadContext, ReadMethod};
use imgcheck_source::cache::Key;
use imgcheck_source::source::Image;

/// A hash of the code and data that compute models; see `build.rs`.
const CODE: &str = env!("IMGCHECK_MODEL_CODE");

/// What is known of an image that is checked.
#[derive(Clone)]
pub(crate) enum KnownImage {
    /// Its facts.
    Facts(ImageFacts),
    /// What they say.
    Model(Outline, Arc<Model>),
}

impl From<ImageFacts> for KnownImage {
    fn from(facts: ImageFacts) -> Self {
        KnownImage::Facts(facts)
    }
}

impl Checker {
    /// The model of an image that an earlier check kept. As with facts, every layer must be known to have its diff ID.
    pub(crate) fn cached_model(&self, context: &ReadContext, image: &Image) -> Option<KnownImage> {
        self.cache.directory()?;
        let outline = Outline::of(image, context.depth);
        let is_known = !self.loader_trees && image.layers.iter().all(|it| context.is_verified(it));
        let key = is_known
            .then(|| key(&outline, &context.bounds.limits))
            .flatten()?;
        let cache = self.cache.with_cancellation(&context.bounds.cancellation);
        let model: Model = serde_json::from_slice(&cache.get(&key)?).ok()?;
        let model = model.with_facts(&outline.platform).ok()?;
        Some(KnownImage::Model(outline, Arc::new(model)))
    }

    /// Keeps the model of an image that is started as its configuration says, if every layer has its diff ID.
    pub(crate) fn cache_model(&self, facts: &ImageFacts, subject: &Subject, analysis: &Analysis) {
        let is_verified = |it: &LayerOrigin| it.method.is_some_and(ReadMethod::is_verified);
        let layers = &subject.origin.layers;
        let is_kept = self.cache.directory().is_some();
        if !is_kept || layers.is_empty() || !layers.iter().all(is_verified) {
            return;
        }
        let key = key(&facts.outline(), &analysis.bounds.limits);
        if let (Some(key), Ok(bytes)) = (key, serde_json::to_vec(&*analysis.model)) {
            self.cache.put(&key, &bytes);
        }
    }
}

/// Where the model of an image is kept.
fn key(image: &Outline, limits: &Limits) -> Option<Key> {
    let outline = serde_json::to_vec(image).ok()?;
    Some(Key::Model {
        image: sha256(&outline),
        version: version(image.depth, limits),
    })
}

/// The version of models, as in [`Key::Model`]: depends on the code, the built-in data, the depth and the limits.
pub(crate) fn version(depth: Depth, limits: &Limits) -> String {
    version_of(CODE, depth, limits, |_| true)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use oci_spec::image::ImageConfiguration;

    use super::super::model::Models;
    use super::*;
    use crate::ImageRequest;
    use imgcheck_base::limits::Limit;

    const SAMPLE: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/sample/pytorch-cuda-v2.9.tar"
    );

    fn sample() -> (Checker, ImageFacts, Subject) {
        let checker = Checker::builder().build().unwrap();
        let images = checker.images(&ImageRequest::new(SAMPLE)).unwrap();
        let (facts, subject) = images.into_iter().next().unwrap();
        (checker, facts, subject)
    }

    #[test]
    fn nothing_of_a_model_is_lost() {
        let (checker, facts, subject) = sample();
        let analysis = Analysis::of(&checker, &mut Models::default(), &facts, &subject).unwrap();
        let model = &analysis.model;
        assert!(!model.gpu.libraries.is_empty() && !model.loader.processes.is_empty());
        let bytes = serde_json::to_vec(&**model).unwrap();
        let read: Model = serde_json::from_slice(&bytes).unwrap();
        let read = read.with_facts("").unwrap();
        assert_eq!(format!("{read:?}"), format!("{model:?}"));
    }

    #[test]
    fn all_that_a_model_depends_on_is_in_its_key() {
        let (_, facts, _) = sample();
        let limits = Limits::default();
        let name = |outline: &Outline| key(outline, &limits).unwrap().name().unwrap();
        let (outline, own) = (facts.outline(), name(&facts.outline()));
        assert_eq!(name(&outline), own);
        let mut diff_ids = outline.diff_ids.clone();
        diff_ids.push(diff_ids[0].clone());
        let mut config = ImageConfiguration::clone(&outline.config);
        config.set_created(Some("2026-11-22T00:00:00Z".to_owned()));
        let others = [
            Outline {
                diff_ids,
                ..outline.clone()
            },
            Outline {
                config: config.into(),
                ..outline.clone()
            },
            Outline {
                platform: "linux/arm64".to_owned(),
                ..outline.clone()
            },
            Outline {
                depth: Depth::Deep,
                ..outline.clone()
            },
        ];
        for other in others {
            assert_ne!(name(&other), own, "{other:?}");
        }
        let mut limits = Limits::default();
        limits.set(Limit::LoaderObjects, 1);
        assert_ne!(key(&outline, &limits).unwrap().name().unwrap(), own);
    }
}
