//! The keys that show that a file is what its name, or `--kind`, says.

use super::kind::FileKind;
use super::text::Text;
use imgcheck_base::document::Node;
use imgcheck_base::error::Result;

/// What a file of a kind is called, and the keys of which it has at least one. Other kinds have their own errors.
fn keys(kind: FileKind) -> (&'static str, &'static [&'static str]) {
    match kind {
        // A Compose file may be a part of others, without services.
        FileKind::Compose => (
            "a Compose file",
            &[
                "services", "include", "networks", "volumes", "configs", "secrets",
            ],
        ),
        FileKind::Bake => ("a bake file", &["target", "group", "variable", "function"]),
        FileKind::Cog => ("a cog.yaml", &["build", "predict", "train", "run"]),
        FileKind::Bento => ("a bentofile.yaml", &["service", "python", "docker"]),
        FileKind::Skypilot => ("a task of SkyPilot", &["resources", "setup", "run"]),
        FileKind::Dstack => ("a configuration of dstack", &["type", "commands"]),
        // A container without an image has the one of the tool, such as that of Codespaces.
        FileKind::Devcontainer => (
            "a devcontainer.json",
            &[
                "image",
                "build",
                "dockerFile",
                "dockerComposeFile",
                "features",
                "customizations",
            ],
        ),
        FileKind::Lock => (
            "a lock file",
            &["package", "environments", "requires-python"],
        ),
        FileKind::Pyproject => (
            "a pyproject.toml",
            &["project", "tool", "build-system", "dependency-groups"],
        ),
        FileKind::Pixi => (
            "a pixi.toml",
            &["workspace", "project", "package", "dependencies"],
        ),
        FileKind::Dockerfile | FileKind::Requirements | FileKind::Environment | FileKind::Setup => {
            ("", &[])
        }
    }
}

/// Checks that a file has a key of its kind.
///
/// # Errors
/// It has none, with those that such a file has.
pub fn check(text: &Text<'_>, kind: FileKind, has: impl Fn(&str) -> bool) -> Result<()> {
    let (file, keys) = keys(kind);
    let [first, others @ ..] = keys else {
        return Ok(());
    };
    if keys.iter().any(|key| has(key)) {
        return Ok(());
    }
    let help = format!("{file} has `{first}`, or one of {}", others.join(", "));
    Err(text.fault(0..1, &format!("missing key `{first}`"), Some(&help)))
}

/// Checks that one of the documents of a file has a key of its kind.
///
/// # Errors
/// Same as [`check`].
pub fn check_documents<'n>(
    text: &Text<'_>,
    kind: FileKind,
    documents: impl IntoIterator<Item = &'n Node>,
) -> Result<()> {
    let entries = documents.into_iter().flat_map(Node::entries);
    let keys: Vec<&str> = entries.filter_map(|(key, _)| key.text()).collect();
    check(text, kind, |key| keys.contains(&key))
}
