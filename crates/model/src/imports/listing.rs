//! The modules of a directory.

use std::collections::HashMap;

use imgcheck_image::{Access, Credentials, Node};
use imgcheck_python::run::{Found, Source};

/// The modules of a directory by name, links followed.
pub(super) struct Listing<'r>(HashMap<&'r str, Candidate<'r>>);

/// What a directory has for one name.
#[derive(Default)]
struct Candidate<'r> {
    directory: Option<Node<'r>>,
    /// With the place of its ending in the order in which Python tries them.
    file: Option<(usize, Node<'r>)>,
    source: Option<Node<'r>>,
}

impl<'r> Candidate<'r> {
    fn source(&self) -> Option<Source<Node<'r>>> {
        let (_, file) = self.file?;
        Some(match self.source {
            Some(source) if source == file => Source::Text(file),
            // Bytecode counts less than a source, so this is an extension module.
            Some(source) => Source::Compiled(file, source),
            None => Source::Binary(file),
        })
    }
}

const INIT: &str = "__init__";

/// The ending of a source.
const SOURCE: &str = ".py";

impl<'r> Listing<'r> {
    /// `user` is who runs Python, of this release.
    pub fn of(directory: Node<'r>, release: &str, user: &Credentials) -> Self {
        let endings = endings(release);
        let mut modules: HashMap<&str, Candidate> = HashMap::new();
        // Python finds nothing where the user may not look, and says nothing of it (`FileFinder._fill_cache`).
        let is_open = [Access::Read, Access::Execute]
            .iter()
            .all(|it| directory.allows(user, *it));
        for child in directory.children().filter(|_| is_open) {
            let name = child.name();
            let target = match child.symlink_target() {
                Some(_) => directory.lookup(name),
                None => Some(child),
            };
            let Some(target) = target else {
                continue;
            };
            if target.is_directory() {
                modules.entry(name).or_default().directory = Some(target);
                continue;
            }
            let mut ranked = endings.iter().enumerate();
            let ending =
                ranked.find_map(|(rank, it)| Some((rank, name.strip_suffix(it.as_str())?)));
            let Some((rank, stem)) = ending.filter(|_| target.content().is_some()) else {
                continue;
            };
            let candidate = modules.entry(stem).or_default();
            if name.ends_with(SOURCE) {
                candidate.source = Some(target);
            }
            if candidate.file.is_none_or(|(before, _)| rank < before) {
                candidate.file = Some((rank, target));
            }
        }
        Listing(modules)
    }

    fn file(&self, name: &str) -> Option<Source<Node<'r>>> {
        self.0.get(name)?.source()
    }

    /// What Python finds for a name; `of` has the listing of a directory. A package counts more than a module, and a directory without
    /// `__init__` less (`importlib._bootstrap_external.FileFinder.find_spec`).
    pub fn find(
        &self,
        name: &str,
        of: impl Fn(Node<'r>) -> Option<Source<Node<'r>>>,
    ) -> Option<Found<Node<'r>>> {
        let candidate = self.0.get(name)?;
        let package = candidate.directory.and_then(|it| Some((it, of(it)?)));
        let package = package.map(|(directory, init)| Found::Package(directory, init));
        let module = || candidate.source().map(Found::Module);
        let directory = || candidate.directory.map(Found::Directory);
        package.or_else(module).or_else(directory)
    }

    /// The names of its modules.
    pub fn names(&self) -> impl Iterator<Item = &'r str> {
        self.0.keys().copied()
    }

    /// Its `__init__`.
    pub fn init(&self) -> Option<Source<Node<'r>>> {
        self.file(INIT)
    }
}

/// The endings of modules in the order in which Python tries them (`importlib.machinery.EXTENSION_SUFFIXES`, `SOURCE_SUFFIXES`,
/// `BYTECODE_SUFFIXES`), on the machines that CUDA supports.
fn endings(release: &str) -> Vec<String> {
    let digits = release.replace('.', "");
    let tuples = [
        "x86_64-linux-gnu",
        "aarch64-linux-gnu",
        "x86_64-linux-musl",
        "aarch64-linux-musl",
    ];
    let tagged = tuples.map(|tuple| format!(".cpython-{digits}-{tuple}.so"));
    let others = [".abi3.so", ".so", ".py", ".pyc"].map(str::to_owned);
    tagged.into_iter().chain(others).collect()
}
