//! Directories that change nothing in the search of the loader, because they hold at most libraries of the driver.

use super::host::Presence;
use super::interpreter::Shell;
use super::state::{Contents, State};

const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
/// Directories in which the loader looks for other builds of a library (glibc, `elf/dl-hwcaps.c`).
const HWCAPS: [&str; 5] = ["glibc-hwcaps", "tls", "x86_64", "haswell", "avx512_1"];

impl Shell<'_, '_> {
    /// Where two ways differ only in directories of LD_LIBRARY_PATH that hold no other library than those of the driver, both are the
    /// way without them: libraries of the driver come from the host, whichever directory they are in.
    pub(super) fn forget_driver_directories(&mut self, other: &mut State) {
        let (Some(one), Some(two)) = (library_path(&self.state), library_path(other)) else {
            return;
        };
        let (Some(first), Some(second)) = (self.searched(&one), self.searched(&two)) else {
            return;
        };
        if one == two || first != second {
            return;
        }
        let from_self = one.len() <= two.len();
        let shorter = if from_self { &self.state } else { &*other };
        match shorter.variables.get(LIBRARY_PATH).cloned() {
            Some(variable) => {
                self.state
                    .variables
                    .insert(LIBRARY_PATH.into(), variable.clone());
                other.variables.insert(LIBRARY_PATH.into(), variable);
            }
            None => {
                self.state.variables.remove(LIBRARY_PATH);
                other.variables.remove(LIBRARY_PATH);
            }
        }
    }

    /// The directories of a list that may hold a library; `None` if that is unknown.
    fn searched(&mut self, list: &str) -> Option<Vec<String>> {
        let mut searched = Vec::new();
        // An empty list searches nothing; an empty element stands for the working directory.
        for entry in list.split(':').filter(|_| !list.is_empty()) {
            let path = self.absolute(if entry.is_empty() { "." } else { entry })?;
            if !self.is_of_driver(&path)? {
                searched.push(path);
            }
        }
        Some(searched)
    }

    fn is_of_driver(&mut self, path: &str) -> Option<bool> {
        if self.host.is_of_host(&format!("{path}/")) {
            return Some(true);
        }
        let node = match self.host.file(path) {
            Presence::Exists(node) => node,
            // It may be mounted.
            Presence::Missing => return Some(false),
            Presence::Unknown => return None,
        };
        let mut names = node.children().map(|it| it.name().to_owned());
        let decides = |name: &String| {
            let is_library =
                name.contains(".so") && !self.host.is_of_host(&format!("{path}/{name}"));
            is_library || HWCAPS.contains(&name.as_str())
        };
        Some(!names.any(|name| decides(&name)))
    }
}

/// The value of LD_LIBRARY_PATH, empty if it is not set; `None` if it is unknown.
fn library_path(state: &State) -> Option<String> {
    let contents = state.variables.get(LIBRARY_PATH).map(|it| &it.contents);
    match contents {
        None | Some(None) => Some(String::new()),
        Some(Some(Contents::Text(value))) => value.known().map(str::to_owned),
        Some(Some(Contents::Array(_))) => None,
    }
}
