//! Which code that Python runs at its start leaves its search path as it is.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::pattern::matches_pattern;
use imgcheck_base::digest;
use imgcheck_base::version;

/// Which startup code leaves the search path as it is: `rules/knowledge/python-startup.yaml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StartupKnowledge {
    lines: Vec<KnownLine>,
    namespaces: Vec<KnownLine>,
    modules: Vec<KnownText>,
    editable_finders: Vec<KnownText>,
    /// Modules whose place matters, each with patterns of the distributions that install it.
    watched: BTreeMap<String, Vec<String>>,
    /// Texts of modules that may change the search path.
    touches: Vec<String>,
    /// Modules that such a module may import.
    imports: Vec<String>,
    /// The same, if they are not installed.
    optional: Vec<String>,
    /// Modules of the standard library that Python imports before it looks for packages.
    early: Vec<EarlyModules>,
    /// Lines of the package `encodings` that import modules or look like it.
    encodings: EncodingLines,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownLine {
    line: String,
    #[serde(default)]
    module: Option<String>,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownText {
    sha256: String,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct EarlyModules {
    modules: Vec<String>,
    /// The last release that does.
    #[serde(default)]
    until: Option<String>,
    /// Only with filters of warnings.
    #[serde(default)]
    with_warnings: bool,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodingLines {
    lines: Vec<String>,
    #[serde(rename = "source")]
    _source: String,
}

/// What a line of a `.pth` file does that begins with `import`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartupLine<'l> {
    /// Nothing that matters.
    Harmless,
    /// It runs this module, and does nothing else that matters.
    Runs(&'l str),
    /// It installs this finder of an editable install.
    Editable(&'l str),
    /// It may do anything.
    Unknown,
}

impl StartupKnowledge {
    /// What a line of a `.pth` file does.
    pub(super) fn line<'l>(&'l self, line: &'l str) -> StartupLine<'l> {
        let line = line.trim_end();
        let mut known = self.lines.iter();
        if let Some(known) = known.find(|known| known.line == line) {
            let module = known.module.as_deref();
            return module.map_or(StartupLine::Harmless, StartupLine::Runs);
        }
        match (editable_finder(line), self.namespace(line)) {
            (Some(finder), _) => StartupLine::Editable(finder),
            (_, Some(name)) if !self.watches(&name) => StartupLine::Harmless,
            _ => StartupLine::Unknown,
        }
    }

    /// The namespace package that a line makes.
    fn namespace(&self, line: &str) -> Option<String> {
        static PATH: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"\*(\((?:'\w+'(?:, |,?\)))+)\);").ok());
        let path = PATH.as_ref()?.captures(line)?.get(1)?.as_str();
        let parts: Vec<&str> = path.split('\'').skip(1).step_by(2).collect();
        let name = parts.join(".");
        let child = match parts.split_last()? {
            (_, []) => String::new(),
            (child, parents) => {
                let parent = parents.join(".");
                format!(";m and setattr(sys.modules['{parent}'], '{child}', m)")
            }
        };
        let mut known = self.namespaces.iter();
        let is_known = known.any(|known| {
            let made = known.line.replace("{path}", path).replace("{name}", &name);
            line == made + &child
        });
        is_known.then_some(name)
    }

    /// Modules of the standard library that startup code may import.
    pub(super) fn imports(&self) -> &[String] {
        &self.imports
    }

    /// Whether the place of a module, or of the package that it is in, matters.
    fn watches(&self, module: &str) -> bool {
        let package = module.split('.').next().unwrap_or_default();
        self.watched.contains_key(package)
    }

    /// The modules whose place matters.
    pub(super) fn watched(&self) -> impl Iterator<Item = &str> {
        self.watched.keys().map(String::as_str)
    }

    /// The watched modules that a distribution installs.
    pub(super) fn modules_of<'k>(&'k self, distribution: &str) -> impl Iterator<Item = &'k str> {
        let is_of = |patterns: &[String]| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| matches_pattern(pattern, distribution))
        };
        let watched = self.watched.iter();
        watched.filter_map(move |(module, patterns)| is_of(patterns).then_some(module.as_str()))
    }

    /// The modules of the standard library that a release imports before it looks for packages, and that a directory of PYTHONPATH may
    /// replace.
    pub(super) fn early_modules(
        &self,
        release: &str,
        has_warnings: bool,
    ) -> impl Iterator<Item = &str> {
        let is_later = |until: &String| version::compare(release, until) == Some(Ordering::Greater);
        let rows = self.early.iter();
        let rows = rows.filter(move |row| has_warnings || !row.with_warnings);
        let rows = rows.filter(move |row| !row.until.as_ref().is_some_and(is_later));
        rows.flat_map(|row| row.modules.iter().map(String::as_str))
    }

    /// Whether a module of the package `encodings` leaves the search path as it is.
    pub(super) fn is_harmless_encoding(&self, text: &str) -> bool {
        let is_known = |line: &&str| self.encodings.lines.iter().any(|it| it == line.trim());
        let others: Vec<&str> = text
            .split(['\n', '\r'])
            .filter(|it| !is_known(it))
            .collect();
        !self.touches(&others.join("\n"))
    }

    /// Whether a module that a line runs leaves the search path as it is.
    pub(super) fn is_harmless_module(&self, text: &str) -> bool {
        is_known(&self.modules, text)
    }

    /// What is not understood of a finder of an editable install, or which watched module it leads to; `None` if it is harmless.
    pub(super) fn problem_of_finder(&self, text: &str) -> Option<String> {
        /// With the type that newer versions of setuptools write.
        const DATA: [(&str, &str); 3] = [
            ("MAPPING", ": dict[str, str]"),
            ("NAMESPACES", ": dict[str, list[str]]"),
            ("PATH_PLACEHOLDER", ""),
        ];
        let is_data = |line: &&str| DATA.iter().any(|(name, _)| line.starts_with(name));
        let (data, code): (Vec<&str>, Vec<&str>) = text.split_inclusive('\n').partition(is_data);
        let unknown = || Some("may change where modules come from".to_owned());
        if !is_known(&self.editable_finders, &code.concat()) || data.len() != DATA.len() {
            return unknown();
        }
        for (line, (name, annotation)) in data.iter().zip(DATA) {
            let is_head = |head: &str| {
                let rest = head.strip_prefix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest == annotation)
            };
            let value = line.split_once(" = ").filter(|(head, _)| is_head(head));
            let Some((_, value)) = value else {
                return unknown();
            };
            if name == "PATH_PLACEHOLDER" {
                match is_placeholder(value) {
                    true => continue,
                    false => return unknown(),
                }
            }
            let Some(modules) = keys(value) else {
                return unknown();
            };
            if let Some(module) = modules.into_iter().find(|module| self.watches(module)) {
                return Some(format!("says where {module} is imported from"));
            }
        }
        None
    }

    /// Whether a module may change the search path.
    pub(super) fn touches(&self, text: &str) -> bool {
        // Python ends lines at a lone carriage return, too.
        let lines = text.split(['\n', '\r']);
        let mut code = lines.filter(|line| !line.trim_start().starts_with('#'));
        code.any(|line| {
            let mut touches = self.touches.iter();
            // What a line that continues another imports is hard to tell.
            line.ends_with('\\')
                || touches.any(|word| line.contains(word.as_str()))
                || self.imports_unknown(line)
        })
    }

    /// Whether a line imports a module that may do anything.
    fn imports_unknown(&self, line: &str) -> bool {
        static IMPORT: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"(?:\bfrom\s+(\S+)\s+)?\bimport\b([^#;]*)").ok());
        let Some(import) = IMPORT.as_ref() else {
            return true;
        };
        let is_known = |name: &str| {
            let mut known = self.imports.iter().chain(&self.optional);
            known.any(|known| known == name)
        };
        import.captures_iter(line).any(|found| {
            let names = found.get(2).map_or("", |names| names.as_str());
            match found.get(1).map(|module| module.as_str()) {
                // It may give `sys.path` a different name.
                Some(module) => module == "sys" || !is_known(module),
                None => !names.split(',').all(|name| is_known(name.trim())),
            }
        })
    }

    /// Modules that [`Self::touches`] takes for absent.
    pub(super) fn optional(&self) -> &[String] {
        &self.optional
    }
}

fn is_known(known: &[KnownText], text: &str) -> bool {
    let digest = digest::sha256(text.as_bytes());
    let digest = digest.trim_start_matches("sha256:");
    known.iter().any(|known| known.sha256 == digest)
}

/// The finder that a line of an editable install imports and installs (`setuptools/command/editable_wheel.py`).
fn editable_finder(line: &str) -> Option<&str> {
    let (module, call) = line.strip_prefix("import ")?.split_once("; ")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_finder = module.starts_with("__editable__") && module.ends_with("_finder");
    let installs = call.strip_prefix(module) == Some(".install()");
    (is_finder && installs && module.chars().all(is_name)).then_some(module)
}

/// `'…' + ".__path_hook__"`
fn is_placeholder(value: &str) -> bool {
    let name = value.trim_end().strip_suffix(" + \".__path_hook__\"");
    let name = name.and_then(|name| name.strip_prefix('\'')?.strip_suffix('\''));
    name.is_some_and(|name| !name.contains(['\'', '\\']))
}

/// The keys of a Python dictionary of texts, or of lists of texts, as `repr` writes it. `None` if it may be something else.
fn keys(value: &str) -> Option<Vec<&str>> {
    static ENTRY: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let text = r"'[^'\\\n]*'";
        let entry = format!(r"^('[\w.]*'): (?:{text}|\[(?:{text}(?:, {text})*)?\])(?:, |$)");
        Regex::new(&entry).ok()
    });
    let mut rest = value.trim_end().strip_prefix('{')?.strip_suffix('}')?;
    let mut keys = Vec::new();
    while !rest.is_empty() {
        let entry = ENTRY.as_ref()?.captures(rest)?;
        keys.push(entry.get(1)?.as_str().trim_matches('\''));
        rest = &rest[entry.get(0)?.end()..];
    }
    Some(keys)
}
