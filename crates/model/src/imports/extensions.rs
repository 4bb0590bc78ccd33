//! The extension modules of the standard library: which of them the interpreter contains, and what lacks one.

use std::collections::BTreeSet;

use imgcheck_image::Node;
use imgcheck_python::run::{Files, Found, Source};

use super::files::ImageFiles;
use super::knowledge::Knowledge;

/// The directory of the extension modules.
const DIRECTORY: &str = "lib-dynload";

/// What a Python has of its extension modules.
#[derive(Default)]
pub(super) struct Extensions {
    /// Modules that the interpreter may contain.
    pub builtin: BTreeSet<String>,
    /// Whether some module of the standard library may lack one.
    pub breaks_library: bool,
    /// Modules of the standard library that certainly need one which is not there or cannot be loaded.
    pub broken: BTreeSet<String>,
}

impl Extensions {
    /// `standard` are the directories of the standard library.
    pub fn of<'r>(
        knowledge: &Knowledge,
        files: &ImageFiles<'_, 'r>,
        standard: &[Node<'r>],
    ) -> Self {
        let mut found = Extensions {
            builtin: knowledge.builtin.clone(),
            ..Extensions::default()
        };
        let Some(loader) = files.loader().filter(|it| it.shows_modules()) else {
            return found;
        };
        if !is_complete(files, standard) {
            return found;
        }
        for name in &knowledge.extensions {
            if loader.contains(name) {
                continue;
            }
            found.builtin.remove(name);
            let file = file_of(files, standard, name);
            if file.is_some_and(|it| loader.unloadable(name, it).is_none()) {
                continue;
            }
            match knowledge.wrapped.get(name) {
                Some(modules) => found.broken.extend(modules.iter().cloned()),
                None => found.breaks_library = true,
            }
        }
        found
    }
}

/// Whether all files of the directory of extension modules are named as this Python looks for them.
fn is_complete<'r>(files: &ImageFiles<'_, 'r>, standard: &[Node<'r>]) -> bool {
    let is_known = |directory: Node<'r>| {
        let names = directory.children().map(|it| it.name());
        let mut names = names.filter(|it| it.ends_with(".so"));
        names.all(|name| {
            let module = name.split('.').next().unwrap_or_default();
            files.find(directory, module).is_some()
        })
    };
    let mut directories = standard
        .iter()
        .filter(|it| it.name() == DIRECTORY)
        .peekable();
    directories.peek().is_some() && directories.all(|it| is_known(*it))
}

/// The file of an extension module.
pub(super) fn file_of<'r>(
    files: &ImageFiles<'_, 'r>,
    standard: &[Node<'r>],
    module: &str,
) -> Option<Node<'r>> {
    let mut found = standard.iter().filter_map(|it| files.find(*it, module));
    match found.next()? {
        Found::Module(Source::Binary(file)) => Some(file),
        _ => None,
    }
}
