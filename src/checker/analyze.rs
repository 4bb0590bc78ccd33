//! From facts to all that rules see: the merged root filesystem, stack, claims and loader model.

use std::time::{Duration, Instant};

use chrono::NaiveDate;

use crate::error::Result;
use crate::image::{RootFilesystem, configuration};
use crate::launch::Launch;
use crate::loader::Bounds;
use crate::process::Programs;
use crate::process::tree::Tree;
use crate::reference::name::Name;
use crate::report::{Inspection, Layer};
use crate::rules::{self, Facts};
use crate::stack;

use super::facts::ImageFacts;
use super::state::Checker;
use super::subject::LayerOrigin;
use super::subject::Subject;

/// One image before any rule.
#[derive(Debug)]
pub struct Analysis {
    /// What the report says.
    pub inspection: Inspection,
    /// What the rules see.
    pub facts: Facts,
    /// The loader model as a tree; empty unless the checker makes trees.
    pub tree: Tree,
    pub day: NaiveDate,
    pub bounds: Bounds,
    /// What reading and analyzing took.
    pub elapsed: Duration,
}

impl Analysis {
    /// Derives everything from the facts. Only a limit or the cancellation can stop it.
    pub fn of(checker: &Checker, facts: &ImageFacts, subject: &Subject) -> Result<Self> {
        let start = Instant::now();
        subject.cancellation.check()?;
        let (knowledge, config) = (&checker.knowledge, &facts.config);
        let layers = facts.layers.iter().map(|layer| &*layer.facts);
        let bounds = Bounds {
            limits: subject.limits.unwrap_or(checker.limits),
            cancellation: subject.cancellation.clone(),
        };
        let root = RootFilesystem::merge_within(layers, &bounds.limits, &bounds.cancellation)?;
        let launch = Launch::of(&root, config, &subject.overlay);
        let mut stack = stack::read(&root, config, &launch, &knowledge.catalogue, &bounds)?;
        let environment = configuration::environment(config);
        let labels = configuration::labels(config);
        let reference = subject.reference.as_deref();
        let claims = knowledge
            .grammar
            .image_claims(reference, &labels, &environment);
        // A root directory has no configuration.
        let has_config = facts.config_digest.is_some();
        let image = rules::ImageFacts {
            platform: Some(facts.platform.clone()).filter(|platform| !platform.is_empty()),
            os: has_config.then(|| config.os().to_string()),
            architecture: has_config.then(|| config.architecture().to_string()),
            env: Some(environment),
            labels: Some(labels),
            ..parsed_reference(reference)
        };
        let programs = Programs::of(&root, &launch, &stack, &knowledge.processes, &bounds);
        let model = programs.model()?;
        let loader = model.facts();
        let tree = checker.loader_trees.then(|| model.tree());
        stack.mark_mapped(loader.main_files());
        let driver = stack.driver_floor(&knowledge.toolkits);
        let rule_facts = Facts {
            gpu: serde_json::to_value(&stack.gpu).ok(),
            driver: driver.as_ref().and_then(|it| serde_json::to_value(it).ok()),
            loader: Some(loader.clone()),
            ..Facts::of_image(image, claims.clone(), &stack)
        };
        let inspection = Inspection {
            reference: subject.reference.clone(),
            named: subject.named.clone(),
            source: subject.origin.source,
            access: subject.origin.access,
            platform: facts.platform.clone(),
            depth: facts.depth,
            digest: subject.origin.digest.clone(),
            config_digest: facts.config_digest.clone(),
            layers: report_layers(facts, subject),
            claims,
            driver,
            stack: stack.components,
            gpu: stack.gpu,
            loader: Some(loader),
            files: root.files().count(),
        };
        Ok(Analysis {
            inspection,
            facts: rule_facts,
            tree: tree.unwrap_or_default(),
            day: subject.day,
            bounds: bounds.clone(),
            elapsed: subject.origin.reading + start.elapsed(),
        })
    }
}

/// The parts of a reference; a text that is not a reference has none.
pub(super) fn parsed_reference(reference: Option<&str>) -> rules::ImageFacts {
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

fn report_layers(facts: &ImageFacts, subject: &Subject) -> Vec<Layer> {
    let steps = configuration::build_steps(&facts.config, facts.layers.len());
    let layers = facts.layers.iter().zip(steps).enumerate();
    let layer = |(index, (layer, created_by)): (usize, (&super::facts::ImageLayer, String))| {
        let origin = subject.origin.layers.get(index).cloned();
        let LayerOrigin {
            digest,
            size,
            cached,
            is_lazy,
        } = origin.unwrap_or_default();
        Layer {
            index,
            diff_id: layer.diff_id.clone(),
            digest,
            size,
            created_by,
            cached,
            is_lazy,
        }
    };
    layers.map(layer).collect()
}
