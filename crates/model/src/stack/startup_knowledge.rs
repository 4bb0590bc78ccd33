//! Which code that Python runs at its start leaves its search path as it is.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::pattern::matches_pattern;
use imgcheck_base::digest;
use imgcheck_base::version;
use imgcheck_python::Mentions;
use imgcheck_python::ast::helpers::any_over_expr;
use imgcheck_python::ast::{Expr, ExprList, Stmt};
use imgcheck_python::syntax::{assignments, with_statements};

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
    /// What the package `encodings` mentions beyond that.
    encodings: EncodingMentions,
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
struct EncodingMentions {
    imports: Vec<String>,
    names: Vec<String>,
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
        let Ok(mut mentions) = Mentions::of(text) else {
            return false;
        };
        mentions
            .imports
            .retain(|it| !self.encodings.imports.contains(it));
        mentions
            .names
            .retain(|it| !self.encodings.names.contains(it));
        !self.is_touched(&mentions)
    }

    /// Whether a module that a line runs leaves the search path as it is.
    pub(super) fn is_harmless_module(&self, text: &str) -> bool {
        is_known(&self.modules, text)
    }

    /// What is not understood of a finder of an editable install, or which watched module it leads to; `None` if it is harmless.
    pub(super) fn problem_of_finder(&self, text: &str) -> Option<String> {
        const DATA: [&str; 3] = ["MAPPING", "NAMESPACES", "PATH_PLACEHOLDER"];
        let is_data = |line: &&str| DATA.iter().any(|name| line.starts_with(name));
        let (data, code): (Vec<&str>, Vec<&str>) = text.split_inclusive('\n').partition(is_data);
        let modules = match is_known(&self.editable_finders, &code.concat()) {
            true => modules_of_finder(&data.concat(), DATA),
            false => None,
        };
        let Some(modules) = modules else {
            return Some("may change where modules come from".to_owned());
        };
        let mut watched = modules.iter().filter(|module| self.watches(module));
        let module = watched.next()?;
        Some(format!("says where {module} is imported from"))
    }

    /// Whether a module may change the search path.
    pub(super) fn touches(&self, text: &str) -> bool {
        Mentions::of(text).map_or(true, |mentions| self.is_touched(&mentions))
    }

    fn is_touched(&self, mentions: &Mentions) -> bool {
        let has = |text: &String| self.touches.iter().any(|word| text.contains(word.as_str()));
        let is_known = |module: &String| {
            let mut known = self.imports.iter().chain(&self.optional);
            known.any(|known| known == module)
        };
        // By another name, `sys.path` is not seen.
        mentions.names.contains("sys")
            || mentions.names.iter().chain(&mentions.texts).any(has)
            || !mentions.imports.iter().all(is_known)
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

/// The modules that the data of a finder lead to: literals that are assigned to these names, in this order.
fn modules_of_finder(data: &str, names: [&str; 3]) -> Option<Vec<String>> {
    let read = |body: &[Stmt]| {
        if body.len() != names.len() {
            return None;
        }
        let mut modules = Vec::new();
        for (statement, name) in body.iter().zip(names) {
            let [(Expr::Name(target), value)] = assignments(statement)[..] else {
                return None;
            };
            match value {
                _ if target.id != name || calls_in_annotation(statement) => return None,
                Expr::Dict(dictionary) => {
                    for item in &dictionary.items {
                        let is_literal = item.value.is_string_literal_expr()
                            || item.value.as_list_expr().is_some_and(has_only_texts);
                        let key = item.key.as_ref()?.as_string_literal_expr()?;
                        modules.push(key.value.to_str().to_owned());
                        is_literal.then_some(())?;
                    }
                }
                // `'…' + ".__path_hook__"`
                Expr::BinOp(sum) => {
                    let is_text = |it: &Expr| it.is_string_literal_expr();
                    (is_text(&sum.left) && is_text(&sum.right)).then_some(())?;
                }
                _ => return None,
            }
        }
        Some(modules)
    };
    with_statements(data, read).ok()?
}

/// Python executes the annotation of a name of a module.
fn calls_in_annotation(statement: &Stmt) -> bool {
    let annotated = statement.as_ann_assign_stmt();
    annotated.is_some_and(|it| any_over_expr(&it.annotation, &Expr::is_call_expr))
}

fn has_only_texts(list: &ExprList) -> bool {
    list.elts.iter().all(Expr::is_string_literal_expr)
}
