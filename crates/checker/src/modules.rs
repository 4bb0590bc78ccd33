//! Reads the Python sources that the programs of an image import: which they are, only the merged image tells.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::state::Checker;
use super::volumes::Volumes;
use imgcheck_base::error::Result;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts, Node, RootFilesystem};
use imgcheck_launch::{Launch, Overlay};
use imgcheck_layer::{ReadContext, ReadLayer};
use imgcheck_model::imports::{Imports, Pythons};
use imgcheck_model::stack;
use imgcheck_python::ModuleFacts;
use imgcheck_source::source::Image;

/// The facts of sources, by layer and index of the entry.
type Sources = BTreeMap<usize, BTreeMap<usize, Arc<ModuleFacts>>>;

/// Adds the facts of the sources that are imported to those of their layers: if the container starts as the image says, and with each overlay.
///
/// # Errors
/// A limit is exceeded, or the request was cancelled.
pub(crate) fn read_modules(
    checker: &Checker,
    context: &ReadContext,
    image: &Image,
    overlays: &[Overlay],
    layers: &mut [ReadLayer],
) -> Result<()> {
    let own = Overlay::default();
    for overlay in std::iter::once(&own).chain(overlays) {
        read_for(checker, context, image, overlay, layers)?;
    }
    Ok(())
}

/// Adds the facts of the sources that are imported if the container starts like this.
fn read_for(
    checker: &Checker,
    context: &ReadContext,
    image: &Image,
    overlay: &Overlay,
    layers: &mut [ReadLayer],
) -> Result<()> {
    let facts: Vec<Arc<LayerFacts>> = layers.iter().map(|layer| layer.facts.clone()).collect();
    let volumes = Volumes::default();
    let root = volumes.mounted(facts.iter().map(|it| &**it), overlay, &context.bounds)?;
    let sources = {
        let launch = Launch::of(&root, &image.config, overlay, &checker.knowledge.launch);
        let read = imported(checker, context, &launch, &root, |node| {
            let place = node.entry().and_then(|entry| position(&facts, entry));
            match place {
                Some((layer, at)) => layers[layer].module(at),
                None => Ok(None),
            }
        })?;
        let mut sources = Sources::new();
        for (node, module) in read.read {
            let entry = node.entry().and_then(|entry| position(&facts, entry));
            if let Some((layer, at)) = entry {
                sources.entry(layer).or_default().insert(at, module);
            }
        }
        sources
    };
    drop(root);
    for (layer, modules) in sources {
        let mut changed = LayerFacts::clone(&facts[layer]);
        for (at, module) in modules {
            changed.entries[at].kind = EntryKind::File(Content::Module(module));
        }
        let changed = Arc::new(changed);
        let same = |it: &&mut ReadLayer| Arc::ptr_eq(&it.facts, &facts[layer]);
        for layer in layers.iter_mut().filter(same) {
            layer.facts = Arc::clone(&changed);
        }
    }
    Ok(())
}

impl Checker {
    /// The modules that are imported where they are installed.
    pub(crate) fn imported_modules(&self) -> Result<Vec<String>> {
        match &self.python_module {
            Some(module) => Ok(vec![module.clone()]),
            None => {
                let mut modules = self.knowledge.processes()?.modules();
                modules.extend(self.knowledge.modules.packages.iter().cloned());
                Ok(modules)
            }
        }
    }
}

/// What the programs of an image import.
fn imported<'r>(
    checker: &Checker,
    context: &ReadContext,
    launch: &Launch,
    root: &'r RootFilesystem<'r>,
    reader: impl Fn(Node<'r>) -> Result<Option<ModuleFacts>> + Sync,
) -> Result<Imports<'r>> {
    let knowledge = &checker.knowledge;
    let environments =
        stack::environments(root, launch, &knowledge.catalogue, &context.bounds.limits)?;
    if environments.is_empty() {
        return Ok(Imports::default());
    }
    let pythons = Pythons {
        root,
        launch,
        environments: &environments,
        distributions: &[],
        knowledge: &knowledge.modules,
        processes: knowledge.processes()?,
        packages: &checker.imported_modules()?,
        is_asked: checker.python_module.is_some(),
        machine: "",
        reads: true,
        trees: false,
        bounds: &context.bounds,
    };
    pythons.play(&reader)
}

/// The layer of an entry, and its index there.
fn position(facts: &[Arc<LayerFacts>], entry: &Entry) -> Option<(usize, usize)> {
    let entry: *const Entry = entry;
    let has = |facts: &Arc<LayerFacts>| facts.entries.as_ptr_range().contains(&entry);
    let layer = facts.iter().position(has)?;
    let first = facts[layer].entries.as_ptr();
    Some((layer, (entry.addr() - first.addr()) / size_of::<Entry>()))
}
