//! One Python whose imports are played: its files, its loader, and where it finds modules.

use std::collections::HashMap;
use std::rc::Rc;

use imgcheck_base::error::Result;
use imgcheck_base::limits::Limit;
use imgcheck_image::Node;
use imgcheck_loader::{ProcessBudget, System};
use imgcheck_python::run::{Platform, Search};

use super::extensions::{Extensions, file_of};
use super::files::ImageFiles;
use super::loader::PythonLoader;
use super::pythons::Pythons;
use crate::process;
use crate::stack::Environment;

/// Modules with a source that a standard library has at least if its distribution installs all but optional parts, such as tkinter: Ubuntu's
/// Python 3.12 has 186 of the table, Debian's 3.11 has 194, and `libpython3.11-minimal` alone 88.
const WHOLE_LIBRARY: usize = 140;

/// The file by which Python knows its library.
const LANDMARK: &str = "os.py";

/// The loaders of the interpreters, by path.
pub(super) struct Systems<'e, 'r>(HashMap<&'e str, Rc<System<'r>>>);

impl<'e, 'r> Systems<'e, 'r> {
    pub fn of(pythons: &Pythons<'e, 'r>) -> Self {
        let environments = pythons.environments.iter();
        let all = environments.flat_map(|it| std::iter::once(it).chain(it.launcher.as_deref()));
        Systems(process::systems_of(
            pythons.root,
            pythons.launch,
            pythons.processes,
            &ProcessBudget::from(pythons.bounds.clone()),
            all.map(|it| it.interpreter.as_str()),
        ))
    }
}

/// The Python of an environment.
pub(super) struct Python<'e, 's, 'r> {
    pub environment: &'e Environment,
    pub files: ImageFiles<'s, 'r>,
    pub search: Search<Node<'r>>,
}

impl<'e, 's, 'r> Python<'e, 's, 'r> {
    /// `None` if its library is not there.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn of(
        pythons: &Pythons<'_, 'r>,
        environment: &'e Environment,
        systems: &'s Systems<'_, 'r>,
        files: &ImageFiles<'s, 'r>,
    ) -> Result<Option<Self>> {
        let files = files.for_release(&environment.release);
        let standard = nodes(pythons, &environment.standard_library);
        let interpreter = environment.interpreter.as_str();
        let mut loader = match systems.0.get(interpreter) {
            Some(system) => {
                let described = pythons.processes.modules();
                PythonLoader::start(system, interpreter, &environment.sites, described)?
            }
            None => None,
        };
        if let Some(loader) = &mut loader {
            loader.ctypes = file_of(&files, &standard, "_ctypes").map(Node::path);
        }
        let files = files.with_loader(loader.map(Rc::new));
        let search = search(pythons, environment, &files, standard);
        Ok(search.map(|search| Python {
            environment,
            files,
            search,
        }))
    }

    /// Whether its loader could do all that it was asked for.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn check(&self) -> Result<()> {
        let loader = self.files.loader();
        loader
            .and_then(PythonLoader::take_error)
            .map_or(Ok(()), Err)
    }
}

fn nodes<'r>(pythons: &Pythons<'_, 'r>, paths: &[String]) -> Vec<Node<'r>> {
    let found = paths.iter();
    let found = found.filter_map(|it| pythons.root.resolve_as(it, pythons.user()).ok());
    found.collect()
}

/// How an environment finds modules; `standard` are the directories of its library.
fn search<'r>(
    pythons: &Pythons<'_, 'r>,
    environment: &Environment,
    files: &ImageFiles<'_, 'r>,
    standard: Vec<Node<'r>>,
) -> Option<Search<Node<'r>>> {
    let (major, minor) = environment.release.split_once('.')?;
    let release = (major.parse().ok()?, minor.parse().ok()?);
    let (before, after) = environment.sites.split_at(environment.before_standard);
    // The landmark of `getpath.py`. An archive with the library is not read.
    standard.iter().find(|it| it.lookup(LANDMARK).is_some())?;
    let path = [
        nodes(pythons, before),
        standard.clone(),
        nodes(pythons, after),
    ]
    .concat();
    let knowledge = pythons.knowledge;
    let extensions = Extensions::of(knowledge, files, &standard);
    let versions = pythons.versions(environment);
    Some(Search {
        path,
        is_standard_whole: is_standard_whole(pythons, &standard),
        standard,
        is_known: environment.gaps.is_empty() && !has_finder(pythons, environment),
        builtin: extensions.builtin,
        follows_standard: extensions.breaks_library,
        followed: extensions.broken,
        optional: knowledge.optional(release),
        frozen: knowledge.frozen.clone(),
        finders: knowledge.finders(),
        brought: knowledge.brought(),
        native: knowledge.native(),
        hidden: knowledge.hidden(versions.as_ref()),
        restoring: knowledge.restoring(versions.as_ref()),
        platform: Platform { release },
        most_lookups: pythons.bounds.limits.of(Limit::PythonLookups),
    })
}

/// Whether directories have about all modules of the standard library, and no archive may have the others.
fn is_standard_whole(pythons: &Pythons, directories: &[Node]) -> bool {
    let is_there = |name: &str| {
        let names = [name.to_owned(), format!("{name}.py")];
        let mut directories = directories.iter();
        directories.any(|it| names.iter().any(|name| it.lookup(name).is_some()))
    };
    directories.iter().all(|it| it.is_directory())
        && pythons.knowledge.count_standard(is_there) >= WHOLE_LIBRARY
}

/// Whether an editable install brings modules to an environment.
fn has_finder(pythons: &Pythons, environment: &Environment) -> bool {
    let mut sites = environment.sites.iter();
    sites.any(|site| {
        let site = pythons.root.resolve_as(site, pythons.user());
        site.is_ok_and(|it| it.children().any(|file| is_finder(file.name())))
    })
}

/// Whether a file is the finder of an editable install, which finds modules in any directory (`setuptools/command/editable_wheel.py`).
fn is_finder(name: &str) -> bool {
    name.starts_with("__editable__") && name.ends_with("_finder.py")
}
