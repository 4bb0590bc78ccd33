//! The native modules of Python distributions, by their RECORD.

use std::collections::HashSet;

use crate::stack::Distribution;
use imgcheck_elf::{ElfFacts, SymbolRequest};
use imgcheck_image::Node;

use super::record::Records;

/// A shared object that a Python distribution loads by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeModule {
    /// The file.
    pub path: String,
    /// The distribution.
    pub distribution: String,
    /// The directory of Python's search path that contains it.
    pub site: String,
    /// PyTorch opens it for its operators, so nothing does without PyTorch.
    pub is_for_torch: bool,
}

impl NativeModule {
    /// Whether Python of a release (`3.11`) imports it, by its suffix (`importlib.machinery.EXTENSION_SUFFIXES`).
    pub fn is_for(&self, release: &str) -> bool {
        let tag = format!(".cpython-{}-", release.replace('.', ""));
        !self.path.contains(".cpython-") || self.path.contains(&tag)
    }
}

impl Records<'_> {
    /// The modules of all distributions: libraries that PyTorch opens for their operators, and extension modules; without any of
    /// these, the only library that nothing else of the distribution needs, which Python code opens by its path.
    pub fn native_modules(&self, distributions: &[Distribution]) -> Vec<NativeModule> {
        let mut modules = Vec::new();
        for (number, distribution) in distributions.iter().enumerate() {
            let libraries: Vec<(Node, &ElfFacts)> = self.libraries(number).collect();
            modules.extend(of_distribution(&libraries).map(|(node, elf)| NativeModule {
                is_for_torch: is_for_torch(&(node, elf)),
                path: node.path(),
                distribution: distribution.name.clone(),
                site: distribution.site.clone(),
            }));
        }
        modules
    }
}

fn of_distribution<'r>(
    libraries: &[(Node<'r>, &'r ElfFacts)],
) -> impl Iterator<Item = (Node<'r>, &'r ElfFacts)> {
    let has_extensions = libraries.iter().any(is_extension);
    let needed = libraries.iter().flat_map(|(_, elf)| &elf.needed);
    let needed: HashSet<&str> = needed.map(String::as_str).collect();
    let is_root = |(node, elf): &(Node, &ElfFacts)| {
        let soname = elf.soname.as_deref().unwrap_or(node.name());
        !needed.contains(soname) && !needed.contains(node.name())
    };
    let roots = libraries.iter().filter(|it| is_root(it)).count();
    let others = libraries.iter().filter(|it| match has_extensions {
        true => is_extension(it),
        false => !is_for_torch(it) && roots == 1 && is_root(it),
    });
    // Extension modules may need the libraries that are opened before.
    let opened = libraries.iter().filter(|it| is_for_torch(it));
    let selected: Vec<(Node, &ElfFacts)> = opened.chain(others).copied().collect();
    selected.into_iter()
}

/// Whether Python can import a file: it exports the function that initializes the module (Python/importdl.c).
fn is_extension((node, elf): &(Node, &ElfFacts)) -> bool {
    let name = node.name();
    let module = name.split('.').next().unwrap_or_default();
    let function = format!("PyInit_{module}");
    name.ends_with(".so") && elf.exports.answers(SymbolRequest::new(&function, None))
}

fn is_for_torch(library: &(Node, &ElfFacts)) -> bool {
    let of_torch = |name: &String| name.starts_with("libtorch") || name.starts_with("libc10");
    !is_extension(library) && library.1.needed.iter().any(of_torch)
}
