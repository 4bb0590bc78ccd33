//! Counts the bytes that a container sees, each file once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::causes::Caches;
use super::facts::{Cause, CauseSize, Directories, SizedPath, largest};
use imgcheck_image::{FileIdentity, Node, RootFilesystem};

/// Directories with a content that is told apart one level deeper.
const DEEPER: [&str; 3] = ["/usr/local/", "/opt/", "/home/"];
/// Directories of Python packages.
const PYTHON: [&str; 2] = ["site-packages", "dist-packages"];

/// What a container sees.
pub(super) struct Walked {
    layers: BTreeMap<usize, u64>,
    pub directories: Directories,
    pub causes: Vec<CauseSize>,
}

impl Walked {
    /// Bytes by layer.
    pub fn by_layer(&self, count: usize) -> Vec<u64> {
        let of_layer = |layer| self.layers.get(&layer).copied().unwrap_or_default();
        (0..count).map(of_layer).collect()
    }
}

/// A directory that is still to be read.
struct Open<'r> {
    node: Node<'r>,
    path: String,
    /// Where its bytes are counted.
    group: Rc<str>,
    /// Levels below a directory of Python packages; 0 elsewhere.
    package_depth: usize,
    /// Whether it is in a cache, which is counted as a whole.
    is_cache: bool,
}

/// Counts the files of a root. `duplicates` has what is known of those that are further copies.
pub(super) fn walk(
    root: &RootFilesystem,
    caches: &Caches,
    duplicates: &HashMap<FileIdentity, String>,
) -> Walked {
    let mut count = Count {
        duplicates,
        seen: HashSet::new(),
        paths: BTreeMap::new(),
        walked: Walked {
            layers: BTreeMap::new(),
            directories: Directories::new(),
            causes: Vec::new(),
        },
    };
    let top = Open {
        node: root.root(),
        path: String::new(),
        group: "/".into(),
        package_depth: 0,
        is_cache: false,
    };
    // A file that is also linked from elsewhere is not only in a cache: caches come last.
    let mut found = Vec::new();
    count.below(top, |path| caches.of_directory(path), &mut found);
    for (directory, detail) in found {
        let path = directory.path.clone();
        let before = count.bytes();
        count.below(directory, |_| None, &mut Vec::new());
        let bytes = count.bytes() - before;
        count.add(Cause::Cache, path, bytes, detail);
    }
    count.finish()
}

struct Count<'d> {
    duplicates: &'d HashMap<FileIdentity, String>,
    seen: HashSet<FileIdentity>,
    paths: BTreeMap<Cause, Vec<SizedPath>>,
    walked: Walked,
}

impl Count<'_> {
    /// Counts what is below a directory, without the caches, which are `found`.
    fn below<'r>(
        &mut self,
        top: Open<'r>,
        cache: impl Fn(&str) -> Option<String>,
        found: &mut Vec<(Open<'r>, String)>,
    ) {
        let mut open = vec![top];
        while let Some(directory) = open.pop() {
            let mut inner = Vec::new();
            for node in directory.node.children() {
                if !node.is_directory() {
                    self.file(node, &directory);
                    continue;
                }
                let below = directory.child(node);
                match cache(&below.path[1..]) {
                    Some(detail) => found.push((below.into_cache(), detail)),
                    None => inner.push(below),
                }
            }
            open.extend(inner.into_iter().rev());
        }
    }

    fn file(&mut self, node: Node, directory: &Open) {
        let (bytes, identity) = (node.size(), node.identity());
        let Some(identity) = identity.filter(|it| bytes > 0 && self.seen.insert(*it)) else {
            return;
        };
        *self
            .walked
            .layers
            .entry(node.layer().unwrap_or_default())
            .or_default() += bytes;
        *self
            .walked
            .directories
            .entry(Rc::clone(&directory.group))
            .or_default() += bytes;
        let path = || format!("{}/{}", directory.path, node.name());
        match self.duplicates.get(&identity) {
            _ if directory.is_cache => {}
            Some(detail) => self.add(Cause::Duplicate, path(), bytes, detail.clone()),
            None if node.name().ends_with(".a") => {
                self.add(Cause::StaticLibrary, path(), bytes, String::new());
            }
            None => {}
        }
    }

    fn add(&mut self, cause: Cause, path: String, bytes: u64, detail: String) {
        let of_cause = self.paths.entry(cause).or_default();
        of_cause.push(SizedPath {
            path,
            bytes,
            detail,
        });
    }

    fn bytes(&self) -> u64 {
        self.walked.layers.values().sum()
    }

    fn finish(self) -> Walked {
        let causes = self.paths.into_iter().map(|(cause, paths)| CauseSize {
            cause,
            bytes: paths.iter().map(|it| it.bytes).sum(),
            largest: largest(paths),
        });
        Walked {
            causes: causes.collect(),
            ..self.walked
        }
    }
}

impl<'r> Open<'r> {
    fn child(&self, node: Node<'r>) -> Self {
        let path = format!("{}/{}", self.path, node.name());
        let package_depth = match self.package_depth {
            _ if PYTHON.contains(&node.name()) => 1,
            0 => 0,
            depth => depth + 1,
        };
        let levels = path.matches('/').count();
        let deeper = usize::from(DEEPER.iter().any(|it| path.starts_with(it)));
        let has_group = match package_depth {
            _ if self.is_cache => false,
            0 => levels <= 2 + deeper,
            // Metadata counts where the packages are.
            2 => !node.name().ends_with("-info"),
            depth => depth <= 3,
        };
        Open {
            node,
            group: match has_group {
                true => path.as_str().into(),
                false => Rc::clone(&self.group),
            },
            path,
            package_depth,
            is_cache: self.is_cache,
        }
    }

    fn into_cache(self) -> Self {
        Open {
            group: self.path.as_str().into(),
            is_cache: true,
            ..self
        }
    }
}
