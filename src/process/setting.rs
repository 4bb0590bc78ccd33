//! Where each Python environment imports from, and which packages of the tables are there.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::knowledge::Knowledge;
use super::python::{Installed, Setting};
use crate::image::{Node, RootFilesystem};
use crate::launch::Launch;
use crate::stack::{Distribution, Environment, Stack};

/// What there is to import in an image, looked up once for all of its environments.
pub(super) struct Imports<'s> {
    /// The directories of PYTHONPATH, each once: what comes again is not reached.
    listed: Vec<String>,
    /// The packages of the tables by the directory that they are in, each with the distribution that brings it.
    packages: HashMap<&'s str, BTreeMap<&'s str, &'s Distribution>>,
    /// `torch.version.cuda` of each PyTorch, by its directory.
    cuda: HashMap<&'s str, &'s str>,
}

impl<'s> Imports<'s> {
    pub fn of(
        root: &RootFilesystem,
        launch: &Launch,
        stack: &'s Stack,
        knowledge: &'s Knowledge,
    ) -> Self {
        let mut cuda = HashMap::new();
        for component in stack.components.iter().filter(|it| it.name == "torch") {
            let own = component.details.get("cuda").map_or("", String::as_str);
            cuda.entry(component.path.as_str()).or_insert(own);
        }
        Imports {
            listed: listed(root, launch),
            packages: packages(root, stack, knowledge),
            cuda,
        }
    }

    /// Of one environment; without a search path if there is nothing to import.
    pub fn setting(&self, root: &RootFilesystem, environment: &Environment) -> Setting {
        let mut setting = Setting {
            dynload: dynload(root, environment),
            release: environment.release.clone(),
            ..Setting::default()
        };
        for site in self.listed.iter().chain(&environment.sites) {
            let packages = self.packages.get(site.as_str());
            for (package, distribution) in packages.into_iter().flatten() {
                let known = setting.installed.entry((*package).to_owned());
                known.or_insert_with(|| Installed {
                    version: distribution.version.clone(),
                    site: site.clone(),
                    cuda: String::new(),
                });
            }
        }
        if !setting.installed.is_empty() {
            let path = self.listed.iter().chain(&environment.sites);
            setting.path = path.cloned().collect();
            let cuda = self.cuda_of_torch(&setting.path);
            for installed in setting.installed.values_mut() {
                cuda.clone_into(&mut installed.cuda);
            }
        }
        setting
    }

    /// `torch.version.cuda` of the PyTorch that a search path leads to, which other packages go by as well.
    fn cuda_of_torch(&self, path: &[String]) -> &'s str {
        let torch = |site: &String| self.cuda.get(format!("{site}/torch").as_str()).copied();
        path.iter().find_map(torch).unwrap_or_default()
    }
}

fn listed(root: &RootFilesystem, launch: &Launch) -> Vec<String> {
    let mut seen = HashSet::new();
    launch
        .directories("PYTHONPATH")
        .filter_map(|directory| root.resolve(directory).ok())
        .filter(|node| node.is_directory() && seen.insert(*node))
        .map(Node::path)
        .collect()
}

/// The packages of the tables that are installed, by directory. Of several distributions the first brings a package.
fn packages<'s>(
    root: &RootFilesystem,
    stack: &'s Stack,
    knowledge: &'s Knowledge,
) -> HashMap<&'s str, BTreeMap<&'s str, &'s Distribution>> {
    let mut packages: HashMap<&str, BTreeMap<&str, &Distribution>> = HashMap::new();
    for distribution in &stack.distributions {
        let site = distribution.site.as_str();
        let brought = knowledge
            .packages()
            .filter(|plan| plan.is_brought_by(&distribution.name));
        for plan in brought {
            let there = packages.entry(site).or_default();
            let directory = format!("{site}/{}", plan.directory);
            if !there.contains_key(plan.package.as_str()) && root.resolve(&directory).is_ok() {
                there.insert(&plan.package, distribution);
            }
        }
    }
    packages
}

/// `lib-dynload` of the installation that an environment rests on.
fn dynload(root: &RootFilesystem, environment: &Environment) -> Option<String> {
    let base = environment.interpreter.rsplitn(3, '/').nth(2)?;
    let release = &environment.release;
    let home = root
        .resolve(&format!("{}/pyvenv.cfg", environment.prefix))
        .ok()
        .and_then(Node::text)
        .and_then(|text| {
            let mut lines = text.lines().filter_map(|line| line.split_once('='));
            let (_, home) = lines.find(|(key, _)| key.trim() == "home")?;
            home.trim().strip_suffix("/bin").map(str::to_owned)
        });
    let prefixes = [Some(base.to_owned()), home];
    let candidates = prefixes.into_iter().flatten().flat_map(|prefix| {
        ["lib", "lib64"].map(|lib| format!("{prefix}/{lib}/python{release}/lib-dynload"))
    });
    let mut directories = candidates.filter_map(|path| root.resolve(&path).ok());
    directories.find(|node| node.is_directory()).map(Node::path)
}
