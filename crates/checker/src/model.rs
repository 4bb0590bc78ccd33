//! What the facts of an image say, whatever it is called: stack, loader model and GPU code.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use oci_spec::image::ImageConfiguration;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::facts::{ImageFacts, ImageLayer};
use super::state::Checker;
use super::subject::Subject;
use super::volumes::Volumes;
use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::gap::Gap;
use imgcheck_base::limits::Limits;
use imgcheck_image::configuration;
use imgcheck_launch::{Launch, LaunchFacts, Overlay};
use imgcheck_loader::ProcessBudget;
use imgcheck_model::imports::{ImportTree, Pythons};
use imgcheck_model::process::facts::CacheFacts;
use imgcheck_model::process::tree::Tree;
use imgcheck_model::process::{LoaderFacts, Programs, coverage};
use imgcheck_model::size::{Cause, ImageSize};
use imgcheck_model::stack::{self, DriverFloor, Gpu, PythonScript};
use imgcheck_rules::rules::{self, Facts, StackFacts};

/// What the facts of one image say, without its name.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Model {
    /// The image for rules, without its name.
    image: rules::ImageFacts,
    pub stack: StackFacts,
    #[serde(with = "with_counts")]
    pub gpu: Arc<Gpu>,
    pub driver: Option<DriverFloor>,
    pub loader: Arc<LoaderFacts>,
    pub launch: LaunchFacts,
    pub gaps: Vec<Gap>,
    /// Number of files in the merged root filesystem.
    pub files: usize,
    /// Where the bytes are.
    pub size: Arc<ImageSize>,
    /// The loader model as a tree; empty unless the checker makes trees.
    #[serde(skip)]
    pub tree: Arc<Tree>,
    /// What the Python programs import; empty unless the checker makes trees.
    #[serde(skip)]
    pub imports: Arc<Vec<ImportTree>>,
    /// All of it as rules see it, without claims.
    #[serde(skip)]
    pub facts: Facts,
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
        let volumes = Volumes::default();
        let root = volumes.mounted(layers, &subject.overlay, bounds)?;
        let budget = ProcessBudget::from(bounds.clone());
        let launch = Launch::of(&root, config, &subject.overlay, &knowledge.launch);
        let mut stack = stack::read(&root, config, &launch, &knowledge.catalogue, &budget)?;
        // A root directory has no configuration.
        let has_platform = !facts.platform.is_empty();
        let mut image = rules::ImageFacts {
            platform: Some(facts.platform.clone()).filter(|platform| !platform.is_empty()),
            os: has_platform.then(|| config.os().to_string()),
            architecture: has_platform.then(|| config.architecture().to_string()),
            env: Some(configuration::environment(config)),
            process_env: Some(launch.environment.clone()),
            labels: Some(configuration::labels(config)),
            start_failures: launch.failures.clone(),
            ..rules::ImageFacts::default()
        };
        let programs = Programs::of(&root, &launch, &stack, knowledge.processes()?, &budget);
        let (mut loader, tree) = programs.play(checker.loader_trees)?;
        loader.frameworks = programs.frameworks(&loader, &stack);
        loader.other_gpu_code = programs.other_gpu_code(&loader, &stack);
        stack.mark_mapped(loader.mapped_files(true), loader.mapped_files(false));
        let pythons = Pythons {
            root: &root,
            launch: &launch,
            environments: &stack.environments,
            distributions: &stack.distributions,
            knowledge: &knowledge.modules,
            processes: knowledge.processes()?,
            packages: &checker.imported_modules()?,
            is_asked: checker.python_module.is_some(),
            machine: stack::machine(config.architecture()),
            reads: false,
            trees: checker.loader_trees,
            bounds,
        };
        let imports = pythons.play(&|_| Ok(None))?;
        let loaded = [true, false]
            .into_iter()
            .flat_map(|it| loader.mapped_files(it));
        let size = ImageSize::of(
            facts.layers.iter().map(|layer| &*layer.facts),
            &root,
            &stack.distributions,
            &loaded.collect(),
            &knowledge.caches,
        );
        image.sizes = Some(sizes(&size));
        let driver = stack.driver_floor(loader.linked_runtime(), &knowledge.toolkits);
        let changes = |cache: &CacheFacts| cache.is_changed_by_ldconfig();
        let is_changed = loader.cache.as_ref().is_some_and(changes);
        let cache = launch.refreshes_cache.clone().filter(|_| is_changed);
        let gpu = std::mem::take(&mut stack.gpu).into();
        let mut stack = StackFacts::from(stack);
        Arc::make_mut(&mut stack.python).import_failures = imports.failures;
        let model = Model {
            image,
            launch: launch.facts(),
            gaps: [
                coverage::gaps(&loader),
                programs.gaps.clone(),
                launch.gaps,
                stack
                    .python
                    .script
                    .iter()
                    .filter_map(PythonScript::gap)
                    .collect(),
                cache.into_iter().collect(),
                imports.gaps,
            ]
            .concat(),
            gpu,
            stack,
            driver,
            loader: loader.into(),
            tree: tree.into(),
            imports: imports.trees.into(),
            files: root.files().count(),
            size: size.into(),
            facts: Facts::default(),
        };
        model.with_facts(&subject.named)
    }

    /// Adds what rules see.
    pub fn with_facts(self, named: &str) -> Result<Self> {
        let driver = self.driver.as_ref().map(|it| serialized(it, named));
        let facts = Facts {
            gpu: Some(serialized(&self.gpu, named)?),
            driver: driver.transpose()?,
            loader: Some(self.loader.clone()),
            ..Facts::of_image(self.image.clone(), Vec::new(), &self.stack)
        };
        Ok(Model { facts, ..self })
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

/// The sizes that a policy limits.
fn sizes(size: &ImageSize) -> BTreeMap<String, rules::Bytes> {
    let duplicates = size.of_cause(Cause::Duplicate);
    let named = [("files", size.bytes), ("duplicates", duplicates)];
    named
        .map(|(name, bytes)| (name.to_owned(), bytes.into()))
        .into()
}

/// A fact as rules see it. One that cannot be serialized is not an absent one.
fn serialized(fact: &impl Serialize, named: &str) -> Result<Value> {
    serde_json::to_value(fact).map_err(|error| {
        let problem = format!("its facts cannot be serialized: {error}");
        Error::unsupported(named, problem)
    })
}

/// GPU code with the number of containers per architecture, which reports leave out.
mod with_counts {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use imgcheck_elf::facts::GpuCode;
    use imgcheck_model::stack::Gpu;

    pub fn serialize<S: Serializer>(gpu: &Arc<Gpu>, serializer: S) -> Result<S::Ok, S::Error> {
        let counts: Vec<&GpuCode> = gpu.libraries.iter().map(|it| &it.code).collect();
        (&**gpu, counts).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Gpu>, D::Error> {
        let (mut gpu, counts) = <(Gpu, Vec<GpuCode>)>::deserialize(deserializer)?;
        for (library, code) in gpu.libraries.iter_mut().zip(counts) {
            library.code = code;
        }
        Ok(Arc::new(gpu))
    }
}

/// The models of one call. Images that share facts, such as the tags of one image, share a model.
#[derive(Default)]
pub(crate) struct Models(Vec<(Key, Arc<Model>)>);

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
