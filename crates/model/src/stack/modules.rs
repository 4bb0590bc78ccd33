//! Which file Python executes for a module of one directory of its search path.

use std::collections::{BTreeMap, HashMap};

use imgcheck_image::{Access, Credentials, Node, RootFilesystem};

/// The modules of some names in the directories that Python searches.
pub(super) struct Modules<'m, 'r> {
    root: &'r RootFilesystem<'r>,
    /// Who runs Python.
    user: &'m Credentials,
    names: Vec<&'m str>,
    /// The found modules, by release of Python and directory.
    found: HashMap<(String, String), BTreeMap<&'m str, Node<'r>>>,
}

impl<'m, 'r> Modules<'m, 'r> {
    pub fn new(
        root: &'r RootFilesystem<'r>,
        user: &'m Credentials,
        names: impl IntoIterator<Item = &'m str>,
    ) -> Self {
        Modules {
            root,
            user,
            names: names.into_iter().collect(),
            found: HashMap::new(),
        }
    }

    /// The file of each module that a directory has, by name.
    pub fn of(&mut self, directory: &str, release: &str) -> &BTreeMap<&'m str, Node<'r>> {
        let key = (release.to_owned(), directory.to_owned());
        self.found.entry(key).or_insert_with(|| {
            let Ok(node) = self.root.resolve_as(directory, self.user) else {
                return BTreeMap::new();
            };
            let names = self.names.iter();
            let files =
                names.filter_map(|name| Some((*name, find(node, name, release, self.user)?)));
            files.collect()
        })
    }
}

/// The file that Python executes for a module of a directory; links are followed. A package counts more than a module, and a directory
/// without `__init__` is a namespace package, which hides nothing (`importlib._bootstrap_external.FileFinder.find_spec`).
pub(super) fn find<'r>(
    directory: Node<'r>,
    module: &str,
    release: &str,
    user: &Credentials,
) -> Option<Node<'r>> {
    let endings = endings(release);
    let is_file = |node: &Node| node.content().is_some();
    let in_directory = |directory: Node<'r>, stem: &str| {
        let mut files = endings.iter();
        files.find_map(|ending| directory.lookup(&format!("{stem}{ending}")).filter(is_file))
    };
    let package = directory.lookup(module).filter(|it| it.is_directory());
    let package = package.filter(|it| it.allows(user, Access::Execute));
    let package = package.and_then(|package| in_directory(package, "__init__"));
    package.or_else(|| in_directory(directory, module))
}

/// The suffixes of modules in the order in which Python tries them (`importlib.machinery.EXTENSION_SUFFIXES`, `SOURCE_SUFFIXES`,
/// `BYTECODE_SUFFIXES`), on the machines and C libraries that CUDA supports.
fn endings(release: &str) -> Vec<String> {
    let digits = release.replace('.', "");
    let machines = ["x86_64-linux-gnu", "aarch64-linux-gnu"];
    let extensions = machines.map(|machine| format!(".cpython-{digits}-{machine}.so"));
    let others = [".abi3.so", ".so", ".py", ".pyc"].map(str::to_owned);
    extensions.into_iter().chain(others).collect()
}
