//! Detects the type of a file by its name or contents.

use super::setup;

/// The supported types of files.
///
/// ```
/// use imgcheck_lint::lint::FileKind;
///
/// assert_eq!(FileKind::of_name("Dockerfile.gpu"), Some(FileKind::Dockerfile));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Dockerfile, Containerfile.
    Dockerfile,
    /// pip's requirements or constraints.
    Requirements,
    /// conda's environment.yml.
    Environment,
    /// pyproject.toml.
    Pyproject,
    /// uv.lock, poetry.lock, pixi.lock, conda-lock.yml.
    Lock,
    /// compose.yml, docker-compose.yml.
    Compose,
    /// docker-bake.hcl, docker-bake.json.
    Bake,
    /// pixi.toml.
    Pixi,
    /// setup.cfg, setup.py.
    Setup,
    /// cog.yaml.
    Cog,
    /// bentofile.yaml.
    Bento,
    /// A task of SkyPilot.
    Skypilot,
    /// .dstack.yml.
    Dstack,
    /// devcontainer.json.
    Devcontainer,
}

impl FileKind {
    /// All types, for messages and options.
    pub const ALL: &'static [FileKind] = &[
        FileKind::Dockerfile,
        FileKind::Requirements,
        FileKind::Environment,
        FileKind::Pyproject,
        FileKind::Lock,
        FileKind::Compose,
        FileKind::Bake,
        FileKind::Pixi,
        FileKind::Setup,
        FileKind::Cog,
        FileKind::Bento,
        FileKind::Skypilot,
        FileKind::Dstack,
        FileKind::Devcontainer,
    ];

    /// Its name on the command line and in rules.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Dockerfile => "dockerfile",
            FileKind::Requirements => "requirements",
            FileKind::Environment => "environment",
            FileKind::Pyproject => "pyproject",
            FileKind::Lock => "lock",
            FileKind::Compose => "compose",
            FileKind::Bake => "bake",
            FileKind::Pixi => "pixi",
            FileKind::Setup => "setup",
            FileKind::Cog => "cog",
            FileKind::Bento => "bento",
            FileKind::Skypilot => "skypilot",
            FileKind::Dstack => "dstack",
            FileKind::Devcontainer => "devcontainer",
        }
    }

    /// The type of a file with a clear name: `Dockerfile.gpu`, `requirements-dev.txt`, `environment.yml`.
    pub fn of_name(path: &str) -> Option<FileKind> {
        let path = path.to_ascii_lowercase();
        let mut parts = path.rsplit(['/', '\\']);
        let name = parts.next().unwrap_or_default();
        let folder = parts.next().unwrap_or_default();
        let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
        let is_dockerfile = |word: &str| word == "dockerfile" || word == "containerfile";
        let first = name.split(['.', '-', '_']).next().unwrap_or_default();
        match end {
            _ if is_template(name) => None,
            "py" | "cfg" => (stem == "setup").then_some(FileKind::Setup),
            "json" if stem == "devcontainer" || name == ".devcontainer.json" => {
                Some(FileKind::Devcontainer)
            }
            "hcl" | "json" => stem.starts_with("docker-bake").then_some(FileKind::Bake),
            "dockerignore" | "md" | "rst" | "html" | "png" | "svg" | "jpg" | "pdf" | "sh"
            | "bak" | "orig" | "css" | "go" | "java" | "js" | "map" | "mjs" | "rb" | "rs"
            | "ts" | "tsx" | "xml" => None,
            "lock" => matches!(stem, "uv" | "poetry" | "pixi").then_some(FileKind::Lock),
            "toml" if stem == "pixi" => Some(FileKind::Pixi),
            "toml" => (stem == "pyproject").then_some(FileKind::Pyproject),
            "yml" | "yaml" if stem == "conda-lock" => Some(FileKind::Lock),
            "yml" | "yaml" if described(stem).is_some() => described(stem),
            "yml" | "yaml" if stem.starts_with("compose") || stem.starts_with("docker-compose") => {
                Some(FileKind::Compose)
            }
            "yml" | "yaml" => {
                let mut words = stem.split(['-', '_', '.']);
                let named = words
                    .next()
                    .is_some_and(|word| matches!(word, "environment" | "conda"));
                let other = words.any(|word| matches!(word, "build" | "lock" | "recipe"));
                (named && !other).then_some(FileKind::Environment)
            }
            "txt" | "in" => {
                let named = ["requirements", "constraints", "requirement", "constraint"];
                let listed = named.iter().any(|word| stem.contains(word));
                (listed || folder == "requirements").then_some(FileKind::Requirements)
            }
            _ if is_dockerfile(first) || is_dockerfile(end) => Some(FileKind::Dockerfile),
            _ => None,
        }
    }

    /// The type of a file by its name, if its contents do not contradict, or else by its contents.
    pub fn of(path: &str, text: &str) -> Option<FileKind> {
        match FileKind::of_name(path) {
            Some(FileKind::Environment) => is_conda(text).then_some(FileKind::Environment),
            Some(FileKind::Skypilot) => is_skypilot(text).then_some(FileKind::Skypilot),
            Some(FileKind::Compose) => is_compose(text).then_some(FileKind::Compose),
            Some(FileKind::Setup) if path.ends_with(".py") => {
                setup::is_setup(text).then_some(FileKind::Setup)
            }
            None if is_template(path) => None,
            found => found.or_else(|| FileKind::of_text(path, text)),
        }
    }

    /// The type that the contents suggest.
    pub fn of_text(path: &str, text: &str) -> Option<FileKind> {
        let lines = || {
            text.lines()
                .map(str::trim_end)
                .filter(|line| !line.is_empty())
        };
        let starts = |line: &str, words: &[&str]| {
            let word = line.split_whitespace().next().unwrap_or_default();
            words.iter().any(|known| word.eq_ignore_ascii_case(known))
        };
        let mut code = lines().filter(|line| !line.trim_start().starts_with('#'));
        let first = code.next().unwrap_or_default();
        // `from module import name` is Python.
        let is_from = |line: &str| {
            starts(line, &["FROM"])
                && line
                    .split_whitespace()
                    .nth(2)
                    .is_none_or(|word| word != "import")
        };
        if (is_from(first) || starts(first, &["ARG"])) && lines().any(is_from) {
            return Some(FileKind::Dockerfile);
        }
        if lines().any(|line| matches!(line, "[project]" | "[tool.poetry]" | "[build-system]")) {
            return Some(FileKind::Pyproject);
        }
        if lines().any(|line| line == "dependencies:") && is_conda(text) {
            return Some(FileKind::Environment);
        }
        let is_yaml = path.ends_with(".yml") || path.ends_with(".yaml");
        if is_yaml && is_skypilot(text) {
            return Some(FileKind::Skypilot);
        }
        let is_text = path.to_ascii_lowercase().ends_with(".txt");
        is_text.then_some(FileKind::Requirements)
    }
}

/// Whether a file is a template by its name. Templates have no type until they are rendered.
pub fn is_template(path: &str) -> bool {
    let end = path
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    matches!(
        end.as_str(),
        "j2" | "jinja" | "jinja2" | "template" | "tmpl" | "tpl" | "erb"
    )
}

/// The type of a YAML file whose name, without its ending, says so.
fn described(stem: &str) -> Option<FileKind> {
    match stem {
        "cog" => Some(FileKind::Cog),
        "bentofile" => Some(FileKind::Bento),
        "sky" | "skypilot" => Some(FileKind::Skypilot),
        _ if stem.ends_with(".dstack") => Some(FileKind::Dstack),
        _ if stem.ends_with(".sky") => Some(FileKind::Skypilot),
        _ => None,
    }
}

/// Whether a YAML file is a task of SkyPilot: it has resources with a key of SkyPilot, and commands.
fn is_skypilot(text: &str) -> bool {
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    let keys = ["accelerators:", "image_id:", "cloud:", "infra:"];
    let has_key = |line: &str| keys.iter().any(|key| line.starts_with(key));
    let mut indented = text.lines().filter(|line| line.starts_with([' ', '\t']));
    let has_resources = has("resources:") && indented.any(|line| has_key(line.trim_start()));
    has_resources && (has("setup:") || has("run:")) && !has("apiVersion:")
}

/// Whether a YAML file has a top-level element of Compose, and no other one's (compose-spec, "Compose file").
fn is_compose(text: &str) -> bool {
    const ELEMENTS: [&str; 6] = [
        "configs", "include", "networks", "secrets", "services", "volumes",
    ];
    let keys = text.lines().filter_map(|line| line.split_once(':'));
    let mut keys = keys.map(|(key, _)| key);
    let is_manifest = text.lines().any(|line| line.starts_with("apiVersion:"));
    !is_manifest && keys.any(|key| ELEMENTS.contains(&key))
}

/// Whether a YAML file is conda's: it lists packages or channels, and names no other schema.
fn is_conda(text: &str) -> bool {
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    (has("dependencies:") || has("channels:")) && !has("$schema:") && !has("apiVersion:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_determine_the_type() {
        for (name, kind) in [
            ("Dockerfile", Some(FileKind::Dockerfile)),
            ("docker/Dockerfile.gpu", Some(FileKind::Dockerfile)),
            ("Dockerfile-cuda", Some(FileKind::Dockerfile)),
            ("train.dockerfile", Some(FileKind::Dockerfile)),
            ("Containerfile", Some(FileKind::Dockerfile)),
            ("Dockerfile.dockerignore", None),
            ("Dockerfile.j2", None),
            ("dockerfile-stages.png", None),
            ("assets/dockerfile-DJkHQgkl.js", None),
            ("dockerfile.ts", None),
            ("test-environment.yml", None),
            ("k8s-conda.yaml", None),
            ("conda_build_config.yaml", None),
            ("requirements.txt", Some(FileKind::Requirements)),
            ("requirements-dev.in", Some(FileKind::Requirements)),
            ("requirements/gpu.txt", Some(FileKind::Requirements)),
            ("constraints.txt", Some(FileKind::Requirements)),
            ("environment.yml", Some(FileKind::Environment)),
            ("conda-gpu.yaml", Some(FileKind::Environment)),
            ("pyproject.toml", Some(FileKind::Pyproject)),
            ("Cargo.toml", None),
            ("pixi.toml", Some(FileKind::Pixi)),
            ("a/pixi.lock", Some(FileKind::Lock)),
            ("conda-lock.yml", Some(FileKind::Lock)),
            ("docker-bake.hcl", Some(FileKind::Bake)),
            ("docker-bake.override.json", Some(FileKind::Bake)),
            ("package.json", None),
            ("setup.cfg", Some(FileKind::Setup)),
            ("setup.py", Some(FileKind::Setup)),
            ("tox.cfg", None),
            ("notes.txt", None),
            ("cog.yaml", Some(FileKind::Cog)),
            ("bentofile.yaml", Some(FileKind::Bento)),
            (".dstack.yml", Some(FileKind::Dstack)),
            ("train.dstack.yaml", Some(FileKind::Dstack)),
            ("serve.sky.yaml", Some(FileKind::Skypilot)),
            (
                ".devcontainer/devcontainer.json",
                Some(FileKind::Devcontainer),
            ),
            (".devcontainer.json", Some(FileKind::Devcontainer)),
            ("cogs.yaml", None),
        ] {
            assert_eq!(FileKind::of_name(name), kind, "{name}");
        }
    }

    #[test]
    fn contents_may_contradict_the_name() {
        let of = FileKind::of;
        assert_eq!(of("environment.yml", "kind: x\n"), None);
        assert_eq!(
            of("environment.yml", "channels: [a]\n"),
            Some(FileKind::Environment)
        );
        assert_eq!(of("conda.yaml", "$schema: x\ndependencies: []\n"), None);
        assert_eq!(of("Dockerfile.jinja", "FROM a\n"), None);
        let task = "resources:\n  accelerators: A100\nrun: |\n  x\n";
        assert_eq!(of("sky.yaml", "a: b\n"), None);
        assert_eq!(of("sky.yaml", task), Some(FileKind::Skypilot));
        assert_eq!(of("task.yaml", task), Some(FileKind::Skypilot));
        assert_eq!(of("task.yaml", "resources:\n  cpu: 1\nrun: x\n"), None);
        assert_eq!(of("x", "from setuptools import setup\n"), None);
    }

    #[test]
    fn contents_determine_the_type_if_the_name_does_not() {
        let of = |text: &str| FileKind::of_text("x", text);
        assert_eq!(of("# c\nARG A=1\nFROM $A\n"), Some(FileKind::Dockerfile));
        assert_eq!(
            of("name: x\ndependencies:\n  - a\n"),
            Some(FileKind::Environment)
        );
        assert_eq!(of("[project]\nname='x'\n"), Some(FileKind::Pyproject));
        assert_eq!(of("hello"), None);
        assert_eq!(
            FileKind::of_text("deps.txt", "torch\n"),
            Some(FileKind::Requirements)
        );
    }
}
