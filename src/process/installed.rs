//! What each Python environment imports from where, as far as the tables know its packages.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::knowledge::Knowledge;
use crate::image::{Node, RootFilesystem};
use crate::launch::Launch;
use crate::stack::{Distribution, Environment, Stack};

/// An installed package that the tables know.
#[derive(Debug, Clone, Default)]
pub(super) struct InstalledPackage {
    pub version: String,
    /// The directory of `sys.path` that it is imported from.
    pub site: String,
    /// The CUDA release that it was built for: `12.8`; empty if unknown.
    pub cuda: String,
}

impl InstalledPackage {
    /// Replaces `{cuda-major}` and `{cuda-digits}`; `None` if the text has one of them and the CUDA release is unknown.
    pub fn fill(&self, text: &str) -> Option<String> {
        if !text.contains("{cuda-") {
            return Some(text.to_owned());
        }
        let mut numbers = self.cuda.split('.');
        let major = numbers.next().filter(|major| !major.is_empty())?;
        let minor = numbers.next()?;
        let filled = text.replace("{cuda-major}", major);
        Some(filled.replace("{cuda-digits}", &format!("{major}{minor}")))
    }
}

/// The Python installation of a process.
#[derive(Debug, Clone, Default)]
pub(super) struct PythonSetup {
    /// The directories that packages are imported from, in order.
    pub path: Vec<String>,
    /// `lib-dynload`, the directory of Python's own extension modules.
    pub dynload: Option<String>,
    /// Release of Python: `3.11`.
    pub release: String,
    /// The installed packages that the tables know, by name.
    pub installed: BTreeMap<String, InstalledPackage>,
}

/// The packages of an image that the tables know, looked up once for all environments.
pub(super) struct PackageIndex<'s> {
    /// The directories of PYTHONPATH, each at its first place only.
    python_path: Vec<String>,
    /// The packages by directory, each with the distribution that provides it.
    packages: HashMap<&'s str, BTreeMap<&'s str, &'s Distribution>>,
    /// `torch.version.cuda` of each PyTorch, by directory.
    cuda: HashMap<&'s str, &'s str>,
}

impl<'s> PackageIndex<'s> {
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
        PackageIndex {
            python_path: python_path(root, launch),
            packages: packages(root, stack, knowledge),
            cuda,
        }
    }

    /// The setup of one environment; its search path is empty if it has none of the packages.
    pub fn setup(&self, root: &RootFilesystem, environment: &Environment) -> PythonSetup {
        let mut setup = PythonSetup {
            dynload: dynload(root, environment),
            release: environment.release.clone(),
            ..PythonSetup::default()
        };
        for site in self.python_path.iter().chain(&environment.sites) {
            let packages = self.packages.get(site.as_str());
            for (package, distribution) in packages.into_iter().flatten() {
                let known = setup.installed.entry((*package).to_owned());
                known.or_insert_with(|| InstalledPackage {
                    version: distribution.version.clone(),
                    site: site.clone(),
                    cuda: String::new(),
                });
            }
        }
        if !setup.installed.is_empty() {
            let path = self.python_path.iter().chain(&environment.sites);
            setup.path = path.cloned().collect();
            let cuda = self.cuda_of_torch(&setup.path);
            for installed in setup.installed.values_mut() {
                cuda.clone_into(&mut installed.cuda);
            }
        }
        setup
    }

    /// `torch.version.cuda` of the PyTorch on a search path; it stands for the CUDA release of the other packages, too.
    fn cuda_of_torch(&self, path: &[String]) -> &'s str {
        let torch = |site: &String| self.cuda.get(format!("{site}/torch").as_str()).copied();
        path.iter().find_map(torch).unwrap_or_default()
    }
}

fn python_path(root: &RootFilesystem, launch: &Launch) -> Vec<String> {
    let mut seen = HashSet::new();
    launch
        .directories("PYTHONPATH")
        .filter_map(|directory| root.resolve(directory).ok())
        .filter(|node| node.is_directory() && seen.insert(*node))
        .map(Node::path)
        .collect()
}

/// The installed packages that the tables know, by directory. The first distribution that provides a package counts.
fn packages<'s>(
    root: &RootFilesystem,
    stack: &'s Stack,
    knowledge: &'s Knowledge,
) -> HashMap<&'s str, BTreeMap<&'s str, &'s Distribution>> {
    let mut packages: HashMap<&str, BTreeMap<&str, &Distribution>> = HashMap::new();
    for distribution in &stack.distributions {
        let site = distribution.site.as_str();
        let provided = knowledge
            .packages()
            .filter(|plan| plan.is_brought_by(&distribution.name));
        for plan in provided {
            let of_site = packages.entry(site).or_default();
            let directory = format!("{site}/{}", plan.directory);
            if !of_site.contains_key(plan.package.as_str()) && root.resolve(&directory).is_ok() {
                of_site.insert(&plan.package, distribution);
            }
        }
    }
    packages
}

/// `lib-dynload` of the environment, or of the installation that a virtual environment was made from.
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
