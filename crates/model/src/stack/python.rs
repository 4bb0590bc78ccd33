//! Python installations (an interpreter with its library) and environments (a prefix with the directories that its interpreter
//! imports from).

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use imgcheck_base::gap::Gap;
use imgcheck_image::Node;

use super::evidence::{first_numbers, is_version};
use super::inventory::{ElfFile, Inventory};
use super::packages::{OWNERS, Package, Packages};
use super::python_faults::{ShadowedPackage, StartRefusal};
use super::{Component, Evidence, EvidenceKind};
use imgcheck_base::lexical::{directory_of, name_of};

/// A Python environment: an installation, a virtual environment or a conda environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// The directory that contains `bin`.
    pub prefix: String,
    /// The file that its `bin/python3` resolves to.
    pub interpreter: String,
    /// Major and minor release: `3.11`.
    pub release: String,
    /// The directories that packages are imported from, in the order of `sys.path`, without the standard library.
    pub sites: Vec<String>,
    /// How many of `sites` the command adds: the directory of the script, or the working directory.
    pub of_command: usize,
    /// How many of `sites` come before the standard library: those of the command and of PYTHONPATH.
    pub before_standard: usize,
    /// The directories of the standard library.
    pub standard_library: Vec<String>,
    /// Packages that a module which comes first hides.
    pub shadowed: Vec<ShadowedPackage>,
    /// The settings with which the interpreter refuses to start.
    pub refusals: Vec<StartRefusal>,
    /// The image starts this Python for certain, and nothing that is not modeled changes its search path.
    pub is_certain: bool,
    /// What may change the search path and is not modeled.
    pub gaps: Vec<Gap>,
    /// The image starts this Python by its name.
    pub is_started: bool,
    /// What the image executes with this Python; `None` if it does not start it, or starts it without a program.
    pub program: Option<PythonProgram>,
    /// What is not understood of a launcher that the image executes with this Python, which starts another one.
    pub not_followed: Option<String>,
    /// The launcher that starts this Python with the program (`torchrun`), and that has another search path.
    pub launcher: Option<Box<Environment>>,
    /// Created by venv, virtualenv, uv or conda: its prefix contains their marker.
    pub is_virtual: bool,
}

/// What an interpreter executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PythonProgram {
    /// A script or directory, by its absolute path.
    Script(String),
    /// The module after `-m`.
    Module(String),
    /// The text after `-c`.
    Code(String),
    /// The standard input: its text, if it is known.
    Input(Option<String>),
    /// The module that a server imports, and the name of the application in it: `app.main` and `app` of `uvicorn app.main:app`. The name is empty if it
    /// is not known.
    Application(String, String),
}

/// Unambiguous display names of environments.
pub struct Labels<'e> {
    /// The releases of each prefix.
    releases: HashMap<&'e str, HashSet<&'e str>>,
}

impl<'e> Labels<'e> {
    /// The labels of all environments of an image.
    pub fn of(environments: &'e [Environment]) -> Self {
        let mut releases: HashMap<&str, HashSet<&str>> = HashMap::new();
        for environment in environments {
            let own = releases.entry(&environment.prefix).or_default();
            own.insert(&environment.release);
        }
        Labels { releases }
    }

    /// The label of an environment: its prefix, with the release if another Python has the same prefix.
    pub fn label(&self, environment: &Environment) -> String {
        let Environment {
            prefix, release, ..
        } = environment;
        let releases = self.releases.get(prefix.as_str());
        match releases.is_some_and(|releases| releases.len() > 1) {
            true => format!("{prefix} with Python {release}"),
            false => prefix.clone(),
        }
    }
}

/// All environments, sorted by prefix. If a prefix has several Pythons, the one that `python3` or `python` starts comes first, then the
/// others from newest to oldest.
pub(super) fn environments(inventory: &Inventory) -> Vec<Environment> {
    let mut found: BTreeMap<(String, String), Environment> = BTreeMap::new();
    for node in &inventory.interpreters {
        let Some(environment) = environment(inventory, *node) else {
            continue;
        };
        let key = (environment.prefix.clone(), environment.release.clone());
        match found.entry(key) {
            Entry::Vacant(place) => {
                place.insert(environment);
            }
            Entry::Occupied(mut known) => {
                let known = &mut known.get_mut().sites;
                let mut more = environment.sites;
                more.retain(|site| !known.contains(site));
                known.append(&mut more);
            }
        }
    }
    let mut environments: Vec<Environment> = found.into_values().collect();
    environments.sort_by_cached_key(|environment| {
        let numbers: Vec<u32> = environment
            .release
            .split('.')
            .filter_map(|number| number.parse().ok())
            .collect();
        let prefix = environment.prefix.clone();
        (
            prefix,
            !is_default(inventory, environment),
            Reverse(numbers),
        )
    });
    environments
}

/// The environment of an interpreter.
fn environment(inventory: &Inventory, node: Node) -> Option<Environment> {
    let interpreter = interpreter(inventory, &node.path())?;
    let mut prefix = prefix_of(node);
    let marker = inventory.text(&format!("{prefix}/pyvenv.cfg"));
    let conda = inventory.root.resolve(&format!("{prefix}/conda-meta"));
    let is_virtual = marker.is_some() || conda.is_ok();
    if !is_virtual {
        // `getpath.py` follows links, unless the directory above is a virtual environment.
        prefix = directory_of(directory_of(&interpreter)).to_owned();
    }
    let release =
        minor_release(&interpreter).or_else(|| release_of_marker(marker.as_ref()?.text))?;
    let mut sites = sites(inventory, &prefix, &release, prefix == "/usr");
    if marker
        .as_ref()
        .is_some_and(|marker| sees_system_packages(marker.text))
    {
        let marker = marker.as_ref().map(|marker| marker.text);
        let base = base_prefix(inventory, marker.unwrap_or_default(), &interpreter);
        for site in self::sites(inventory, &base, &release, base == "/usr") {
            if !sites.contains(&site) {
                sites.push(site);
            }
        }
    }
    Some(Environment {
        prefix,
        interpreter,
        release,
        sites,
        is_virtual,
        ..Environment::default()
    })
}

/// The prefix of the installation that a virtual environment was made from: what is above `home` in its `pyvenv.cfg`, since its Python
/// may be a copy (CPython, Modules/getpath.py).
pub(super) fn base_prefix(inventory: &Inventory, marker: &str, interpreter: &str) -> String {
    let home = values_of(marker, "home").next();
    let home = home.and_then(|home| inventory.root.resolve(home).ok());
    let directory = home.map(Node::path);
    let directory = directory.as_deref().unwrap_or(directory_of(interpreter));
    directory_of(directory).to_owned()
}

/// Whether the prefix's `python3` (or `python`, if there is no `python3`) is the environment's interpreter.
fn is_default(inventory: &Inventory, environment: &Environment) -> bool {
    let mut names = ["python3", "python"].iter();
    let found = names
        .find_map(|name| interpreter(inventory, &format!("{}/bin/{name}", environment.prefix)));
    found.as_ref() == Some(&environment.interpreter)
}

fn prefix_of(node: Node) -> String {
    node.parent()
        .parent()
        .path()
        .trim_end_matches('/')
        .to_owned()
}

/// The file that an interpreter's path resolves to.
fn interpreter(inventory: &Inventory, path: &str) -> Option<String> {
    let file = inventory.root.resolve(path).ok()?;
    file.content()?;
    Some(file.path())
}

/// `3.11` for `/usr/bin/python3.11`.
fn minor_release(interpreter: &str) -> Option<String> {
    let version = name_of(interpreter).strip_prefix("python")?;
    (is_version(version) && version.contains('.')).then(|| version.to_owned())
}

/// `3.11` for the line `version = 3.11.4` in `pyvenv.cfg` (virtualenv and uv write `version_info`). Needed if the interpreter is a
/// copy named `python3`.
fn release_of_marker(text: &str) -> Option<String> {
    let version = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        matches!(key.trim(), "version" | "version_info").then(|| value.trim())
    })?;
    let mut numbers = version.splitn(3, '.');
    let release = format!("{}.{}", numbers.next()?, numbers.next()?);
    is_version(&release).then_some(release)
}

/// The package directories of an installation or environment. Debian's Python has directories of its own (`getsitepackages` in its
/// `site.py`, the same in Debian 11 to 13), one of which all releases of Python 3 share; others have CPython's.
pub(super) fn sites(
    inventory: &Inventory,
    prefix: &str,
    release: &str,
    is_debian: bool,
) -> Vec<String> {
    let mut candidates = vec![
        format!("{prefix}/lib/python{release}/site-packages"),
        format!("{prefix}/lib64/python{release}/site-packages"),
    ];
    if is_debian {
        candidates.push(format!("{prefix}/local/lib/python{release}/dist-packages"));
        if release.starts_with("3.") {
            candidates.push(format!("{prefix}/lib/python3/dist-packages"));
        }
        candidates.push(format!("{prefix}/lib/python{release}/dist-packages"));
    }
    let mut sites = Vec::new();
    for candidate in candidates {
        if let Ok(directory) = inventory.root.resolve(&candidate) {
            let path = directory.path();
            if directory.is_directory() && !sites.contains(&path) {
                sites.push(path);
            }
        }
    }
    sites
}

/// `include-system-site-packages` of `pyvenv.cfg`; without this line, `site.py` takes it for true (`venv`).
pub(super) fn sees_system_packages(marker: &str) -> bool {
    values_of(marker, "include-system-site-packages")
        .next_back()
        .is_none_or(|value| value.eq_ignore_ascii_case("true"))
}

/// The values of a key of `pyvenv.cfg`. CPython takes the first `home`, and `site.py` the last of the others.
fn values_of<'t>(marker: &'t str, wanted: &str) -> impl DoubleEndedIterator<Item = &'t str> {
    let lines = marker.lines().filter_map(|line| line.split_once('='));
    lines
        .filter(move |(key, _)| key.trim().eq_ignore_ascii_case(wanted))
        .map(|(_, value)| value.trim())
}

/// One component per interpreter file.
pub(super) fn components(
    inventory: &Inventory,
    packages: &Packages,
    environments: &[Environment],
) -> Vec<Component> {
    let sources = Sources::of(inventory, packages);
    let interpreters: BTreeMap<&str, &str> = environments
        .iter()
        .map(|environment| {
            (
                environment.interpreter.as_str(),
                environment.release.as_str(),
            )
        })
        .collect();
    interpreters
        .into_iter()
        .filter_map(|(path, release)| component(inventory, &sources, path, release))
        .collect()
}

/// Where the versions of Python installations are found.
struct Sources<'i, 'r> {
    interpreters: HashMap<&'i str, &'i ElfFile<'r>>,
    /// By release and the directory that contains their `lib`.
    libraries: HashMap<(&'i str, &'i str), Vec<&'i ElfFile<'r>>>,
    /// By prefix and release.
    packages: HashMap<(&'i str, &'i str), Vec<&'i Package>>,
}

/// How many `/lib` components of a library's path are tried as the end of the prefix.
const ABOVE: usize = 4;

impl<'i, 'r> Sources<'i, 'r> {
    fn of(inventory: &'i Inventory<'r>, packages: &'i Packages) -> Self {
        let mut sources = Sources {
            interpreters: HashMap::new(),
            libraries: HashMap::new(),
            packages: HashMap::new(),
        };
        let is_python = |file: &&ElfFile| file.library() == Some("python");
        for file in inventory.elf.iter().filter(is_python) {
            sources.interpreters.insert(&file.path, file);
            let release = name_of(&file.path).strip_prefix("libpython");
            let release = release.and_then(|rest| rest.split_once(".so"));
            let Some((release, _)) = release else {
                continue;
            };
            for (end, _) in file.path.rmatch_indices("/lib").take(ABOVE) {
                let key = (release, &file.path[..end]);
                sources.libraries.entry(key).or_default().push(file);
            }
        }
        for package in packages
            .iter()
            .filter(|package| package.component == "python")
        {
            // System packages are installed in `/usr`, conda packages in their environment's prefix.
            let prefix = match package.manager {
                EvidenceKind::Conda => package.installed_in.as_str(),
                _ => "/usr",
            };
            let key = (prefix, first_numbers(&package.version, 2));
            let known = sources.packages.entry(key).or_default();
            if known.len() < OWNERS {
                known.push(package);
            }
        }
        sources
    }
}

fn component(
    inventory: &Inventory,
    sources: &Sources,
    path: &str,
    release: &str,
) -> Option<Component> {
    let prefix = directory_of(directory_of(path));
    let node = inventory.root.entry(path)?;
    let mut component = Component {
        name: "python".to_owned(),
        path: path.to_owned(),
        layer: node.layer(),
        details: [("environment".to_owned(), prefix.to_owned())].into(),
        ..Component::default()
    };
    let interpreter = sources.interpreters.get(path).into_iter();
    let libraries = sources.libraries.get(&(release, prefix));
    for file in interpreter.chain(libraries.into_iter().flatten()) {
        component.evidence.extend(file.versions());
    }
    let owners = sources.packages.get(&(prefix, release));
    let owners = owners.into_iter().flatten();
    component
        .evidence
        .extend(owners.map(|package| package.evidence()));
    if let Some(header) = inventory.text(&format!("{prefix}/include/python{release}/patchlevel.h"))
        && let Some(version) = patch_release(header.text)
    {
        component.evidence.push(Evidence::new(
            EvidenceKind::HeaderFile,
            version,
            &header.path,
            "PY_VERSION",
        ));
    }
    component.evidence.push(Evidence::new(
        EvidenceKind::FileName,
        release,
        path,
        name_of(path),
    ));
    Some(component)
}

/// `PY_VERSION` in `patchlevel.h`.
fn patch_release(header: &str) -> Option<&str> {
    let line = header
        .lines()
        .find_map(|line| line.strip_prefix("#define PY_VERSION"))?;
    let version = line.trim().trim_matches('"');
    is_version(version).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_from_names_and_headers() {
        assert_eq!(
            minor_release("/usr/bin/python3.11").as_deref(),
            Some("3.11")
        );
        assert_eq!(minor_release("/usr/bin/python3"), None);
        assert_eq!(minor_release("/usr/bin/python"), None);
        assert_eq!(
            patch_release("#define PY_MICRO_VERSION 9\n#define PY_VERSION      \t\"3.11.9\"\n"),
            Some("3.11.9")
        );
    }
}
