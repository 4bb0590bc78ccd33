//! Finds the directories of a set that contain a file.

use std::collections::HashMap;

/// Values of directories, stored as a tree of names. A lookup takes time proportional to the length of the path, not to the number of
/// directories: the image controls both the number of directories and the number of lookups.
#[derive(Debug, Clone)]
pub struct DirectoryTree<T> {
    /// The first node is the root of the tree.
    nodes: Vec<Directory<T>>,
}

#[derive(Debug, Clone)]
struct Directory<T> {
    value: Option<T>,
    children: HashMap<String, usize>,
}

impl<T> Default for Directory<T> {
    fn default() -> Self {
        Directory {
            value: None,
            children: HashMap::new(),
        }
    }
}

impl<T> Default for DirectoryTree<T> {
    fn default() -> Self {
        DirectoryTree {
            nodes: vec![Directory::default()],
        }
    }
}

impl<T> DirectoryTree<T> {
    /// The value of a directory, to be set.
    pub fn entry(&mut self, directory: &str) -> &mut Option<T> {
        let mut at = 0;
        for name in directory.split('/') {
            let known = self.nodes[at].children.get(name).copied();
            at = known.unwrap_or_else(|| {
                let new = self.nodes.len();
                self.nodes.push(Directory::default());
                self.nodes[at].children.insert(name.to_owned(), new);
                new
            });
        }
        &mut self.nodes[at].value
    }

    /// The value of a directory.
    pub fn get(&self, directory: &str) -> Option<&T> {
        let mut at = &self.nodes[0];
        for name in directory.split('/') {
            at = &self.nodes[*at.children.get(name)?];
        }
        at.value.as_ref()
    }

    /// The directories that contain a path, at any depth, outermost first: the length of each, and its value.
    pub fn above(&self, path: &str) -> impl Iterator<Item = (usize, &T)> {
        let mut at = &self.nodes[0];
        let mut start = 0;
        let slashes = path.match_indices('/');
        let directories = slashes.map_while(move |(end, _)| {
            at = &self.nodes[*at.children.get(&path[start..end])?];
            start = end + 1;
            Some((end, at.value.as_ref()))
        });
        directories.filter_map(|(end, value)| Some((end, value?)))
    }
}

/// Directories in search order.
#[derive(Debug, Clone, Default)]
pub struct Sites {
    /// The first position of each directory in the search order.
    places: DirectoryTree<usize>,
    /// The number of directories that were added.
    length: usize,
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
        self.places.entry(directory).get_or_insert(self.length);
        self.length += 1;
    }

    /// The position of a directory.
    pub fn place_of(&self, directory: &str) -> Option<usize> {
        self.places.get(directory).copied()
    }

    /// The innermost directory that contains a path. A site may be inside another, as an environment in the working directory is.
    pub fn holding<'p>(&self, path: &'p str) -> Option<Inside<'p>> {
        let (end, place) = self.places.above(path).last()?;
        Some(Inside {
            place: *place,
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
    fn the_innermost_directory_that_contains_a_path_counts() {
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
    fn the_inner_directory_wins_whichever_comes_first() {
        let sites: Sites = ["/a", "/a/inner"].into_iter().collect();
        let inside = sites.holding("/a/inner/file").unwrap();
        assert_eq!((inside.place, inside.rest), (1, "file"));
    }

    proptest::proptest! {
        /// The result equals that of a comparison with every directory.
        #[test]
        fn the_longest_prefix_is_found(
            directories in proptest::collection::vec("[a/]{0,4}", 0..6),
            path in "[a/]{0,8}",
        ) {
            let sites: Sites = directories.iter().collect();
            let prefixes = directories.iter().filter(|it| path.starts_with(&format!("{it}/")));
            let longest = prefixes.max_by_key(|it| it.len());
            let expected = directories.iter().position(|it| Some(it) == longest);
            proptest::prop_assert_eq!(sites.holding(&path).map(|it| it.place), expected);
            let own = directories.iter().position(|directory| *directory == path);
            proptest::prop_assert_eq!(sites.place_of(&path), own);
        }
    }
}
