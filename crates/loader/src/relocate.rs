//! Undefined versions and symbols (glibc elf/dl-version.c, elf/dl-lookup.c, elf/dl-reloc.c).

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::fault::Fault;
use super::object::{Object, ObjectId};
use super::process::Process;
use super::system::Libc;
use imgcheck_base::error::Result;
use imgcheck_base::limits::Limit;
use imgcheck_elf::facts::{Bound, Import, VersionNeed};
use imgcheck_elf::{ElfFacts, SymbolRequest};

/// Lookups between two checks of the limit and the cancellation; they take a few milliseconds.
const CHECK_EVERY: u64 = 100_000;
/// What an undefined symbol counts in lookups, because it is kept.
const UNDEFINED: u64 = 100;

/// The versions that files define.
type Definitions<'p> = HashMap<*const ElfFacts, HashSet<&'p str>>;

/// Required versions that the files which answer do not define.
pub(crate) fn unmet_versions(process: &Process, new: &[ObjectId]) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let mut definitions = Definitions::new();
    for object in new.iter().map(|&id| &process.objects()[id]) {
        for need in &object.elf.version_needs {
            let before = faults.len();
            faults.extend(unmet(process, need, &object.path, &mut definitions));
            let new = (faults.len() - before) as u64;
            process.system().spend(Limit::LoaderFaults, new)?;
        }
    }
    Ok(faults)
}

impl Process<'_> {
    /// The first version that an object at this path, which is not loaded yet, would miss if the files that answer are those that are loaded now.
    pub fn unmet_version(&self, elf: &ElfFacts, path: &str) -> Option<Fault> {
        if self.system().libc != Libc::Glibc {
            return None;
        }
        let mut definitions = Definitions::new();
        let mut needs = elf.version_needs.iter();
        needs.find_map(|need| unmet(self, need, path, &mut definitions).next())
    }
}

/// The versions that an object requires of a file, and that the file does not define (`_dl_check_map_versions`). A file without version
/// definitions satisfies all, and a weak reference is always satisfied.
fn unmet<'p>(
    process: &'p Process,
    need: &'p VersionNeed,
    path: &'p str,
    definitions: &mut Definitions<'p>,
) -> impl Iterator<Item = Fault> {
    let provider = process.named(&need.file).and_then(|provider| {
        let defined = definitions
            .entry(std::ptr::from_ref(provider.elf))
            .or_insert_with(|| {
                let names = provider.elf.version_definitions.iter();
                names.map(String::as_str).collect()
            });
        (!defined.is_empty()).then_some((provider, &*defined))
    });
    provider.into_iter().flat_map(move |(provider, defined)| {
        let versions = need.versions.iter();
        let unmet = versions.filter(|(version, weak)| !weak && !defined.contains(version.as_str()));
        unmet.map(|(version, _)| Fault::Version {
            object: path.to_owned(),
            version: version.clone(),
            provider: provider.path.clone(),
        })
    })
}

/// Undefined symbols of new objects that are bound at load time, in the order in which glibc relocates: dependencies first.
pub(crate) fn undefined_at_load(process: &Process, new: &[ObjectId]) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let mut scope = Scope::new(process);
    for id in dependencies_first(process, new) {
        let object = &process.objects()[id];
        // musl does not bind lazily.
        let all = object.bound || process.system().libc == Libc::Musl;
        let at_load = |bound| bound == Bound::Now || (all && bound == Bound::Lazy);
        scope.undefined(object, at_load, false, &mut faults)?;
    }
    Ok(faults)
}

impl Process<'_> {
    /// Undefined functions of lazily bound objects, which fail when they are first called.
    ///
    /// # Errors
    /// A limit is exceeded, or the request was cancelled.
    pub fn undefined_calls(&self) -> Result<Vec<Fault>> {
        let mut faults = Vec::new();
        let mut scope = Scope::new(self);
        let is_glibc = self.system().libc == Libc::Glibc;
        let objects = self.objects().iter();
        for object in objects.filter(|object| !object.bound && is_glibc) {
            scope.undefined(object, |bound| bound == Bound::Lazy, true, &mut faults)?;
        }
        Ok(faults)
    }
}

/// Looks symbols up. Only whether an object defines a symbol matters, so the one that defined most so far is tried first.
struct Scope<'p, 'r> {
    process: &'p Process<'r>,
    /// How many symbols each object defined so far.
    hits: Vec<u32>,
    /// Objects that were searched for symbols since the last check.
    lookups: u64,
}

impl<'p, 'r> Scope<'p, 'r> {
    fn new(process: &'p Process<'r>) -> Self {
        Scope {
            process,
            hits: vec![0; process.objects().len()],
            lookups: 0,
        }
    }

    /// Adds the undefined strong symbols of an object whose binding `selected` accepts.
    fn undefined(
        &mut self,
        object: &Object<'r>,
        selected: impl Fn(Bound) -> bool,
        lazy: bool,
        faults: &mut Vec<Fault>,
    ) -> Result<()> {
        let versions: Vec<(&str, &str)> = object
            .elf
            .version_needs
            .iter()
            .flat_map(|need| {
                need.versions
                    .iter()
                    .map(|(version, _)| (need.file.as_str(), version.as_str()))
            })
            .collect();
        let is_strong = |import: &Import| !import.weak && selected(import.bound);
        let mut imports = object.elf.imports.iter().filter(is_strong).peekable();
        if imports.peek().is_none() {
            return Ok(());
        }
        let host = self.process.system().host_libraries_of(&object.elf.needed);
        let mut scope = self.of(object);
        // Sorting the scope costs as much as a few lookups.
        self.lookups += 8 * scope.len() as u64;
        for import in imports {
            if self.lookups >= CHECK_EVERY {
                self.check_lookups()?;
            }
            let version = import
                .version
                .and_then(|index| versions.get(usize::from(index)));
            let name = version.map(|(_, version)| *version);
            if self.is_defined(&mut scope, SymbolRequest::new(&import.name, name))
                || host.iter().any(|library| library.defines(&import.name))
            {
                continue;
            }
            self.lookups += UNDEFINED;
            let provider = version.and_then(|(file, _)| self.process.named(file));
            faults.push(Fault::Symbol {
                object: object.path.clone(),
                symbol: import.name.into_owned(),
                version: name.map(str::to_owned),
                provider: provider.map(|provider| provider.path.clone()),
                lazy,
            });
        }
        self.check_lookups()
    }

    fn check_lookups(&mut self) -> Result<()> {
        let system = self.process.system();
        system.budget.bounds.cancellation.check()?;
        system.spend(Limit::LoaderSymbols, std::mem::take(&mut self.lookups))
    }

    /// The scope of an object, the objects that it needs first.
    fn of(&self, object: &Object) -> Vec<ObjectId> {
        let roots = object
            .scopes
            .iter()
            .flat_map(|&root| &self.process.objects()[root].search_list);
        let mut seen = HashSet::new();
        let mut scope: Vec<ObjectId> = self
            .process
            .global_scope()
            .iter()
            .chain(roots)
            .copied()
            .filter(|&id| seen.insert(id))
            .collect();
        let needed: HashSet<&ObjectId> = object.needed.iter().collect();
        scope.sort_by_cached_key(|id| (!needed.contains(id), Reverse(self.hits[*id])));
        scope
    }

    fn is_defined(&mut self, scope: &mut [ObjectId], request: SymbolRequest) -> bool {
        let objects = self.process.objects();
        let mut ids = scope.iter();
        let position = ids.position(|&id| objects[id].elf.exports.answers(request));
        self.lookups += position.unwrap_or(scope.len()) as u64;
        let Some(position) = position else {
            return false;
        };
        self.hits[scope[position]] += 1;
        scope.swap(position, position / 2);
        true
    }
}

/// The order in which objects are relocated: each after those that it needs (elf/dl-sort-maps.c, `_dl_sort_maps_dfs`).
fn dependencies_first(process: &Process, new: &[ObjectId]) -> Vec<ObjectId> {
    let wanted: HashSet<ObjectId> = new.iter().copied().collect();
    let mut visited = HashSet::new();
    let mut order = Vec::with_capacity(new.len());
    for &start in new.iter().rev() {
        let mut path = vec![(start, 0)];
        if !visited.insert(start) {
            continue;
        }
        while let Some((id, next)) = path.last_mut() {
            match process.objects()[*id].needed.get(*next) {
                Some(&dependency) => {
                    *next += 1;
                    if wanted.contains(&dependency) && visited.insert(dependency) {
                        path.push((dependency, 0));
                    }
                }
                None => {
                    order.push(*id);
                    path.pop();
                }
            }
        }
    }
    order
}
