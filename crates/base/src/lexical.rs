//! Paths as texts, without looking at links.

use std::path::Path;

/// A path from the root without empty, `.` or `..` components and without `/` at either end, never above the root. The root is the empty
/// path.
pub fn normalized(path: &str) -> String {
    simplified(&format!("/{path}"))
        .trim_start_matches('/')
        .to_owned()
}

/// A path without `.` components, and without `..` where something is before it: `docker/../a` is `a`.
///
/// ```
/// use imgcheck_base::lexical::simplified;
/// assert_eq!(simplified("docker/../a/./b"), "a/b");
/// assert_eq!(simplified("../a/../../b"), "../../b");
/// assert_eq!(simplified("/a/.."), "/");
/// ```
pub fn simplified(path: &str) -> String {
    let mut components: Vec<&str> = Vec::new();
    for component in path.split('/').filter(|it| !matches!(*it, "" | ".")) {
        let is_open = components.last().is_some_and(|it| *it != "..");
        match component {
            ".." if is_open => drop(components.pop()),
            ".." if path.starts_with('/') => {}
            component => components.push(component),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", components.join("/"))
}

/// The directory of an absolute path: `/` for a file in the root directory.
pub fn directory_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((directory, _)) => directory,
    }
}

/// The last component of a path.
pub fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether an absolute path is a directory or something below it.
pub fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The name of a user's file in reports and configurations: with slashes on Windows, too.
pub fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    match cfg!(windows) {
        true => text.replace('\\', "/"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_root() {
        assert_eq!(normalized("/usr/lib/torch/../libs//./x"), "usr/lib/libs/x");
        assert_eq!(normalized("/../../etc/passwd"), "etc/passwd");
        assert_eq!(normalized("a/.."), "");
    }
}
