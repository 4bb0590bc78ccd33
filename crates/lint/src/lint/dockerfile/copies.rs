//! Files that a stage has from the build context or from repositories, and environments that it has from other stages.

use imgcheck_base::lexical::name_of;

/// A file or directory that is copied from the build context.
#[derive(Debug, Clone)]
pub struct Copy {
    /// Path of the source in the build context.
    pub source: String,
    /// Its absolute path in the stage; for a file it may be the directory that the file is copied into.
    pub target: String,
}

/// A repository in a directory of the stage.
#[derive(Debug, std::clone::Clone)]
pub struct Clone {
    /// Its directory, from the root.
    pub directory: String,
    /// The address, with the branch or tag after `@`.
    pub address: String,
}

impl Clone {
    /// The part of a path below its directory.
    pub fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(self.directory.as_str())?;
        match rest.is_empty() {
            true => Some(rest),
            false => rest.strip_prefix('/'),
        }
    }
}

/// A path without `.`, `..` and a slash at its end, starting from a directory if it is relative.
pub fn absolute(directory: &str, path: &str) -> String {
    let joined = match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{directory}/{path}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

impl Copy {
    /// Where a file of the stage may come from in the build context.
    pub fn origins(&self, path: &str) -> Vec<String> {
        let source = absolute("", &self.source);
        let source = source.trim_start_matches('/');
        if self.target == path {
            return vec![source.to_owned()];
        }
        let below = path.strip_prefix(self.target.trim_end_matches('/'));
        let Some(rest) = below.and_then(|rest| rest.strip_prefix('/')) else {
            return Vec::new();
        };
        let (folder, name) = source.rsplit_once('/').unwrap_or(("", source));
        let first = rest.split('/').next().unwrap_or_default();
        let is_file = !name.is_empty() && (name == first || is_like(name, first));
        let directory = (!source.contains('*')).then_some(source);
        let file = is_file.then_some(folder);
        let parents = directory.into_iter().chain(file);
        parents
            .map(|parent| absolute(parent, rest).trim_start_matches('/').to_owned())
            .collect()
    }
}

/// Whether a name matches a pattern with one `*`.
fn is_like(pattern: &str, name: &str) -> bool {
    let ends = pattern.split_once('*');
    ends.is_some_and(|(start, end)| {
        name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
    })
}

/// The environment that a directory is, or is a part of; empty for the default one.
pub fn environment_of(path: &str) -> String {
    let path = absolute("", path);
    let root = path
        .split_once("/lib/python")
        .map_or(path.as_str(), |(root, _)| root);
    match root {
        "/usr" | "/usr/local" | "/usr/local/lib" | "/root/.local" => String::new(),
        root => place(root),
    }
}

/// The environment of a path to a directory or program in it.
pub fn place(directory: &str) -> String {
    let directory = directory.trim_end_matches('/');
    let program = name_of(directory);
    let directory = match program.starts_with("python") || program.starts_with("pip") {
        true => directory
            .strip_suffix(program)
            .unwrap_or_default()
            .trim_end_matches('/'),
        false => directory,
    };
    directory
        .strip_suffix("/bin")
        .unwrap_or(directory)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_the_build_context() {
        for (source, target, path, expected) in [
            (".", "/app", "/app/a/b.txt", vec!["a/b.txt"]),
            (
                "deps/r.txt",
                "/tmp",
                "/tmp/r.txt",
                vec!["deps/r.txt/r.txt", "deps/r.txt"],
            ),
            ("r.txt", "/tmp/x.txt", "/tmp/x.txt", vec!["r.txt"]),
            ("./sub/", "/app", "/app/p.toml", vec!["sub/p.toml"]),
            ("req*.txt", "/app", "/app/req-a.txt", vec!["req-a.txt"]),
            ("a", "/b", "/c/d", vec![]),
        ] {
            let copy = Copy {
                source: source.to_owned(),
                target: absolute("/", target),
            };
            assert_eq!(copy.origins(path), expected, "{source} {target} {path}");
        }
        assert_eq!(absolute("/a", "../b/./c/"), "/b/c");
    }

    #[test]
    fn directories_belong_to_environments() {
        for (path, expected) in [
            ("/opt/venv/", "/opt/venv"),
            ("/opt/venv/lib/python3.11/site-packages", "/opt/venv"),
            ("/usr/local/lib/python3.11/site-packages", ""),
            ("/usr/local", ""),
            ("/usr/local/cuda", "/usr/local/cuda"),
        ] {
            assert_eq!(environment_of(path), expected, "{path}");
        }
    }
}
