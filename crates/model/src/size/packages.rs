//! Names directories by the Python distributions that they belong to.

use std::collections::{BTreeMap, HashMap};

use super::facts::{Directories, PackageSize};
use crate::stack::Distribution;
use imgcheck_base::version::requirement::normalized;

/// The packages and other directories, largest first. A directory in a package counts as part of it, unless a distribution has the names
/// of both: `nvidia/cudnn` and `nvidia-cudnn-cu12`.
pub(super) fn sizes(directories: Directories, distributions: &[Distribution]) -> Vec<PackageSize> {
    let mut by_site: HashMap<&str, Vec<&Distribution>> = HashMap::new();
    for distribution in distributions {
        by_site
            .entry(&distribution.site)
            .or_default()
            .push(distribution);
    }
    let mut merged: BTreeMap<String, (String, u64)> = BTreeMap::new();
    for (path, bytes) in directories {
        let (path, name) = named(path.to_string(), &by_site);
        merged.entry(path).or_insert((name, 0)).1 += bytes;
    }
    let packages =
        merged
            .into_iter()
            .map(|(path, (name, bytes))| PackageSize { name, path, bytes });
    let mut packages: Vec<PackageSize> = packages.collect();
    // Equal ones stay in the order of their paths.
    packages.sort_by_key(|it| std::cmp::Reverse(it.bytes));
    packages
}

/// The directory that the bytes count for, and its name.
fn named(path: String, by_site: &HashMap<&str, Vec<&Distribution>>) -> (String, String) {
    let above = |path: &str| path.rsplit_once('/').map(|(it, _)| it.to_owned());
    let top = above(&path);
    let site = top.as_deref().and_then(above);
    if let (Some(top), Some(of_site)) = (&top, site.and_then(|it| by_site.get(it.as_str()))) {
        return match distribution(of_site, &path[top.rfind('/').map_or(0, |at| at + 1)..]) {
            Some(name) => (path, name),
            None => named(top.clone(), by_site),
        };
    }
    let name = top
        .as_deref()
        .and_then(|it| by_site.get(it))
        .and_then(|of_site| {
            let directory = path.rsplit('/').next()?;
            distribution(of_site, directory)
        });
    let name = name.unwrap_or_else(|| path.clone());
    (path, name)
}

/// The distribution with the name of a directory, or of a directory and one in it, perhaps followed by the CUDA that it is for.
fn distribution(of_site: &[&Distribution], directory: &str) -> Option<String> {
    let name = normalized(&directory.replace('/', "-"));
    let is_nested = directory.contains('/');
    let matches = |it: &&&Distribution| {
        let rest = it.name.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || is_nested && rest.starts_with("-cu"))
    };
    let found = of_site.iter().find(matches)?;
    Some(format!("{} {}", found.name, found.version))
}
