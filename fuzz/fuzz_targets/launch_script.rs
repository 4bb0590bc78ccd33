//! The reader of shell scripts, on any script that a container starts with, under bash and dash: it gives the same answer twice, and of a
//! script that consists of plain assignments and `exec` exactly the environment that those make.
//!
//! A line `== PATH` starts another file, which the script may source.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use imgcheck::Overlay;
use imgcheck_image::RootFilesystem;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts};
use imgcheck_launch::{Knowledge, Launch};
use imgcheck_model::knowledge;
use oci_spec::image::ImageConfiguration;
use serde_json::json;

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| knowledge::launch().expect("the table"));

const PROGRAMS: [&str; 12] = [
    "bash",
    "dash",
    "env",
    "dirname",
    "readlink",
    "cat",
    "sed",
    "grep",
    "micromamba",
    "sudo",
    "ldconfig",
    "python3",
];
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub fn fuzz(text: &str) {
    let layer = layer(text);
    let root = RootFilesystem::merge([&layer]);
    for shell in ["bash", "dash"] {
        let config = config(shell);
        let start = || Launch::of(&root, &config, &Overlay::default(), &KNOWLEDGE);
        let launch = start();
        assert_eq!(launch, start());
        assert!(launch.environment.keys().all(|name| !name.is_empty()));
        if let Some(expected) = plain(text) {
            assert_eq!(launch.gaps, [], "{text}");
            assert_eq!(launch.program.as_deref(), Some("/usr/bin/python3"));
            assert_eq!(launch.arguments, ["python3", "serve.py"]);
            for (name, value) in expected {
                assert_eq!(
                    launch.environment.get(name).map(String::as_str),
                    value,
                    "{name}"
                );
            }
        }
    }
}

fn config(shell: &str) -> ImageConfiguration {
    serde_json::from_value(json!({
        "architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []},
        "config": {
            "Entrypoint": [format!("/usr/bin/{shell}"), "/start.sh"], "Cmd": ["python3", "serve.py"],
            "Env": [format!("PATH={PATH}"), "MAMBA_ROOT_PREFIX=/opt/conda", "LD_LIBRARY_PATH=/image"],
        },
    }))
    .expect("a configuration")
}

fn layer(text: &str) -> LayerFacts {
    let entry = |path: &str, kind| Entry {
        path: path.to_owned(),
        kind,
        size: 1,
        mode: 0o755,
        owner: Default::default(),
    };
    let script = |text: &str| EntryKind::File(Content::Text(text.to_owned()));
    let mut entries: Vec<Entry> = PROGRAMS
        .iter()
        .map(|name| {
            entry(
                &format!("usr/bin/{name}"),
                EntryKind::File(Content::Elf(Box::default())),
            )
        })
        .collect();
    entries.push(entry("usr/bin/sh", EntryKind::Symlink("dash".to_owned())));
    let (first, others) = text.split_once("\n== ").unwrap_or((text, ""));
    entries.push(entry("start.sh", script(first)));
    for other in others.split("\n== ").take(20) {
        let (path, text) = other.split_once('\n').unwrap_or((other, ""));
        let parts: Vec<&str> = path
            .split('/')
            .filter(|it| !matches!(*it, "" | "." | ".."))
            .collect();
        if !parts.is_empty() && path.len() < 200 && !path.contains('\0') {
            entries.push(entry(&parts.join("/"), script(text)));
        }
    }
    LayerFacts { entries }
}

/// What a script of plain assignments makes of the environment, if the text is one that ends in `exec "$@"`.
fn plain(text: &str) -> Option<BTreeMap<&str, Option<&str>>> {
    let text = text.strip_suffix("\nexec \"$@\"\n")?;
    let is_name = |name: &str| {
        name.starts_with("V_")
            && name
                .bytes()
                .all(|it| it == b'_' || it.is_ascii_alphanumeric())
    };
    let is_value = |value: &str| {
        value
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"/._-".contains(&it))
    };
    let mut variables = BTreeMap::new();
    let mut exported: Vec<&str> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("unset ").filter(|name| is_name(name)) {
            variables.insert(name, None);
            exported.retain(|it| *it != name);
            continue;
        }
        let assignment = line.strip_prefix("export ");
        let (name, value) = assignment.unwrap_or(line).split_once('=')?;
        if !is_name(name) || !is_value(value) {
            return None;
        }
        exported.extend(assignment.map(|_| name));
        variables.insert(name, Some(value));
    }
    for (name, value) in &mut variables {
        value.take_if(|_| !exported.contains(name));
    }
    Some(variables)
}
