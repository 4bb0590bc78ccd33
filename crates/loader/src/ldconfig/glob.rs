//! File name patterns of `include` lines (`glob(3)` without flags).

use globset::{GlobBuilder, GlobMatcher};

use imgcheck_image::RootFilesystem;

/// Limit on the number of names compared for all patterns together. A real image needs a few dozen.
const MAX_NAMES: usize = 1 << 16;
/// The cost of compiling a pattern, in names.
const PATTERN: usize = 64;
/// Longest pattern, in bytes: that of a path on Linux.
const PATH_MAX: usize = 4096;

/// Expands patterns in one image.
pub(super) struct Glob<'r> {
    root: &'r RootFilesystem<'r>,
    /// How many more names may be compared.
    left: usize,
}

impl<'r> Glob<'r> {
    pub fn new(root: &'r RootFilesystem<'r>) -> Self {
        Glob {
            root,
            left: MAX_NAMES,
        }
    }

    /// The existing paths that match an absolute pattern, sorted by bytes; `None` if the limit is exceeded.
    pub fn expand(&mut self, pattern: &str) -> Option<Vec<String>> {
        if pattern.len() >= PATH_MAX {
            return None;
        }
        let mut paths = vec![String::new()];
        for component in pattern.split('/').filter(|component| !component.is_empty()) {
            paths = match component.contains(['*', '?', '[', '\\']) {
                true => self.matching(&paths, component)?,
                false => paths
                    .into_iter()
                    .map(|path| format!("{path}/{component}"))
                    .collect(),
            };
        }
        paths.retain(|path| self.root.resolve(path).is_ok());
        Some(paths)
    }

    /// The entries of the directories that match one component of a pattern.
    fn matching(&mut self, directories: &[String], component: &str) -> Option<Vec<String>> {
        self.left = self.left.checked_sub(PATTERN)?;
        let mut found = Vec::new();
        let Some(matcher) = matcher(component) else {
            return Some(found);
        };
        for directory in directories {
            for child in self.root.read_dir(directory) {
                self.left = self.left.checked_sub(1)?;
                let name = child.name();
                let hidden = name.starts_with('.') && !component.starts_with('.');
                if !hidden && matcher.is_match(name) {
                    found.push(format!("{directory}/{name}"));
                }
            }
        }
        Some(found)
    }
}

/// A pattern of one component. Brace alternatives, which the crate supports, are disabled. `None` for an invalid pattern.
fn matcher(component: &str) -> Option<GlobMatcher> {
    let pattern = component.replace('{', "[{]").replace('}', "[}]");
    let glob = GlobBuilder::new(&pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    Some(glob.ok()?.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;
    use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};

    fn image(paths: &[&str]) -> LayerFacts {
        let entry = |path: &&str| Entry {
            path: (*path).to_owned(),
            kind: EntryKind::File(Content::Unread),
            size: 0,
            mode: 0o644,
            owner: Default::default(),
        };
        LayerFacts {
            entries: paths.iter().map(entry).collect(),
        }
    }

    #[test]
    fn patterns_match_names_of_one_directory() {
        let layer = image(&[
            "etc/d/b.conf",
            "etc/d/a.conf",
            "etc/d/.c.conf",
            "etc/d/x/y.conf",
        ]);
        let root = RootFilesystem::merge([&layer]);
        let expand = |pattern| Glob::new(&root).expand(pattern).unwrap_or_default();
        assert_eq!(expand("/etc/d/*.conf"), ["/etc/d/a.conf", "/etc/d/b.conf"]);
        assert_eq!(expand("/etc/d/[!a].conf"), ["/etc/d/b.conf"]);
        assert_eq!(expand("/etc//*/?/y.conf"), ["/etc/d/x/y.conf"]);
        assert_eq!(expand("/etc/d/.*.conf"), ["/etc/d/.c.conf"]);
        assert_eq!(expand("/etc/d/{a,b}.conf"), Vec::<String>::new());
        assert_eq!(expand("/etc/d/[.conf"), Vec::<String>::new());
        assert_eq!(expand("/etc/d/none"), Vec::<String>::new());
    }

    #[test]
    fn many_patterns_on_a_large_directory_end() {
        let names: Vec<String> = (0..1000).map(|at| format!("etc/d/{at}")).collect();
        let layer = image(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let root = RootFilesystem::merge([&layer]);
        let mut glob = Glob::new(&root);
        let done = (0..2000).take_while(|_| glob.expand("/etc/d/*x").is_some());
        assert_eq!(done.count(), MAX_NAMES / (1000 + PATTERN));
    }
}
