//! The files of the library as modules, and which of them uses which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

use super::Source;

/// One file.
struct Module {
    /// The file.
    file: String,
    code: String,
    /// Modules that it declares.
    children: BTreeSet<String>,
    /// Names that it re-exports, with the path that they lead to. The name of a glob is `*`.
    exports: Vec<(String, Vec<String>)>,
}

/// Modules of a crate by their path: `elf::facts` is `["elf", "facts"]`.
pub struct Modules(BTreeMap<Vec<String>, Module>);

impl Modules {
    /// The modules of one crate.
    pub fn new(package: &str, sources: &[Source]) -> Self {
        let child = Regex::new(r"(?m)^\s*(?:pub(?:\([a-z]+\))? )?mod (\w+);").unwrap();
        let sources = sources.iter().filter(|source| source.package == package);
        let modules = sources.filter_map(|source| {
            let path = module_path(&source.file)?;
            let file = source.path.strip_prefix(super::root()).unwrap();
            let children = child.captures_iter(&source.code);
            let module = Module {
                file: file.to_str().unwrap().to_owned(),
                children: children.map(|found| found[1].to_owned()).collect(),
                exports: uses(&source.code)
                    .into_iter()
                    .filter(|used| used.exported)
                    .map(|used| (used.name, used.path))
                    .collect(),
                code: source.code.clone(),
            };
            Some((path, module))
        });
        Modules(modules.collect())
    }

    /// The files that each file uses.
    pub fn arrows(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let arrows = self.0.iter().map(|(path, module)| {
            let mut targets: BTreeSet<&str> = self
                .references(module)
                .iter()
                .filter_map(|used| self.file_of(path, used, 0))
                .collect();
            targets.remove(module.file.as_str());
            (module.file.as_str(), targets)
        });
        arrows.collect()
    }

    /// The paths that a file names: those that it imports, and those in its code. A re-export counts only if the file itself uses the name.
    fn references(&self, module: &Module) -> Vec<Vec<String>> {
        let not_code =
            Regex::new(r"(?m)^\s*(?:pub(?:\([a-z]+\))? )?use [^;]*;|\bpub\(in [^)]*\)").unwrap();
        let code = not_code.replace_all(&module.code, "");
        let mentions = |name: &str| Regex::new(&format!(r"\b{name}\b")).unwrap().is_match(&code);
        let mut paths: Vec<Vec<String>> = uses(&module.code)
            .into_iter()
            .filter(|used| !used.exported || mentions(&used.name))
            .map(|used| used.path)
            .collect();
        let path = Regex::new(r"(?:^|[^\w:])((?:\w+::)+\w+)").unwrap();
        for found in path.captures_iter(&code) {
            let path: Vec<String> = found[1].split("::").map(str::to_owned).collect();
            let first = path[0].as_str();
            if ["crate", "super"].contains(&first) || module.children.contains(first) {
                paths.push(path);
            }
        }
        paths
    }

    /// The file that defines what a path names, as the module at `from` writes it.
    fn file_of(&self, from: &[String], used: &[String], depth: usize) -> Option<&str> {
        let mut at = from.to_vec();
        let mut rest = used;
        while let [first, others @ ..] = rest {
            match first.as_str() {
                "crate" => at.clear(),
                "super" => drop(at.pop()?),
                "self" => {}
                _ => {
                    at.push(first.clone());
                    if !self.0.contains_key(&at) {
                        at.pop();
                        break;
                    }
                }
            }
            rest = others;
        }
        let module = self.0.get(&at)?;
        let [name, ..] = rest else {
            return Some(&module.file);
        };
        if at == from && rest.len() == used.len() {
            return None; // an item of another crate
        }
        if depth < 8 && !defines(&module.code, name) {
            let exports = module.exports.iter();
            let mut named = exports.filter(|(exported, _)| exported == name || exported == "*");
            let target = named.find_map(|(_, path)| {
                let path: Vec<String> = match path.split_last() {
                    Some((last, front)) if last == "*" => {
                        front.iter().chain([name]).cloned().collect()
                    }
                    _ => path.clone(),
                };
                self.file_of(&at, &path, depth + 1)
            });
            if target.is_some() {
                return target;
            }
        }
        Some(&module.file)
    }
}

/// The groups of files that use each other in a circle: strongly connected components of more than one file.
pub fn circles<'m>(arrows: &BTreeMap<&'m str, BTreeSet<&'m str>>) -> Vec<BTreeSet<&'m str>> {
    let reached = |start: &'m str| {
        let (mut seen, mut pending) = (BTreeSet::new(), vec![start]);
        while let Some(file) = pending.pop() {
            let new = arrows[file].iter().filter(|target| seen.insert(**target));
            pending.extend(new.collect::<Vec<_>>());
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|file| (*file, reached(file))).collect();
    let groups: BTreeSet<BTreeSet<&str>> = arrows
        .keys()
        .filter(|file| reached[*file].contains(*file))
        .map(|file| {
            let mutual = reached[file]
                .iter()
                .filter(|it| reached[*it].contains(file));
            mutual.copied().collect()
        })
        .collect();
    groups.into_iter().collect()
}

/// `elf/facts.rs` is `["elf", "facts"]`, and the root of a crate has no names; `None` for that of a program beside a library.
fn module_path(file: &Path) -> Option<Vec<String>> {
    let text = file.to_str().unwrap().trim_end_matches(".rs");
    let text = text.strip_suffix("/mod").unwrap_or(text);
    match text {
        "main" => None,
        "lib" => Some(Vec::new()),
        _ => Some(text.split('/').map(str::to_owned).collect()),
    }
}

fn defines(code: &str, name: &str) -> bool {
    let word = r"(?:struct|enum|fn|trait|type|const|static|union|macro_rules!|mod)";
    Regex::new(&format!(r"\b{word} {name}\b"))
        .unwrap()
        .is_match(code)
}

/// A name that a `use` brings into scope.
struct Used {
    exported: bool,
    name: String,
    path: Vec<String>,
}

fn uses(code: &str) -> Vec<Used> {
    let statement = Regex::new(r"(?m)^\s*(pub(?:\([a-z]+\))? )?use ([^;]*);").unwrap();
    let mut names = Vec::new();
    for found in statement.captures_iter(code) {
        let exported = found.get(1).is_some();
        for path in expand(&found[2].split_whitespace().collect::<Vec<_>>().join(" ")) {
            let (path, alias) = path.split_once(" as ").unwrap_or((&path, ""));
            let mut path: Vec<String> = path.split("::").map(|it| it.trim().to_owned()).collect();
            if path.len() > 1 && path.last().is_some_and(|it| it == "self") {
                path.pop();
            }
            let name = if alias.is_empty() {
                path.last().unwrap().clone()
            } else {
                alias.trim().to_owned()
            };
            names.push(Used {
                exported,
                name,
                path,
            });
        }
    }
    names
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`.
fn expand(tree: &str) -> Vec<String> {
    let Some((front, rest)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let inside = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, character) in inside.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .flat_map(expand)
        .map(|part| format!("{}{part}", front.trim()))
        .collect()
}
