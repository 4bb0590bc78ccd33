//! Python sources, and what their imports do: facts are the same twice and no larger than their source allows, and every import ends.
//!
//! A line `== NAME` starts the source of another module; the first one is `root`. A name with a trailing slash is a package.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imgcheck_python::ModuleFacts;
use imgcheck_python::run::{Files, Found, Interpreter, Platform, Search, Source};

/// Bytes of facts for one byte of source, at most: `a,b` binds a name with one byte.
const MOST: u64 = 120;

pub fn fuzz(text: &str) {
    let modules = Modules::of(text);
    for release in [(3, 8), (3, 14)] {
        let search = Search {
            path: vec![0],
            is_known: true,
            builtin: BTreeSet::from(["sys".to_owned()]),
            platform: Platform { release },
            most_lookups: 10_000,
            ..Search::default()
        };
        let run = || {
            let mut interpreter = Interpreter::new(&modules, &search);
            (interpreter.import("root"), interpreter.run_module("root"))
        };
        assert_eq!(run(), run());
    }
}

/// Modules by name; files are numbered, and 0 is the directory of all.
struct Modules<'t>(BTreeMap<&'t str, (usize, Arc<ModuleFacts>)>);

impl<'t> Modules<'t> {
    fn of(text: &'t str) -> Self {
        let mut modules = BTreeMap::new();
        for (at, part) in text.split("== ").enumerate() {
            let (name, source) = match at {
                0 => ("root", part),
                _ => part.split_once('\n').unwrap_or((part, "")),
            };
            let (Ok(facts), Ok(again)) = (ModuleFacts::of(source), ModuleFacts::of(source)) else {
                continue;
            };
            assert_eq!(facts, again);
            assert!(facts.memory() <= 1_000 + MOST * source.len() as u64);
            modules.insert(name, (2 * at + 1, Arc::new(facts)));
        }
        Modules(modules)
    }
}

impl Files for Modules<'_> {
    type File = usize;

    fn find(&self, directory: usize, name: &str) -> Option<Found<usize>> {
        let package = self.0.get(format!("{name}/").as_str());
        let package = package.map(|(file, _)| Found::Package(file + 1, Source::Text(*file)));
        let module = self.0.get(name);
        let module = module.map(|(file, _)| Found::Module(Source::Text(*file)));
        // A package has what is beside it, so that packages have packages.
        package.or(module).filter(|_| directory % 2 == 0)
    }

    fn facts(&self, file: usize) -> Option<Arc<ModuleFacts>> {
        let mut modules = self.0.values();
        modules
            .find(|(at, _)| *at == file)
            .map(|(_, it)| it.clone())
    }
}
