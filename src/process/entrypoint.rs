//! LD_LIBRARY_PATH of the image's process: from the image's environment, or as its entrypoint script sets it plainly.

use std::collections::BTreeMap;

use oci_spec::image::ImageConfiguration;

use crate::image::{Node, RootFilesystem, configuration};

const VARIABLE: &str = "LD_LIBRARY_PATH";
/// Linux takes no longer string into an environment (`MAX_ARG_STRLEN`, `include/uapi/linux/binfmts.h`).
const LONGEST: usize = 128 << 10;
/// PATH of a process whose image sets none (`DefaultPathEnv` of the container engines).
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What a process of an image is started with.
#[derive(Debug, Clone)]
pub(super) struct Start {
    pub environment: BTreeMap<String, String>,
    /// `image`, or the path of the script that sets LD_LIBRARY_PATH; empty if it is not set.
    pub library_path_from: String,
    pub working_directory: String,
    /// The file that the image starts.
    pub command: Option<String>,
}

impl Start {
    pub fn of(root: &RootFilesystem, config: &ImageConfiguration) -> Self {
        let mut environment = configuration::environment(config);
        let set = environment.get(VARIABLE).is_some_and(|it| !it.is_empty());
        let mut library_path_from = match set {
            true => "image".to_owned(),
            false => String::new(),
        };
        let process = config.config().as_ref();
        let working_directory = process.and_then(|it| it.working_dir().clone());
        let words: Vec<&String> = process
            .into_iter()
            .flat_map(|it| [it.entrypoint(), it.cmd()])
            .flatten()
            .flatten()
            .collect();
        let path = environment
            .get("PATH")
            .map_or(PATH, String::as_str)
            .to_owned();
        let command = words.first().and_then(|word| found(root, &path, word));
        for node in scripts(root, &path, &words) {
            let before = environment.get(VARIABLE).cloned().unwrap_or_default();
            if let Some(value) = node.text().and_then(|text| set_by(text, &before)) {
                environment.insert(VARIABLE.to_owned(), value);
                library_path_from = node.path();
            }
        }
        Start {
            environment,
            library_path_from,
            working_directory: working_directory
                .filter(|it| it.starts_with('/'))
                .unwrap_or_else(|| "/".to_owned()),
            command: command.map(Node::path),
        }
    }

    /// The directories of PATH.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        let path = self.environment.get("PATH").map_or(PATH, String::as_str);
        path.split(':').filter(|it| it.starts_with('/'))
    }
}

/// The file of a command word, looked for in PATH.
fn found<'r>(root: &'r RootFilesystem<'r>, path: &str, word: &str) -> Option<Node<'r>> {
    let file = |path: &str| {
        let node = root.resolve(path).ok()?;
        node.content().map(|_| node)
    };
    match word.contains('/') {
        true => file(word),
        false => path
            .split(':')
            .find_map(|directory| file(&format!("{directory}/{word}"))),
    }
}

/// The scripts among the first words of the command: `["/entrypoint.sh", …]`, `["bash", "/start.sh"]`, `["tini", "--", "/run.sh"]`.
fn scripts<'r>(root: &'r RootFilesystem<'r>, path: &str, words: &[&String]) -> Vec<Node<'r>> {
    const WORDS: usize = 4;
    let words = words.iter().take(WORDS);
    words
        .filter_map(|word| found(root, path, word))
        .filter(|node| node.text().is_some())
        .take(1)
        .collect()
}

/// The value that a shell script gives LD_LIBRARY_PATH, if it is made of literal text and of the value before only.
fn set_by(script: &str, before: &str) -> Option<String> {
    let mut value: Option<String> = None;
    for line in script.lines() {
        let before = value.as_deref().unwrap_or(before);
        // What is indented may depend on a condition, and what was not in the environment before stays the shell's own.
        let exported = line.strip_prefix("export ").map(str::trim_start);
        let assignment = exported.or((!before.is_empty()).then_some(line));
        let Some(text) = assignment.and_then(|it| it.strip_prefix("LD_LIBRARY_PATH=")) else {
            continue;
        };
        value = Some(expand(text, before)?);
    }
    value
}

/// A shell word in which only the variable itself is replaced.
fn expand(text: &str, before: &str) -> Option<String> {
    if text.len() + text.matches('$').count() * (before.len() + 1) > LONGEST {
        return None;
    }
    let quoted = text.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let literal = text
        .strip_prefix('\'')
        .and_then(|rest| rest.split_once('\''));
    let (word, behind) = match (quoted, literal) {
        (Some(parts), _) => parts,
        (None, Some((word, _))) => return Some(word.to_owned()),
        (None, None) => text.split_at(text.find([' ', '\t', ';']).unwrap_or(text.len())),
    };
    // With a command behind it, the value is that command's alone.
    let after = behind.trim_start();
    let ends = after.is_empty() || after.starts_with([';', '#']) || after.starts_with("&&");
    if !ends || (after.starts_with('#') && after.len() == behind.len()) {
        return None;
    }
    let with_colon = match before {
        "" => String::new(),
        before => format!(":{before}"),
    };
    let colon_behind = match before {
        "" => String::new(),
        before => format!("{before}:"),
    };
    let word = word
        .replace("${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}", &with_colon)
        .replace("${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}", &with_colon)
        .replace("${LD_LIBRARY_PATH:+${LD_LIBRARY_PATH}:}", &colon_behind)
        .replace("${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}", &colon_behind)
        .replace("${LD_LIBRARY_PATH:-}", before)
        .replace("${LD_LIBRARY_PATH}", before)
        .replace("$LD_LIBRARY_PATH", before);
    let plain = !word.contains(['$', '`', '\\', '"', '\'', '*', '~', '(']);
    plain.then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_assignments_are_read() {
        let value = |script: &str| set_by(script, "/a");
        assert_eq!(
            value("export LD_LIBRARY_PATH=/x:/y\n").as_deref(),
            Some("/x:/y")
        );
        assert_eq!(
            value("#!/bin/sh\nexport LD_LIBRARY_PATH=\"/x:$LD_LIBRARY_PATH\"\nexec \"$@\"")
                .as_deref(),
            Some("/x:/a")
        );
        assert_eq!(
            value("LD_LIBRARY_PATH=/x${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}").as_deref(),
            Some("/x:/a")
        );
        assert_eq!(
            set_by(
                "export LD_LIBRARY_PATH=/x${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}",
                ""
            )
            .as_deref(),
            Some("/x")
        );
        assert_eq!(value("export LD_LIBRARY_PATH=$CUDA_HOME/lib64"), None);
        assert_eq!(value("export LD_LIBRARY_PATH=$(find /opt)"), None);
        assert_eq!(value("echo LD_LIBRARY_PATH"), None);
        assert_eq!(value("LD_LIBRARY_PATH=/z;").as_deref(), Some("/z"));
        assert_eq!(value("if x; then\n  LD_LIBRARY_PATH=/z; fi"), None);
        assert_eq!(value("LD_LIBRARY_PATH=/z /opt/old/bin/init"), None);
        assert_eq!(set_by("LD_LIBRARY_PATH=/z", ""), None);
    }
}
