//! From facts to all that rules see: the model of the image, and the claims of its reference.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::NaiveDate;

use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::Result;
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_base::reference::name::Name;
use imgcheck_image::configuration;
use imgcheck_layer::ReadMethod;
use imgcheck_report::{Inspection, Layer};
use imgcheck_rules::rules::{self, Facts, PythonFacts, TypedName};

use super::facts::{ImageFacts, Outline};
use super::model::{Model, Models};
use super::state::Checker;
use super::subject::LayerOrigin;
use super::subject::Subject;

/// One image before any rule.
#[derive(Debug)]
pub struct Analysis {
    /// What the report says.
    pub inspection: Inspection,
    /// What the image is, whatever it is called.
    pub(crate) model: Arc<Model>,
    /// What ignores are for.
    pub typed: String,
    /// What fingerprints are for.
    typed_name: TypedName,
    pub day: NaiveDate,
    /// What is installed in the Python environments, without failures of imports that a volume may prevent.
    pub python: Arc<PythonFacts>,
    pub bounds: Bounds,
    /// What reading and analyzing took.
    pub elapsed: Duration,
}

impl Analysis {
    /// Derives everything from the facts. Only a limit or the cancellation can stop it.
    pub(crate) fn of(
        checker: &Checker,
        models: &mut Models,
        facts: &ImageFacts,
        subject: &Subject,
    ) -> Result<Self> {
        let start = Instant::now();
        subject.cancellation.check()?;
        let bounds = checker.bounds(subject.limits, &subject.cancellation);
        let model = models.get_or_make(checker, facts, subject, &bounds)?;
        let modeling = start.elapsed();
        let mut analysis = Analysis::of_model(checker, facts.outline(), model, subject);
        analysis.elapsed += modeling;
        Ok(analysis)
    }

    /// Derives the rest from a model.
    pub(crate) fn of_model(
        checker: &Checker,
        image: Outline,
        model: Arc<Model>,
        subject: &Subject,
    ) -> Self {
        let start = Instant::now();
        let environment = configuration::environment(&image.config);
        let labels = configuration::labels(&image.config);
        let reference = subject.reference.as_deref();
        let grammar = &checker.knowledge.grammar;
        let layers = report_layers(&image, subject);
        let inspection = Inspection {
            reference: subject.reference.clone(),
            named: subject.named.clone(),
            title: None,
            source: subject.origin.source,
            access: subject.origin.access,
            platform: image.platform,
            depth: image.depth,
            digest: subject.origin.digest.clone(),
            config_digest: image.config_digest,
            claims: grammar.image_claims(reference, &labels, &environment),
            gaps: [model.gaps.clone(), lazy_layers(&layers)].concat(),
            layers,
            driver: model.driver.clone(),
            stack: model.stack.components.clone(),
            gpu: model.gpu.clone(),
            loader: Some(model.loader.clone()),
            launch: model.launch.clone(),
            files: model.files,
            size: model.size.clone(),
        };
        Analysis {
            inspection,
            python: model.stack.python.clone(),
            model,
            typed: subject.typed.clone(),
            typed_name: subject.typed_name.clone(),
            day: subject.day,
            bounds: checker.bounds(subject.limits, &subject.cancellation),
            elapsed: subject.origin.reading + start.elapsed(),
        }
    }

    /// What the rules see.
    pub fn facts(&self) -> Facts {
        let facts = self.model.facts.clone();
        let named = parsed_reference(self.inspection.reference.as_deref());
        Facts {
            python: Some(self.python.clone()),
            claims: self.inspection.claims.clone(),
            typed: self.typed_name.clone(),
            image: rules::ImageFacts {
                reference: named.reference,
                registry: named.registry,
                repository: named.repository,
                tag: named.tag,
                digest: named.digest,
                ..facts.image
            },
            ..facts
        }
    }
}

/// The parts of a reference; a text that is not a reference has none.
pub(crate) fn parsed_reference(reference: Option<&str>) -> rules::ImageFacts {
    let reference = reference.unwrap_or_default();
    let image = rules::ImageFacts {
        reference: reference.to_owned(),
        ..rules::ImageFacts::default()
    };
    match reference.parse::<Name>() {
        Err(_) => image,
        Ok(name) => rules::ImageFacts {
            registry: name.registry.unwrap_or_default(),
            repository: name.repository,
            tag: name.tag,
            digest: name.digest,
            ..image
        },
    }
}

fn report_layers(image: &Outline, subject: &Subject) -> Vec<Layer> {
    let steps = configuration::build_steps(&image.config, image.diff_ids.len());
    let layers = image.diff_ids.iter().zip(steps).enumerate();
    let layer = |(index, (diff_id, created_by)): (usize, (&String, String))| {
        let origin = subject.origin.layers.get(index).cloned();
        let LayerOrigin {
            digest,
            size,
            method,
        } = origin.unwrap_or_default();
        Layer {
            index,
            diff_id: diff_id.clone(),
            digest,
            size,
            created_by,
            cached: method == Some(ReadMethod::Cache),
            is_lazy: method == Some(ReadMethod::Chunks),
        }
    };
    layers.map(layer).collect()
}

fn lazy_layers(layers: &[Layer]) -> Vec<Gap> {
    let lazy = layers.iter().filter(|layer| layer.is_lazy);
    let gap = |layer: &Layer| Gap {
        code: GapCode::LazyLayer,
        message: format!(
            "layer {} was read by its table of contents, which may differ from what a container engine unpacks: use --no-lazy",
            layer.index
        ),
        path: None,
        layer: Some(layer.index),
    };
    lazy.map(gap).collect()
}
