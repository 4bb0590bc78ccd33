//! Where a library is looked for, and what is found there (glibc elf/dl-load.c: `_dl_map_object`, `open_path`, `open_verify`).

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::object::{Object, ObjectId, Reason, Source, Tried};
use super::system::{Family, System};
use crate::elf::{ElfFacts, Refusal};
use crate::image::Node;
use crate::layer::Content;

/// DF_1_NODEFLIB: the default directories are not searched for this object.
const NO_DEFAULT_DIRECTORIES: u64 = 0x800;
/// Directories of one list. A DT_RPATH has some dozen; a search that comes to the end of a longer one stops.
pub const DIRECTORIES: usize = 4096;
/// Places that are looked in for one process. PyTorch needs some ten thousand.
const PLACES: usize = 1_000_000;
const CACHE: &str = "/etc/ld.so.cache";

/// What a search ends with.
pub(super) enum Answer<'r> {
    Found(Found<'r>),
    /// A file that the loader takes and then cannot use: its path, and what the loader says.
    Broken(String, String),
    /// The search was given up: why.
    Limit(&'static str),
    Nothing,
}

/// A file that answers.
pub(super) struct Found<'r> {
    pub node: Node<'r>,
    pub elf: &'r ElfFacts,
    pub path: String,
    pub reason: Reason,
}

/// What the loader makes of a file of the right name.
enum Examined<'r> {
    Usable(&'r ElfFacts),
    OtherMachine,
    Broken(String),
}

/// A directory and its subdirectories, in the order in which they are searched.
type Places<'r> = Rc<[(Rc<str>, Node<'r>)]>;

/// The directories of a path list.
#[derive(Clone)]
struct List {
    directories: Rc<[Rc<str>]>,
    /// There were more than [`DIRECTORIES`].
    cut: bool,
}

/// The search of one process: its lists of directories, and what is known of the directories.
pub(super) struct Search<'r> {
    system: &'r System<'r>,
    library_path: List,
    defaults: List,
    /// The DT_RUNPATH or DT_RPATH of objects.
    own: HashMap<ObjectId, List>,
    /// What the cache says of names; a damaged one can be slow to search.
    cached: HashMap<String, Option<&'r str>>,
    /// Places that were looked in so far.
    places: usize,
    cache_name: Rc<str>,
    /// The directories that were met, with their subdirectories for better processors in the order they are searched; none for one
    /// that does not exist.
    known: HashMap<Rc<str>, Places<'r>>,
}

impl<'r> Search<'r> {
    pub fn new(system: &'r System<'r>, program: &str) -> Self {
        let mut search = Search {
            system,
            library_path: List {
                directories: Rc::from([]),
                cut: false,
            },
            defaults: List {
                directories: system
                    .default_directories
                    .iter()
                    .map(|it| it.as_str().into())
                    .collect(),
                cut: false,
            },
            own: HashMap::new(),
            cached: HashMap::new(),
            places: 0,
            cache_name: CACHE.into(),
            known: HashMap::new(),
        };
        let origin = program
            .rsplit_once('/')
            .map_or("/", |(directory, _)| directory);
        if let Some(value) = system.variable("LD_LIBRARY_PATH") {
            search.library_path = search.directories(value, &[':', ';'], origin);
        }
        search
    }

    /// The file that a path leads to.
    pub fn by_path(&self, path: &str) -> Answer<'r> {
        let Ok(node) = self.system.root.resolve(&self.system.absolute(path)) else {
            return Answer::Nothing;
        };
        match self.examine(node) {
            Examined::Usable(elf) => Answer::Found(Found {
                node,
                elf,
                path: path.to_owned(),
                reason: Reason::Path,
            }),
            Examined::OtherMachine => Answer::Nothing,
            Examined::Broken(problem) => Answer::Broken(path.to_owned(), problem),
        }
    }

    /// The file that answers to a name without a slash when an object asks for it, and where it was looked for before.
    pub fn by_name(
        &mut self,
        name: &str,
        objects: &[Object<'r>],
        requester: ObjectId,
    ) -> (Answer<'r>, Vec<Tried>) {
        let mut tried = Vec::new();
        let answer = match self.system.family {
            Family::Glibc => self.glibc(name, objects, requester, &mut tried),
            Family::Musl => self.musl(name, objects, requester, &mut tried),
        };
        (answer.unwrap_or(Answer::Nothing), tried)
    }

    /// Forgets the objects from this one on.
    pub fn forget(&mut self, from: ObjectId) {
        self.own.retain(|id, _| *id < from);
    }

    fn glibc(
        &mut self,
        name: &str,
        objects: &[Object<'r>],
        requester: ObjectId,
        tried: &mut Vec<Tried>,
    ) -> Option<Answer<'r>> {
        let runpath = objects[requester].elf.runpath.as_deref();
        if runpath.is_none() {
            for id in chain(objects, requester) {
                let source = Source::Rpath(objects[id].path.as_str().into());
                let answer = self.in_own(name, objects, id, &source, tried);
                if answer.is_some() {
                    return answer;
                }
            }
        }
        let library_path = self.library_path.clone();
        let answer = self.in_directories(name, &library_path, &Source::LibraryPath, tried);
        if answer.is_some() {
            return answer;
        }
        if runpath.is_some() {
            let source = Source::Runpath(objects[requester].path.as_str().into());
            let answer = self.in_own(name, objects, requester, &source, tried);
            if answer.is_some() {
                return answer;
            }
        }
        let no_defaults = objects[requester].elf.flags_1 & NO_DEFAULT_DIRECTORIES != 0;
        let answer = self.in_cache(name, no_defaults, tried);
        if answer.is_some() || no_defaults {
            return answer;
        }
        let defaults = self.defaults.clone();
        self.in_directories(name, &defaults, &Source::Default, tried)
    }

    /// LD_LIBRARY_PATH comes first, the paths of all who led to the request count, and there is no cache (musl
    /// ldso/dynlink.c, `load_library`).
    fn musl(
        &mut self,
        name: &str,
        objects: &[Object<'r>],
        requester: ObjectId,
        tried: &mut Vec<Tried>,
    ) -> Option<Answer<'r>> {
        let library_path = self.library_path.clone();
        let answer = self.in_directories(name, &library_path, &Source::LibraryPath, tried);
        if answer.is_some() {
            return answer;
        }
        for id in chain(objects, requester) {
            let source = Source::Runpath(objects[id].path.as_str().into());
            let answer = self.in_own(name, objects, id, &source, tried);
            if answer.is_some() {
                return answer;
            }
        }
        let defaults = self.defaults.clone();
        self.in_directories(name, &defaults, &Source::Default, tried)
    }

    /// In the DT_RUNPATH of an object, else in its DT_RPATH.
    fn in_own(
        &mut self,
        name: &str,
        objects: &[Object<'r>],
        id: ObjectId,
        source: &Source,
        tried: &mut Vec<Tried>,
    ) -> Option<Answer<'r>> {
        let list = match self.own.get(&id) {
            Some(list) => list.clone(),
            None => {
                let elf = objects[id].elf;
                let text = elf.runpath.as_deref().or(elf.rpath.as_deref())?;
                let list = self.directories(text, &[':'], objects[id].origin());
                self.own.insert(id, list.clone());
                list
            }
        };
        self.in_directories(name, &list, source, tried)
    }

    fn in_cache(
        &mut self,
        name: &str,
        no_defaults: bool,
        tried: &mut Vec<Tried>,
    ) -> Option<Answer<'r>> {
        let system = self.system;
        let path = match self.cached.get(name) {
            Some(path) => *path,
            None => {
                let path = system.cached(name);
                self.cached.insert(name.to_owned(), path);
                path
            }
        };
        let path = path?.to_owned();
        let in_default = |directory: &String| {
            path.strip_prefix(directory.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        };
        if no_defaults && system.default_directories.iter().any(in_default) {
            return None;
        }
        let node = system.root.resolve(&path).ok();
        let examined = node.map(|node| (node, self.examine(node)));
        let wrong_machine = matches!(examined, Some((_, Examined::OtherMachine)));
        let answer = match examined {
            Some((node, Examined::Usable(elf))) => Some(Answer::Found(Found {
                node,
                elf,
                path,
                reason: Reason::Found(Source::Cache),
            })),
            Some((_, Examined::Broken(problem))) => Some(Answer::Broken(path, problem)),
            Some((_, Examined::OtherMachine)) | None => None,
        };
        if answer.is_none() {
            tried.push(Tried {
                place: self.cache_name.clone(),
                source: Source::Cache,
                wrong_machine,
            });
        }
        answer
    }

    fn in_directories(
        &mut self,
        name: &str,
        list: &List,
        source: &Source,
        tried: &mut Vec<Tried>,
    ) -> Option<Answer<'r>> {
        for directory in list.directories.iter() {
            self.places += 1;
            if self.places > PLACES {
                return Some(Answer::Limit("the search has looked in a million places"));
            }
            let mut wrong_machine = false;
            for (place, node) in self.known(directory).iter() {
                let Some(file) = node.lookup(name) else {
                    continue;
                };
                let path = format!("{place}/{name}");
                match self.examine(file) {
                    Examined::Usable(elf) => {
                        let reason = Reason::Found(source.clone());
                        return Some(Answer::Found(Found {
                            node: file,
                            elf,
                            path,
                            reason,
                        }));
                    }
                    Examined::Broken(problem) => return Some(Answer::Broken(path, problem)),
                    Examined::OtherMachine => wrong_machine = true,
                }
            }
            tried.push(Tried {
                place: directory.clone(),
                source: source.clone(),
                wrong_machine,
            });
        }
        list.cut.then_some(Answer::Limit(
            "the search path has more than 4096 directories",
        ))
    }

    /// What `open_verify` makes of a file.
    fn examine(&self, node: Node<'r>) -> Examined<'r> {
        let broken = |problem: &str| Examined::Broken(problem.to_owned());
        match node.content() {
            Some(Content::Elf(elf))
                if (elf.class, elf.machine) != (self.system.class, self.system.machine) =>
            {
                Examined::OtherMachine
            }
            Some(Content::Elf(elf)) => match elf.refusal.and_then(Refusal::message) {
                None => Examined::Usable(elf),
                Some(problem) => broken(problem),
            },
            Some(Content::BrokenElf { problem, refusal }) => {
                match refusal.and_then(Refusal::message) {
                    Some(message) => broken(message),
                    // It is mapped all the same, and the process dies when it touches what is not there.
                    None => Examined::Broken(format!("Bus error ({problem})")),
                }
            }
            Some(_) => broken(
                Refusal::of_other_file(node.size())
                    .message()
                    .unwrap_or("invalid ELF header"),
            ),
            None if node.is_directory() => broken("cannot read file data: Is a directory"),
            None => broken("cannot read file data"),
        }
    }

    /// The directories of a path list, DSTs replaced. For glibc an empty element is the working directory; musl passes over it,
    /// and knows separators of its own (ldso/dynlink.c, `path_open`).
    fn directories(&self, text: &str, separators: &[char], origin: &str) -> List {
        let musl = self.system.family == Family::Musl;
        let separators = if musl { &[':', '\n'] } else { separators };
        let mut elements = text
            .split(separators)
            .filter(|element| !(musl && element.is_empty()));
        let mut directories: Vec<Rc<str>> = Vec::new();
        let mut known = HashSet::new();
        for element in elements.by_ref().take(DIRECTORIES) {
            // What is longer than a path can be leads nowhere.
            let Some(expanded) = self.system.expand(element, origin) else {
                continue;
            };
            let absolute = self.system.absolute(&expanded);
            let directory: Rc<str> = match absolute.trim_end_matches('/') {
                "" => "/".into(),
                directory => directory.into(),
            };
            if known.insert(Rc::clone(&directory)) {
                directories.push(directory);
            }
        }
        List {
            directories: directories.into(),
            cut: elements.next().is_some(),
        }
    }

    fn known(&mut self, directory: &Rc<str>) -> Places<'r> {
        if let Some(known) = self.known.get(directory) {
            return Rc::clone(known);
        }
        let existing = |path: Rc<str>| {
            let node = self.system.root.resolve(&path).ok()?;
            node.is_directory().then_some((path, node))
        };
        let found: Rc<[_]> = match existing(Rc::clone(directory)) {
            None => Rc::from([]),
            Some(own) => {
                let better = self.system.subdirectories();
                let better = better
                    .iter()
                    .map(|name| format!("{directory}/{name}").into());
                better.filter_map(existing).chain([own.clone()]).collect()
            }
        };
        self.known.insert(Rc::clone(directory), Rc::clone(&found));
        found
    }
}

/// The objects with a DT_RPATH that counts for a requester: its own, that of the one who needs it, and so on, and at last that of
/// the executable.
fn chain<'o>(objects: &'o [Object], requester: ObjectId) -> impl Iterator<Item = ObjectId> + 'o {
    let bearer = |id: ObjectId| objects[id].bearer;
    let above = move |id: &ObjectId| bearer(objects[*id].loader?);
    let mut is_last = false;
    let chain = std::iter::successors(bearer(requester), above);
    chain
        .chain(bearer(0))
        .take_while(move |&id| !std::mem::replace(&mut is_last, id == 0))
}
