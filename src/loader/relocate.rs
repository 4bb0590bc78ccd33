//! Do versions and symbols fit (glibc elf/dl-version.c, elf/dl-lookup.c, elf/dl-reloc.c)?

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::fault::Fault;
use super::object::{Object, ObjectId};
use super::process::Process;
use super::system::Family;
use crate::elf::facts::{Bound, Import};
use crate::elf::{ElfFacts, SymbolRequest};

/// Objects that are asked for symbols, each for each, when some are loaded. PyTorch needs a few million.
const LOOKUPS: usize = 50_000_000;

/// What objects need of versions that the files which answer do not define (`_dl_check_map_versions`). A file that defines no
/// versions at all, and a weak reference, are let pass.
pub(super) fn unmet_versions(process: &Process, new: &[ObjectId]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut definitions: HashMap<*const ElfFacts, HashSet<&str>> = HashMap::new();
    for object in new.iter().map(|&id| &process.objects()[id]) {
        for need in &object.elf.version_needs {
            let Some(provider) = process.named(&need.file) else {
                continue;
            };
            let defined = definitions
                .entry(std::ptr::from_ref(provider.elf))
                .or_insert_with(|| {
                    let names = provider.elf.version_definitions.iter();
                    names.map(String::as_str).collect()
                });
            if defined.is_empty() {
                continue;
            }
            let unmet = need
                .versions
                .iter()
                .filter(|(version, weak)| !weak && !defined.contains(version.as_str()));
            faults.extend(unmet.map(|(version, _)| Fault::Version {
                object: object.path.clone(),
                version: version.clone(),
                provider: provider.path.clone(),
            }));
        }
    }
    faults
}

/// Symbols that nothing in scope defines and whose lookup happens when the objects are loaded, in the order in which glibc
/// relocates: an object after those that it needs.
pub(super) fn undefined_at_load(process: &Process, new: &[ObjectId]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut scope = Scope::new(process);
    for id in dependencies_first(process, new) {
        let object = &process.objects()[id];
        // musl knows no late lookup.
        let all = object.bound || process.system().family == Family::Musl;
        let asked = |bound| bound == Bound::Now || (all && bound == Bound::Lazy);
        scope.undefined(object, asked, false, &mut faults);
    }
    faults
}

/// Symbols that nothing in scope defines, of functions that are looked up when they are first called.
pub(super) fn undefined_calls(process: &Process) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut scope = Scope::new(process);
    for object in process
        .objects()
        .iter()
        .filter(|object| !object.bound && process.system().family == Family::Glibc)
    {
        scope.undefined(object, |bound| bound == Bound::Lazy, true, &mut faults);
    }
    faults
}

/// Looks symbols up. Which object defines one does not matter here, so the one that defined most so far is asked first.
struct Scope<'p, 'r> {
    process: &'p Process<'r>,
    hits: Vec<u32>,
    /// Objects that were asked so far.
    lookups: usize,
    /// [`LOOKUPS`] was reached, and that is told.
    given_up: bool,
}

impl<'p, 'r> Scope<'p, 'r> {
    fn new(process: &'p Process<'r>) -> Self {
        Scope {
            process,
            hits: vec![0; process.objects().len()],
            lookups: 0,
            given_up: false,
        }
    }

    /// Adds the strong symbols of an object that are looked up when `asked` says and that nothing defines; `lazy` is whether that is
    /// when they are called.
    fn undefined(
        &mut self,
        object: &Object<'r>,
        asked: impl Fn(Bound) -> bool,
        lazy: bool,
        faults: &mut Vec<Fault>,
    ) {
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
        let wanted = |import: &&Import| !import.weak && asked(import.bound);
        let mut imports = object.elf.imports.iter().filter(wanted).peekable();
        if imports.peek().is_none() || self.given_up {
            return;
        }
        let host = self.process.system().of_host(&object.elf.needed);
        let mut scope = self.of(object);
        // Sorting them costs as much as some lookups.
        self.lookups += 8 * scope.len();
        for import in imports {
            if self.lookups > LOOKUPS {
                self.given_up = true;
                faults.push(Fault::Limit {
                    name: object.path.clone(),
                    needed_by: None,
                    limit: "the process has too many symbols to look all of them up",
                });
                return;
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
            let provider = version.and_then(|(file, _)| self.process.named(file));
            faults.push(Fault::Symbol {
                object: object.path.clone(),
                symbol: import.name.clone(),
                version: name.map(str::to_owned),
                provider: provider.map(|provider| provider.path.clone()),
                lazy,
            });
        }
    }

    /// The objects that the symbols of one are looked up in, those it needs first.
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
        let mut asked = scope.iter();
        let place = asked.position(|&id| objects[id].elf.exports.answers(request));
        self.lookups += place.unwrap_or(scope.len());
        let Some(place) = place else {
            return false;
        };
        self.hits[scope[place]] += 1;
        scope.swap(place, place / 2);
        true
    }
}

/// An object after all that it needs (elf/dl-sort-maps.c, `_dl_sort_maps_dfs`).
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
