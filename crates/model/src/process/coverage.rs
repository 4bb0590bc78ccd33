//! Which GPU frameworks an image has, and which of them a modeled process can load.

use std::collections::{BTreeMap, HashSet};

use super::describer::package_directory;
use super::facts::{FrameworkFacts, LoaderFacts, ObjectFacts};
use super::model::Programs;
use crate::stack::Stack;
use crate::stack::sites::Sites;
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_base::lexical::name_of;

impl Programs<'_, '_> {
    /// Every copy of a GPU framework that is installed, by directory: PyTorch for GPUs, and packages of the tables that have GPU
    /// code. Stores of package managers, from which nothing is loaded, are left out.
    pub fn frameworks(&self, loader: &LoaderFacts, stack: &Stack) -> Vec<FrameworkFacts> {
        let mut copies: BTreeMap<String, FrameworkFacts> = BTreeMap::new();
        let is_for_gpu = |build: &str| ["cuda", "rocm"].contains(&build);
        for torch in stack.components.iter().filter(|it| it.name == "torch") {
            if torch.details.get("build").is_some_and(|it| is_for_gpu(it)) {
                let copy = copies.entry(torch.path.clone()).or_default();
                copy.name.clone_from(&torch.name);
                copy.layer = torch.layer;
            }
        }
        for library in &stack.gpu.libraries {
            if let Some((name, directory)) = self.package_of(&library.path) {
                let copy = copies.entry(directory.to_owned()).or_default();
                name.clone_into(&mut copy.name);
                let node = self.root.entry(&library.path);
                copy.layer = copy.layer.or(node.and_then(|node| node.layer()));
            }
        }
        let stores = &self.knowledge.package_stores;
        copies.retain(|directory, _| !stores.is_match(directory));
        let loaders = self.loaders(loader);
        let sites = self.programs.iter();
        let sites: Vec<(&str, Sites)> = sites
            .map(|it| (it.name.as_str(), it.setup.path.iter().collect()))
            .collect();
        let is_started = |name: &&str| !self.starts_without(stack) || !self.is_python(name);
        for (directory, copy) in &mut copies {
            copy.path.clone_from(directory);
            let loader = loaders.get(directory.as_str()).copied();
            let reached = loader.or_else(|| importer(&sites, directory));
            copy.reached_by = reached.filter(is_started).map(str::to_owned);
        }
        copies.into_values().collect()
    }

    /// Same as [`LoaderFacts::other_gpu_code`].
    pub fn other_gpu_code(&self, loader: &LoaderFacts, stack: &Stack) -> Vec<ObjectFacts> {
        let mut programs = self.programs.iter().chain(&self.without_packages);
        let Some(program) = programs.find(|it| it.main && !it.environment.is_empty()) else {
            return Vec::new();
        };
        let sites: Sites = program.setup.path.iter().collect();
        let mapped: HashSet<&str> = loader.mapped_files(true).collect();
        let libraries = stack.gpu.libraries.iter().map(|it| it.path.as_str());
        let is_other = |path: &&str| self.package_of(path).is_none() || self.is_module(path);
        let others = libraries.filter(|path| !mapped.contains(path) && is_other(path));
        let others = others.filter_map(|path| {
            let directory = package_directory(&sites, path).or_else(|| {
                let name = sites.holding(path)?.rest;
                Some(name.split('.').next()?.to_owned())
            })?;
            let is_of_cuda = directory.starts_with("nvidia") || directory.starts_with("tensorrt");
            (!is_of_cuda).then(|| ObjectFacts {
                path: path.to_owned(),
                layer: self.root.entry(path).and_then(|node| node.layer()),
                directory,
                ..ObjectFacts::default()
            })
        });
        others.collect()
    }

    /// Whether the image starts a Python that imports none of the packages: what others import does not run.
    fn starts_without(&self, stack: &Stack) -> bool {
        let first = stack.environments.first();
        let mut main = self.programs.iter().filter(|it| it.main);
        first.is_some_and(|it| it.is_started) && main.all(|it| !self.is_python(&it.name))
    }

    fn is_python(&self, program: &str) -> bool {
        let mut programs = self.programs.iter();
        programs.any(|it| it.name == program && !it.environment.is_empty())
    }

    /// The package of the tables that a file belongs to, and its directory.
    fn package_of<'p>(&self, path: &'p str) -> Option<(&str, &'p str)> {
        let plans = self.knowledge.packages();
        let mut plans = plans.filter(|plan| !plan.companion && !plan.directory.is_empty());
        plans.find_map(|plan| {
            let mut places = path.match_indices(&plan.directory);
            let is_whole = |(start, name): &(usize, &str)| {
                let above = &path[..*start];
                // What auditwheel bundles with a package belongs to that one.
                above.ends_with('/')
                    && !above.ends_with(".libs/")
                    && path[start + name.len()..].starts_with('/')
            };
            let (start, name) = places.find(is_whole)?;
            Some((plan.package.as_str(), &path[..start + name.len()]))
        })
    }

    /// Whether a file is an extension module that the tables name beside an import.
    fn is_module(&self, path: &str) -> bool {
        let releases = self.knowledge.packages().flat_map(|plan| &plan.releases);
        let mut modules = releases.flat_map(|release| &release.modules);
        modules.any(|module| {
            let name = module.split('{').next().unwrap_or_default();
            path.contains(&format!("/{name}"))
        })
    }

    /// The directories of packages that processes map files of, each with the first such process. A library of PyTorch that is
    /// outside of a package belongs to its directory and to the one above (`/opt/libtorch/lib`).
    fn loaders<'l>(&self, loader: &'l LoaderFacts) -> BTreeMap<String, &'l str> {
        let mut loaders = BTreeMap::new();
        for process in &loader.processes {
            for object in &process.objects {
                let path = object.path.as_str();
                let name = name_of(path);
                let mut add = |directory: &str| {
                    let known = loaders.entry(directory.to_owned());
                    known.or_insert(process.name.as_str());
                };
                if let Some((_, package)) = self.package_of(path) {
                    add(package);
                } else if name.starts_with("libtorch") {
                    let above = path.rmatch_indices('/').take(2);
                    above.for_each(|(end, _)| add(&path[..end]));
                }
            }
        }
        loaders
    }
}

/// The first process that searches the directory which contains a package: what it imports from there was decided.
fn importer<'p>(sites: &[(&'p str, Sites)], package: &str) -> Option<&'p str> {
    let (site, _) = package.rsplit_once('/')?;
    let process = sites
        .iter()
        .find(|(_, sites)| sites.place_of(site).is_some());
    process.map(|(name, _)| *name)
}

/// What the loader model could not judge.
pub fn gaps(loader: &LoaderFacts) -> Vec<Gap> {
    let frameworks = loader.frameworks.iter();
    let unreached = frameworks.filter(|it| it.reached_by.is_none());
    let unreached = unreached.map(|framework| Gap {
        code: GapCode::FrameworkNotReached,
        message: format!(
            "{} in {} is not on the search path of any program that the image starts, as far as imgcheck knows, so how it loads was not checked",
            framework.name, framework.path
        ),
        path: Some(framework.path.clone()),
        layer: framework.layer,
    });
    let left_out = (loader.programs_left_out > 0).then(|| Gap {
        code: GapCode::ProgramsLeftOut,
        message: format!(
            "{} programs that use GPU libraries were not checked: raise the limit `programs`",
            loader.programs_left_out
        ),
        path: None,
        layer: None,
    });
    unreached.chain(left_out).collect()
}
