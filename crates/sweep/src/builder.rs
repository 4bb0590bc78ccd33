//! Makes a plan of what was listed and described.

use std::collections::HashMap;

use chrono::{DateTime, NaiveDate, Utc};

use super::listed::Listed;
use super::plan::{PlannedImage, PlannedLayer, PlannedReference, Skipped, SweepPlan};
use imgcheck_base::error::ErrorCode;

/// Why an image is skipped that a filter leaves out after its configuration was read.
const FILTERED: &str = "filtered";

/// An image before its layers have positions.
pub(crate) struct Planned {
    pub image: PlannedImage,
    pub layers: Vec<PlannedLayer>,
    /// What the image records of itself.
    pub reference: Option<String>,
    pub created: Option<DateTime<Utc>>,
}

/// An image of the plan, and what it records of itself.
pub(crate) struct Placed {
    image: u32,
    reference: Option<String>,
}

/// The images to which a source leads, or the code and the message why it is skipped.
pub(crate) type Described = std::result::Result<Vec<Placed>, (String, String)>;

/// Adds images to a plan, each image and each layer once.
pub(crate) struct Builder {
    pub plan: SweepPlan,
    since: Option<DateTime<Utc>>,
    layers: HashMap<String, u32>,
    images: HashMap<String, u32>,
}

impl Builder {
    pub fn new(plan: SweepPlan, since: Option<NaiveDate>) -> Self {
        Builder {
            plan,
            since: since.and_then(|day| Some(day.and_hms_opt(0, 0, 0)?.and_utc())),
            layers: HashMap::new(),
            images: HashMap::new(),
        }
    }

    pub fn skip(&mut self, listed: &Listed, code: &str, message: &str) {
        let is_no_image = [ErrorCode::NotFound, ErrorCode::Unsupported]
            .iter()
            .any(|it| it.as_str() == code);
        self.plan.skipped.push(Skipped {
            is_expected: code == FILTERED || listed.is_enumerated && is_no_image,
            reference: listed.reference.as_ref().unwrap_or(&listed.source).clone(),
            source: listed.source.clone(),
            code: code.to_owned(),
            message: message.to_owned(),
        });
    }

    /// Adds images, unless one of them was built too long ago.
    pub fn place(&mut self, images: Vec<Planned>) -> Described {
        let is_old = |it: &&Planned| self.since > it.created && it.created.is_some();
        if let Some(created) = images.iter().find(is_old).and_then(|it| it.created) {
            let day = created.date_naive();
            return Err((FILTERED.to_owned(), format!("it was built on {day}")));
        }
        let images = images.into_iter().map(|planned| Placed {
            image: self.image(&planned.image, &planned.layers),
            reference: planned.reference,
        });
        Ok(images.collect())
    }

    /// Adds what was listed and leads to these images.
    pub fn add(&mut self, listed: &Listed, images: &[Placed]) {
        for placed in images {
            let reference = listed.reference.as_ref().or(placed.reference.as_ref());
            self.plan.references.push(PlannedReference {
                reference: reference.unwrap_or(&listed.source).clone(),
                image: placed.image,
                pods: listed.pods,
                pulls: listed.pulls,
            });
        }
    }

    fn image(&mut self, image: &PlannedImage, layers: &[PlannedLayer]) -> u32 {
        if let Some(at) = self.images.get(&image.name) {
            return *at;
        }
        let layers = layers.iter().map(|layer| self.layer(layer)).collect();
        let at = u32::try_from(self.plan.images.len()).unwrap_or(u32::MAX);
        self.images.insert(image.name.clone(), at);
        self.plan.images.push(PlannedImage {
            layers,
            ..image.clone()
        });
        at
    }

    fn layer(&mut self, layer: &PlannedLayer) -> u32 {
        if let Some(at) = self.layers.get(&layer.diff_id) {
            return *at;
        }
        let at = u32::try_from(self.plan.layers.len()).unwrap_or(u32::MAX);
        self.layers.insert(layer.diff_id.clone(), at);
        self.plan.layers.push(layer.clone());
        at
    }

    /// Adds these references of an earlier plan, and returns how many they are.
    pub fn take_over<'p>(
        &mut self,
        known: &'p SweepPlan,
        references: impl Iterator<Item = &'p PlannedReference>,
        listed: &Listed,
    ) -> usize {
        let mut taken = 0;
        for it in references {
            let Some(image) = known.images.get(it.image as usize) else {
                continue;
            };
            let layers = image
                .layers
                .iter()
                .filter_map(|at| known.layer(*at).cloned());
            let image = self.image(image, &layers.collect::<Vec<_>>());
            self.plan.references.push(PlannedReference {
                image,
                pods: listed.pods,
                pulls: listed.pulls,
                reference: it.reference.clone(),
            });
            taken += 1;
        }
        taken
    }

    pub fn finish(mut self) -> SweepPlan {
        self.plan.sort();
        self.plan
    }
}
