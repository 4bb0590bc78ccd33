//! Where the image's program finds a library, according to the loader model.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use super::inventory::Inventory;
use super::torch::TorchCopy;
use imgcheck_base::error::Result;
use imgcheck_base::lexical::directory_of;
use imgcheck_image::Node;
use imgcheck_launch::Launch;
use imgcheck_loader::abi::Abi;
use imgcheck_loader::hwcaps::GlibcVersion;
use imgcheck_loader::{Lookup, ObjectId, ProcessBudget, System, ldconfig};

/// How a copy is found, best first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FoundIn {
    /// In a directory that Python imports from, at this position.
    Site(usize),
    /// By the loader: position of the requester, and number of directories that are searched first.
    Loader(usize, usize),
    /// By the loader after `ldconfig`, which NVIDIA's container toolkit runs when it starts a container.
    AfterLdconfig,
    /// Only in a directory that Python imports from, at this position: a package opens it by its path.
    Package(usize),
    /// Not found.
    #[default]
    Nowhere,
}

/// The loader of the main program: that of the process's Python interpreter, otherwise of the launched executable, otherwise of a plain
/// program for the machine of most libraries.
pub(super) fn program_system<'r>(
    inventory: &Inventory<'r>,
    launch: &Launch,
    interpreter: Option<&str>,
    budget: &ProcessBudget,
) -> Option<System<'r>> {
    let root = inventory.root;
    let (environment, directory) = (&launch.environment, &launch.working_directory);
    let mut programs = interpreter.into_iter().chain(launch.executable.as_deref());
    let of_program = programs.find_map(|path| {
        let elf = root.resolve(path).ok().and_then(Node::elf)?;
        System::of(root, elf, environment.clone(), directory)
    });
    let mut machines: BTreeMap<(u16, u8), usize> = BTreeMap::new();
    for file in &inventory.elf {
        *machines
            .entry((file.facts.machine, file.facts.class))
            .or_default() += 1;
    }
    let mut system = of_program.or_else(|| {
        let (machine, _) = machines.into_iter().max_by_key(|(_, count)| *count)?;
        System::of_machine(root, machine, environment.clone(), directory)
    })?;
    system.budget = budget.clone();
    "the library search".clone_into(&mut system.subject);
    Some(system)
}

/// Looks up libraries by name and caches the results.
pub(super) struct LibrarySearch<'s> {
    lookup: Option<Lookup<'s>>,
    system: Option<&'s System<'s>>,
    /// PyTorch's libraries, followed by the program.
    requesters: Vec<ObjectId>,
    /// The libraries of PyTorch that need a name.
    needed: HashMap<&'s str, Vec<ObjectId>>,
    /// The directory in which each name is found, and how.
    found: HashMap<String, Option<(String, FoundIn)>>,
    after_ldconfig: OnceCell<HashMap<String, String>>,
}

impl<'s> LibrarySearch<'s> {
    pub fn new<'r: 's>(
        inventory: &'s Inventory<'r>,
        system: Option<&'s System<'s>>,
        interpreter: Option<&str>,
        torch: Option<&TorchCopy<'s, 'r>>,
    ) -> Self {
        let program = interpreter.and_then(|path| inventory.root.resolve(path).ok());
        let program = program.filter(|node| node.elf().is_some());
        let mut lookup = system.map(|system| Lookup::new(system, program));
        let mut requesters = Vec::new();
        let mut needed: HashMap<&str, Vec<ObjectId>> = HashMap::new();
        if let Some(lookup) = &mut lookup {
            for file in torch.into_iter().flat_map(|torch| &torch.libraries) {
                let id = lookup.add(file.node, file.facts);
                requesters.push(id);
                for name in &file.facts.needed {
                    needed.entry(name).or_default().push(id);
                }
            }
            requesters.push(Lookup::PROGRAM);
        }
        LibrarySearch {
            lookup,
            system,
            requesters,
            needed,
            found: HashMap::new(),
            after_ldconfig: OnceCell::new(),
        }
    }

    /// Whether a library of PyTorch needs this name.
    pub fn torch_needs(&self, name: &str) -> bool {
        self.needed.contains_key(name)
    }

    /// The best way in which a file with one of the names is found in this directory.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn find_in_directory(&mut self, names: &[&str], directory: &str) -> Result<FoundIn> {
        let mut best = FoundIn::Nowhere;
        for name in names {
            if let Some((found, place)) = self.find(name)?
                && found == directory
            {
                best = best.min(place);
            }
        }
        if best == FoundIn::Nowhere {
            let answers = self.after_ldconfig();
            let is_answer = |name: &&str| answers.get(*name).is_some_and(|it| it == directory);
            if names.iter().any(is_answer) {
                best = FoundIn::AfterLdconfig;
            }
        }
        Ok(best)
    }

    /// The directory in which the loader finds a name: for the libraries of PyTorch that need it, otherwise for any of them, otherwise for
    /// the program.
    fn find(&mut self, name: &str) -> Result<Option<(String, FoundIn)>> {
        if let Some(known) = self.found.get(name) {
            return Ok(known.clone());
        }
        let needing = self.needed.get(name).map_or(&[][..], Vec::as_slice);
        let mut found = None;
        if let Some(lookup) = &mut self.lookup {
            for (position, id) in needing.iter().chain(&self.requesters).enumerate() {
                if let Some(file) = lookup.find(name, *id)? {
                    let place = FoundIn::Loader(position, file.position);
                    found = Some((directory_of(&file.node.path()).to_owned(), place));
                    break;
                }
            }
        }
        self.found.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// The directory in which the loader would find each name after `ldconfig`.
    fn after_ldconfig(&self) -> &HashMap<String, String> {
        self.after_ldconfig.get_or_init(|| {
            let mut directories = HashMap::new();
            let Some(system) = self.system else {
                return directories;
            };
            let Some(abi) = Abi::of(system.machine, system.class) else {
                return directories;
            };
            let glibc = system.glibc.unwrap_or(GlibcVersion::ASSUMED);
            let rebuilt = ldconfig::rebuild(system.root, abi, glibc);
            for (entry, file) in rebuilt.cache.entries.into_iter().zip(rebuilt.files) {
                let directory = directory_of(&file.path()).to_owned();
                directories.entry(entry.name).or_insert(directory);
            }
            directories
        })
    }
}
