//! Finds the directory of a search path that contains a file.

use std::collections::HashMap;

/// Directories in search order, stored as a tree of names. A lookup takes time proportional to the length of the path, not to the
/// number of directories: the image controls both the number of directories and the number of lookups.
#[derive(Debug, Clone)]
pub struct Sites {
    /// The first node is the root of the tree.
    nodes: Vec<Directory>,
    /// The number of directories that were added.
    length: usize,
}

#[derive(Debug, Clone, Default)]
struct Directory {
    /// Its first position in the search order.
    place: Option<usize>,
    inside: HashMap<String, usize>,
}

/// The search directory that contains a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inside<'p> {
    /// Position of the directory among all that were added.
    pub place: usize,
    /// The directory.
    pub site: &'p str,
    /// The path relative to the directory.
    pub rest: &'p str,
}

impl Default for Sites {
    fn default() -> Self {
        Sites {
            nodes: vec![Directory::default()],
            length: 0,
        }
    }
}

impl<T: AsRef<str>> FromIterator<T> for Sites {
    fn from_iter<I: IntoIterator<Item = T>>(directories: I) -> Self {
        let mut sites = Sites::default();
        for directory in directories {
            sites.push(directory.as_ref());
        }
        sites
    }
}

impl Sites {
    /// Appends a directory to the search order. A directory that was added before keeps its first position.
    pub fn push(&mut self, directory: &str) {
        let mut at = 0;
        for name in directory.split('/') {
            let known = self.nodes[at].inside.get(name).copied();
            at = known.unwrap_or_else(|| {
                let new = self.nodes.len();
                self.nodes.push(Directory::default());
                self.nodes[at].inside.insert(name.to_owned(), new);
                new
            });
        }
        self.nodes[at].place.get_or_insert(self.length);
        self.length += 1;
    }

    /// The position of a directory.
    pub fn place_of(&self, directory: &str) -> Option<usize> {
        let mut at = &self.nodes[0];
        for name in directory.split('/') {
            at = &self.nodes[*at.inside.get(name)?];
        }
        at.place
    }

    /// The first directory in search order that contains a path, at any depth.
    pub fn holding<'p>(&self, path: &'p str) -> Option<Inside<'p>> {
        let mut at = &self.nodes[0];
        let mut first: Option<(usize, usize)> = None;
        let mut start = 0;
        for (end, _) in path.match_indices('/') {
            let Some(next) = at.inside.get(&path[start..end]) else {
                break;
            };
            at = &self.nodes[*next];
            start = end + 1;
            if let Some(place) = at.place
                && first.is_none_or(|(known, _)| place < known)
            {
                first = Some((place, end));
            }
        }
        first.map(|(place, end)| Inside {
            place,
            site: &path[..end],
            rest: &path[end + 1..],
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_first_directory_that_contains_a_path_counts() {
        let sites: Sites = ["/b", "/a/inner", "/a", "/b", "/a/inner"]
            .into_iter()
            .collect();
        let place = |path| sites.holding(path).map(|inside| inside.place);
        assert_eq!(place("/a/inner/file"), Some(1));
        assert_eq!(place("/a/other/deep/file"), Some(2));
        assert_eq!(place("/b/file"), Some(0));
        let inside = sites.holding("/a/inner/torch/lib").unwrap();
        assert_eq!((inside.site, inside.rest), ("/a/inner", "torch/lib"));
        // A directory does not contain itself, nor paths that merely start with its name.
        for outside in ["/b", "/bc/file", "/c/b/file", "", "/", "b/file"] {
            assert_eq!(sites.holding(outside), None, "{outside}");
        }
        assert_eq!(sites.place_of("/a"), Some(2));
        assert_eq!(sites.place_of("/b"), Some(0));
        assert_eq!(sites.place_of("/a/inner/torch"), None);
        assert_eq!(sites.place_of("/"), None);
    }

    #[test]
    fn an_outer_directory_wins_where_it_comes_first() {
        let sites: Sites = ["/a", "/a/inner"].into_iter().collect();
        let inside = sites.holding("/a/inner/file").unwrap();
        assert_eq!((inside.place, inside.rest), (0, "inner/file"));
    }

    proptest::proptest! {
        /// The result equals that of a comparison with every directory.
        #[test]
        fn the_first_prefix_is_found(
            directories in proptest::collection::vec("[a/]{0,4}", 0..6),
            path in "[a/]{0,8}",
        ) {
            let sites: Sites = directories.iter().collect();
            let expected = directories
                .iter()
                .position(|directory| path.starts_with(&format!("{directory}/")));
            proptest::prop_assert_eq!(sites.holding(&path).map(|it| it.place), expected);
            let own = directories.iter().position(|directory| *directory == path);
            proptest::prop_assert_eq!(sites.place_of(&path), own);
        }
    }
}
