//! What each Python environment imports from where, as far as the tables know its packages.

use std::collections::{BTreeMap, HashMap};

use super::knowledge::Knowledge;
use crate::stack::{Component, Environment, Stack};
use imgcheck_base::version;
use imgcheck_image::{Access, Credentials, Node, RootFilesystem};

/// An installed package that the tables know.
#[derive(Debug, Clone, Default)]
pub(super) struct InstalledPackage {
    pub version: String,
    /// The directory of `sys.path` that it is imported from.
    pub site: String,
    /// The CUDA release that it was built for: `12.8`; empty if unknown.
    pub cuda: String,
    /// Version of the PyTorch beside it; empty without PyTorch.
    pub torch: String,
}

impl InstalledPackage {
    /// Replaces `{cuda-major}`, `{cuda-digits}`, `{torch-major}`, `{torch-minor}` and `{torch-patch}`; `None` if the text has one of them
    /// whose value is unknown.
    pub fn fill(&self, text: &str) -> Option<String> {
        let cuda: Vec<&str> = self.cuda.split('.').filter(|it| !it.is_empty()).collect();
        let torch = version::release(&self.torch).unwrap_or_default();
        let number = |place: usize| torch.get(place).map(u64::to_string);
        let values = [
            ("{cuda-major}", cuda.first().map(|it| (*it).to_owned())),
            (
                "{cuda-digits}",
                cuda.get(..2).map(|numbers| numbers.concat()),
            ),
            ("{torch-major}", number(0)),
            ("{torch-minor}", number(1)),
            ("{torch-patch}", number(2)),
        ];
        let mut filled = text.to_owned();
        for (placeholder, value) in values {
            if filled.contains(placeholder) {
                filled = filled.replace(placeholder, &value?);
            }
        }
        Some(filled)
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

impl PythonSetup {
    /// The directory that a path is imported from: that of the package, or another of the search path.
    pub fn site_of(
        &self,
        root: &RootFilesystem,
        installed: &InstalledPackage,
        path: &str,
    ) -> Option<String> {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let has = |site: &&String| {
            let found = root.resolve(&format!("{site}/{directory}"));
            found.is_ok_and(Node::is_directory)
        };
        let own = std::iter::once(&installed.site);
        own.chain(&self.path).find(has).cloned()
    }

    /// The file of an extension module: Python tries these suffixes in turn (`importlib.machinery.EXTENSION_SUFFIXES`).
    pub fn extension_module(&self, root: &RootFilesystem, path: &str) -> Option<String> {
        let (directory, name) = path.rsplit_once('/')?;
        let node = root.resolve(directory).ok()?;
        let tag = self.release.replace('.', "");
        let tuples = [
            "x86_64-linux-gnu",
            "aarch64-linux-gnu",
            "x86_64-linux-musl",
            "aarch64-linux-musl",
        ];
        let tagged = tuples.map(|tuple| format!("{name}.cpython-{tag}-{tuple}.so"));
        let plain = [format!("{name}.abi3.so"), format!("{name}.so")];
        let mut names = tagged.into_iter().chain(plain);
        let file = names.find(|file| node.lookup(file).is_some())?;
        Some(format!("{directory}/{file}"))
    }
}

/// The packages of an image that the tables know, looked up once for all environments.
pub(super) struct PackageIndex<'s> {
    /// By directory of a search path and name: the version; `None` if the directory has a package or module of that name whose version
    /// is unknown.
    packages: HashMap<&'s str, BTreeMap<&'s str, Option<&'s str>>>,
    /// `torch.version.cuda` of the PyTorch in each directory of a search path.
    cuda: HashMap<&'s str, &'s str>,
    /// The module of each package.
    modules: HashMap<&'s str, &'s str>,
}

impl<'s> PackageIndex<'s> {
    /// `user` is who runs Python.
    pub fn of(
        root: &RootFilesystem,
        user: &Credentials,
        stack: &'s Stack,
        knowledge: &'s Knowledge,
    ) -> Self {
        // A directory that the user may not search is a namespace package to Python, which hides nothing.
        let find = |path: &str| {
            let node = root.resolve_as(path, user).ok();
            node.filter(|it| !it.is_directory() || it.allows(user, Access::Execute))
        };
        let is_there = |path: &str| find(path).is_some();
        let distributions = distributions(is_there, stack, knowledge);
        let torch = stack.components.iter().filter(|it| it.name == "torch");
        let torch: HashMap<&str, &Component> = torch.map(|it| (it.path.as_str(), it)).collect();
        let mut index = PackageIndex {
            packages: HashMap::new(),
            cuda: HashMap::new(),
            modules: knowledge
                .packages()
                .filter_map(|plan| Some((plan.package.as_str(), plan.directory.split('/').next()?)))
                .collect(),
        };
        for site in stack.environments.iter().flat_map(|it| &it.sites) {
            if index.packages.contains_key(site.as_str()) {
                continue;
            }
            let mut packages = BTreeMap::new();
            for plan in knowledge.packages() {
                let name = plan.package.as_str();
                let described = distributions.get(&(site.as_str(), name)).copied();
                if described.is_some() || is_module(is_there, site, &plan.directory) {
                    packages.insert(name, described);
                }
            }
            // What the files of PyTorch say counts more than its metadata, which may be missing, renamed or another's.
            let directory = find(&format!("{site}/torch"));
            if let Some(found) = directory.and_then(|it| torch.get(it.path().as_str())) {
                let cuda = found.details.get("cuda").map_or("", String::as_str);
                index.cuda.insert(site, cuda);
                let known = packages.entry("torch").or_default();
                let release = known.and_then(version::release);
                if !found.version.is_empty() && release != version::release(&found.version) {
                    *known = Some(&found.version);
                }
            }
            index.packages.insert(site, packages);
        }
        index
    }

    /// The setup of one environment; its search path is empty if it has none of the packages.
    pub fn setup(&self, root: &RootFilesystem, environment: &Environment) -> PythonSetup {
        let mut setup = PythonSetup {
            dynload: dynload(root, environment),
            release: environment.release.clone(),
            ..PythonSetup::default()
        };
        // What comes first hides what comes later, whether its version is known or not.
        let mut first: BTreeMap<&str, (&str, Option<&str>)> = BTreeMap::new();
        for site in &environment.sites {
            let packages = self.packages.get(site.as_str());
            for (package, version) in packages.into_iter().flatten() {
                first.entry(package).or_insert((site, *version));
            }
        }
        let mut cuda = environment.sites.iter();
        let cuda = cuda.find_map(|site| self.cuda.get(site.as_str()).copied());
        let torch = first.get("torch").and_then(|(_, version)| *version);
        let torch = torch.unwrap_or_default();
        let is_shadowed = |package: &str| {
            let mut shadowed = environment.shadowed.iter();
            shadowed.any(|it| self.modules.get(package) == Some(&it.module.as_str()))
        };
        for (package, (site, version)) in first {
            let Some(version) = version.filter(|_| !is_shadowed(package)) else {
                continue;
            };
            let installed = InstalledPackage {
                version: version.to_owned(),
                site: site.to_owned(),
                // That of PyTorch stands for the other packages, too.
                cuda: cuda.unwrap_or_default().to_owned(),
                torch: torch.to_owned(),
            };
            setup.installed.insert(package.to_owned(), installed);
        }
        if !setup.installed.is_empty() {
            setup.path.clone_from(&environment.sites);
        }
        setup
    }
}

/// The versions of packages that the tables know, by directory and name. The first distribution that provides a package counts.
fn distributions<'s>(
    is_there: impl Fn(&str) -> bool,
    stack: &'s Stack,
    knowledge: &'s Knowledge,
) -> HashMap<(&'s str, &'s str), &'s str> {
    let mut packages = HashMap::new();
    for distribution in &stack.distributions {
        let site = distribution.site.as_str();
        let provided = knowledge
            .packages()
            .filter(|plan| plan.is_brought_by(&distribution.name));
        for plan in provided {
            let key = (site, plan.package.as_str());
            let directory = format!("{site}/{}", plan.directory);
            if !packages.contains_key(&key) && is_there(&directory) {
                packages.insert(key, distribution.version.as_str());
            }
        }
    }
    packages
}

/// Whether a directory of the search path has a regular package or a module of a name. A directory without `__init__.py` is a namespace
/// package, which hides nothing.
fn is_module(is_there: impl Fn(&str) -> bool, site: &str, name: &str) -> bool {
    let files = ["/__init__.py", ".py"].map(|ending| format!("{site}/{name}{ending}"));
    !name.is_empty() && files.iter().any(|file| is_there(file))
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
