//! Reads sources on all cores before they are executed one after the other.
//!
//! It follows the imports that are certainly executed, and decides nothing: a source that it does not read is read later,
//! and one that it reads in vain is not used.

use std::collections::HashSet;

use imgcheck_base::parallel;
use imgcheck_image::Node;
use imgcheck_python::Import;
use imgcheck_python::run::{Files, Found, Platform, Search, Source};

use super::files::ImageFiles;

/// A source that is to be read.
struct Waiting<'r> {
    name: String,
    is_package: bool,
    /// It is of the standard library: its names are asked for, and what it imports is not executed.
    is_standard: bool,
    file: Node<'r>,
}

/// Reads what the imports of some modules execute.
pub(super) fn read<'r, 'n>(
    files: &ImageFiles<'_, 'r>,
    search: &Search<Node<'r>>,
    names: impl Iterator<Item = &'n str>,
) {
    let mut prefetch = Prefetch {
        files,
        search,
        seen: HashSet::new(),
        waiting: Vec::new(),
        lookups: 0,
    };
    for name in names {
        prefetch.add(name, false);
    }
    let first = prefetch.unread();
    let reader = files.reader();
    let read = |module: Waiting<'r>| {
        let facts = reader(module.file);
        (module, facts)
    };
    parallel::explore(parallel::cores(), first, read, |(module, facts)| {
        files.keep(module.file, facts);
        prefetch.follow(&module);
        prefetch.unread()
    });
}

struct Prefetch<'p, 's, 'r> {
    files: &'p ImageFiles<'s, 'r>,
    search: &'p Search<Node<'r>>,
    seen: HashSet<String>,
    waiting: Vec<Waiting<'r>>,
    lookups: u64,
}

impl<'r> Prefetch<'_, '_, 'r> {
    /// The sources that have to be read; what the others import is followed.
    fn unread(&mut self) -> Vec<Waiting<'r>> {
        let mut unread = Vec::new();
        while let Some(module) = self.waiting.pop() {
            match self.files.is_unread(module.file) {
                true => unread.push(module),
                false => self.follow(&module),
            }
        }
        unread
    }

    fn follow(&mut self, module: &Waiting<'r>) {
        let facts = self.files.facts(module.file);
        let Some(facts) = facts.filter(|_| !module.is_standard) else {
            return;
        };
        let platform: Platform = self.search.platform;
        for import in facts.executed_imports(platform) {
            let Some(name) = absolute(module, import) else {
                continue;
            };
            self.add(&name, !import.names.is_empty());
            for part in &import.names {
                let is_bound = facts.names.binary_search(part).is_ok();
                if !is_bound && part != "*" {
                    self.add(&format!("{name}.{part}"), false);
                }
            }
        }
    }

    /// Notes a module and the packages that it is in; one of the standard library only if it is asked for names.
    fn add(&mut self, name: &str, is_asked: bool) {
        if self.seen.contains(name) {
            return;
        }
        if self.lookups > self.search.most_lookups {
            return;
        }
        let mut path = self.search.path.clone();
        let (mut start, mut is_standard) = (0, false);
        let ends = name.match_indices('.').map(|(at, _)| at);
        for end in ends.chain([name.len()]) {
            self.lookups += path.len() as u64;
            let found = path.iter().find_map(|directory| {
                let found = self.files.find(*directory, &name[start..end])?;
                Some((*directory, found))
            });
            start = end + 1;
            let Some((directory, found)) = found else {
                return;
            };
            is_standard |= self.search.standard.contains(&directory);
            let is_wanted = !is_standard || is_asked && end == name.len();
            let (source, below) = match found {
                Found::Package(below, source) => (Some(source), vec![below]),
                Found::Module(source) => (Some(source), Vec::new()),
                Found::Directory(below) => (None, vec![below]),
            };
            let is_package = !below.is_empty();
            path = below;
            if let Some(Source::Text(file) | Source::Compiled(_, file)) = source
                && is_wanted
                && self.seen.insert(name[..end].to_owned())
            {
                self.waiting.push(Waiting {
                    name: name[..end].to_owned(),
                    is_package,
                    is_standard,
                    file,
                });
            }
        }
    }
}

/// The name of the module that an import names.
fn absolute(importer: &Waiting, import: &Import) -> Option<String> {
    if import.level == 0 {
        return Some(import.module.clone());
    }
    let mut package = match importer.is_package {
        true => importer.name.as_str(),
        false => importer.name.rsplit_once('.')?.0,
    };
    for _ in 1..import.level {
        package = package.rsplit_once('.')?.0;
    }
    Some(match import.module.is_empty() {
        true => package.to_owned(),
        false => format!("{package}.{}", import.module),
    })
}
