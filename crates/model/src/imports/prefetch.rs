//! Reads sources on all cores before they are executed one after the other.
//!
//! It follows the imports that are certainly executed, level by level, and decides nothing: a source that it does not read is read later,
//! and one that it reads in vain is not used.

use std::collections::HashSet;
use std::convert::Infallible;

use imgcheck_base::parallel;
use imgcheck_image::Node;
use imgcheck_python::run::{Files, Found, Platform, Search, Source};
use imgcheck_python::{Import, ModuleFacts};

use super::files::ImageFiles;

/// Levels of imports that are followed.
const MOST_LEVELS: usize = 64;

/// A source that is to be read.
struct Waiting<'r> {
    name: String,
    is_package: bool,
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
        prefetch.add(name);
    }
    for _ in 0..MOST_LEVELS {
        let level = std::mem::take(&mut prefetch.waiting);
        if level.is_empty() {
            break;
        }
        prefetch.level(level);
    }
}

struct Prefetch<'p, 's, 'r> {
    files: &'p ImageFiles<'s, 'r>,
    search: &'p Search<Node<'r>>,
    seen: HashSet<String>,
    waiting: Vec<Waiting<'r>>,
    lookups: u64,
}

impl<'r> Prefetch<'_, '_, 'r> {
    fn level(&mut self, level: Vec<Waiting<'r>>) {
        let reader = self.files.reader();
        let sources = level.iter().map(|it| it.file);
        let unread: Vec<Node> = sources.filter(|it| self.files.is_unread(*it)).collect();
        let read = parallel::map(parallel::cores(), unread.len(), |at| {
            Ok::<_, Infallible>(reader(unread[at]))
        });
        let Ok(read) = read;
        self.files.keep(unread.into_iter().zip(read));
        for module in level {
            if let Some(facts) = self.files.facts(module.file) {
                self.follow(&module, &facts);
            }
        }
    }

    fn follow(&mut self, module: &Waiting, facts: &ModuleFacts) {
        let platform: Platform = self.search.platform;
        for import in facts.executed_imports(platform) {
            let Some(name) = absolute(module, import) else {
                continue;
            };
            self.add(&name);
            for part in &import.names {
                let is_bound = facts.names.iter().any(|it| it == part);
                if !is_bound && part != "*" {
                    self.add(&format!("{name}.{part}"));
                }
            }
        }
    }

    /// Notes a module and the packages that it is in.
    fn add(&mut self, name: &str) {
        if self.seen.contains(name) {
            return;
        }
        if self.lookups > self.search.most_lookups {
            return;
        }
        let mut path = self.search.path.clone();
        let mut start = 0;
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
            // What the standard library imports is not executed.
            if self.search.standard.contains(&directory) {
                return;
            }
            let (source, below) = match found {
                Found::Package(below, source) => (Some(source), vec![below]),
                Found::Module(source) => (Some(source), Vec::new()),
                Found::Directory(below) => (None, vec![below]),
            };
            let is_package = !below.is_empty();
            path = below;
            if let Some(Source::Text(file) | Source::Compiled(_, file)) = source
                && self.seen.insert(name[..end].to_owned())
            {
                self.waiting.push(Waiting {
                    name: name[..end].to_owned(),
                    is_package,
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
