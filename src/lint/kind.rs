//! Which kind of file it is: by its name, else by what stands in it.

/// The kinds of files that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Dockerfile, Containerfile.
    Dockerfile,
    /// pip's requirements or constraints.
    Requirements,
    /// conda's environment.yml.
    Environment,
    /// pyproject.toml.
    Pyproject,
}

impl Kind {
    /// All, for messages and options.
    pub const ALL: &'static [Kind] = &[
        Kind::Dockerfile,
        Kind::Requirements,
        Kind::Environment,
        Kind::Pyproject,
    ];

    /// Its name on the command line and for rules.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Dockerfile => "dockerfile",
            Kind::Requirements => "requirements",
            Kind::Environment => "environment",
            Kind::Pyproject => "pyproject",
        }
    }

    /// The kind that a path says beyond doubt: `Dockerfile.gpu`, `requirements-dev.txt`, `environment.yml`.
    pub fn of_name(path: &str) -> Option<Kind> {
        let path = path.to_ascii_lowercase();
        let mut parts = path.rsplit(['/', '\\']);
        let name = parts.next().unwrap_or_default();
        let folder = parts.next().unwrap_or_default();
        let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
        let is_dockerfile = |word: &str| word == "dockerfile" || word == "containerfile";
        let first = name.split(['.', '-', '_']).next().unwrap_or_default();
        match end {
            // Templates are no files of any kind before they are filled in.
            "j2" | "jinja" | "jinja2" | "template" | "tmpl" | "tpl" | "erb" => None,
            "dockerignore" | "md" | "py" | "sh" | "json" | "bak" | "orig" => None,
            "toml" => (stem == "pyproject").then_some(Kind::Pyproject),
            "yml" | "yaml" => {
                let words = || stem.split(['-', '_', '.']);
                let other = words().any(|word| matches!(word, "build" | "lock" | "recipe"));
                let named = words().any(|word| matches!(word, "environment" | "conda"));
                (named && !other).then_some(Kind::Environment)
            }
            "txt" | "in" => {
                let named = ["requirements", "constraints", "requirement", "constraint"];
                let listed = named.iter().any(|word| stem.contains(word));
                (listed || folder == "requirements").then_some(Kind::Requirements)
            }
            _ if is_dockerfile(first) || is_dockerfile(end) => Some(Kind::Dockerfile),
            _ => None,
        }
    }

    /// The kind that the text looks like.
    pub fn of_text(path: &str, text: &str) -> Option<Kind> {
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
        if starts(first, &["FROM", "ARG"]) && lines().any(|line| starts(line, &["FROM"])) {
            return Some(Kind::Dockerfile);
        }
        if lines().any(|line| matches!(line, "[project]" | "[tool.poetry]" | "[build-system]")) {
            return Some(Kind::Pyproject);
        }
        if lines().any(|line| line == "dependencies:") {
            return Some(Kind::Environment);
        }
        let is_text = path.to_ascii_lowercase().ends_with(".txt");
        is_text.then_some(Kind::Requirements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_kind() {
        for (name, kind) in [
            ("Dockerfile", Some(Kind::Dockerfile)),
            ("docker/Dockerfile.gpu", Some(Kind::Dockerfile)),
            ("Dockerfile-cuda", Some(Kind::Dockerfile)),
            ("train.dockerfile", Some(Kind::Dockerfile)),
            ("Containerfile", Some(Kind::Dockerfile)),
            ("Dockerfile.dockerignore", None),
            ("Dockerfile.j2", None),
            ("conda_build_config.yaml", None),
            ("requirements.txt", Some(Kind::Requirements)),
            ("requirements-dev.in", Some(Kind::Requirements)),
            ("requirements/gpu.txt", Some(Kind::Requirements)),
            ("constraints.txt", Some(Kind::Requirements)),
            ("environment.yml", Some(Kind::Environment)),
            ("conda-gpu.yaml", Some(Kind::Environment)),
            ("pyproject.toml", Some(Kind::Pyproject)),
            ("Cargo.toml", None),
            ("notes.txt", None),
        ] {
            assert_eq!(Kind::of_name(name), kind, "{name}");
        }
    }

    #[test]
    fn the_text_tells_the_kind_where_the_name_does_not() {
        let of = |text: &str| Kind::of_text("x", text);
        assert_eq!(of("# c\nARG A=1\nFROM $A\n"), Some(Kind::Dockerfile));
        assert_eq!(
            of("name: x\ndependencies:\n  - a\n"),
            Some(Kind::Environment)
        );
        assert_eq!(of("[project]\nname='x'\n"), Some(Kind::Pyproject));
        assert_eq!(of("hello"), None);
        assert_eq!(
            Kind::of_text("deps.txt", "torch\n"),
            Some(Kind::Requirements)
        );
    }
}
