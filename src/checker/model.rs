//! What the facts of an image say, whatever it is called: stack, loader model and GPU code.

use std::sync::{Arc, Weak};

use oci_spec::image::ImageConfiguration;
use serde::Serialize;
use serde_json::Value;

use super::facts::{ImageFacts, ImageLayer};
use super::state::Checker;
use super::subject::Subject;
use crate::error::{Error, Result};
use crate::gap::Gap;
use crate::image::{RootFilesystem, configuration};
use crate::launch::{Launch, LaunchFacts, Overlay};
use crate::limits::Limits;
use crate::loader::Bounds;
use crate::process::facts::CacheFacts;
use crate::process::tree::Tree;
use crate::process::{LoaderFacts, Programs, coverage};
use crate::rules::{self, Facts};
use crate::stack::{self, Component, DriverFloor, Gpu};

/// What the facts of one image say, without its name.
#[derive(Debug)]
pub(super) struct Model {
    /// What the rules see, without claims and reference.
    pub facts: Facts,
    pub stack: Arc<[Component]>,
    pub gpu: Arc<Gpu>,
    pub driver: Option<DriverFloor>,
    pub loader: Arc<LoaderFacts>,
    /// The loader model as a tree; empty unless the checker makes trees.
    pub tree: Arc<Tree>,
    pub launch: LaunchFacts,
    pub gaps: Vec<Gap>,
    /// Number of files in the merged root filesystem.
    pub files: usize,
}

impl Model {
    /// Derives everything from the facts. Only a limit or the cancellation can stop it.
    fn of(
        checker: &Checker,
        facts: &ImageFacts,
        subject: &Subject,
        bounds: &Bounds,
    ) -> Result<Self> {
        let (knowledge, config) = (&checker.knowledge, &facts.config);
        let layers = facts.layers.iter().map(|layer| &*layer.facts);
        let root = RootFilesystem::merge_within(layers, &bounds.limits, &bounds.cancellation)?;
        let launch = Launch::of(&root, config, &subject.overlay, &knowledge.launch);
        let mut stack = stack::read(&root, config, &launch, &knowledge.catalogue, bounds)?;
        // A root directory has no configuration.
        let has_platform = !facts.platform.is_empty();
        let image = rules::ImageFacts {
            platform: Some(facts.platform.clone()).filter(|platform| !platform.is_empty()),
            os: has_platform.then(|| config.os().to_string()),
            architecture: has_platform.then(|| config.architecture().to_string()),
            env: Some(configuration::environment(config)),
            process_env: Some(launch.environment.clone()),
            labels: Some(configuration::labels(config)),
            ..rules::ImageFacts::default()
        };
        let programs = Programs::of(&root, &launch, &stack, knowledge.processes()?, bounds);
        let (mut loader, tree) = programs.play(checker.loader_trees)?;
        loader.frameworks = programs.frameworks(&loader, &stack);
        loader.other_gpu_code = programs.other_gpu_code(&loader, &stack);
        stack.mark_mapped(loader.mapped_files(true), loader.mapped_files(false));
        let driver = stack.driver_floor(loader.linked_runtime(), &knowledge.toolkits);
        let serialized_driver = driver.as_ref().map(|it| serialized(it, subject));
        let loader = Arc::new(loader);
        let changes = |cache: &CacheFacts| cache.is_changed_by_ldconfig();
        let is_changed = loader.cache.as_ref().is_some_and(changes);
        let cache = launch.refreshes_cache.clone().filter(|_| is_changed);
        Ok(Model {
            launch: launch.facts(),
            facts: Facts {
                gpu: Some(serialized(&stack.gpu, subject)?),
                driver: serialized_driver.transpose()?,
                loader: Some(loader.clone()),
                ..Facts::of_image(image, Vec::new(), &stack)
            },
            gaps: [
                coverage::gaps(&loader),
                programs.gaps.clone(),
                launch.gaps,
                cache.into_iter().collect(),
            ]
            .concat(),
            stack: stack.components.into(),
            gpu: stack.gpu.into(),
            driver,
            loader,
            tree: tree.into(),
            files: root.files().count(),
        })
    }
}

impl Model {
    /// The GPU frameworks that a process can load.
    pub fn frameworks(&self) -> Vec<String> {
        let frameworks = self.loader.frameworks.iter();
        let reached = frameworks.filter(|it| it.reached_by.is_some());
        reached.map(|it| it.name.clone()).collect()
    }
}

/// A fact as rules see it. One that cannot be serialized is not an absent one.
fn serialized(fact: &impl Serialize, subject: &Subject) -> Result<Value> {
    serde_json::to_value(fact).map_err(|error| {
        let problem = format!("its facts cannot be serialized: {error}");
        Error::unsupported(subject.named.as_str(), problem)
    })
}

/// The models of one call. Images that share facts, such as the tags of one image, share a model.
#[derive(Default)]
pub(super) struct Models(Vec<(Key, Arc<Model>)>);

/// Identifies facts without keeping them in memory.
struct Key {
    layers: Weak<[ImageLayer]>,
    config: Arc<ImageConfiguration>,
    overlay: Overlay,
    limits: Limits,
}

impl Models {
    /// The model of an image, made unless there is one.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn get_or_make(
        &mut self,
        checker: &Checker,
        facts: &ImageFacts,
        subject: &Subject,
        bounds: &Bounds,
    ) -> Result<Arc<Model>> {
        let layers = Arc::downgrade(&facts.layers);
        let is_same = |key: &Key| {
            Weak::ptr_eq(&key.layers, &layers)
                && Arc::ptr_eq(&key.config, &facts.config)
                && key.overlay == subject.overlay
                && key.limits == bounds.limits
        };
        if let Some((_, model)) = self.0.iter().find(|(key, _)| is_same(key)) {
            return Ok(model.clone());
        }
        let model = Arc::new(Model::of(checker, facts, subject, bounds)?);
        let key = Key {
            layers,
            config: facts.config.clone(),
            overlay: subject.overlay.clone(),
            limits: bounds.limits,
        };
        self.0.push((key, model.clone()));
        Ok(model)
    }
}
