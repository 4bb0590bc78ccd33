//! Reads the cases of `testdata/launch`. Its README describes the format.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use imgcheck::Overlay;
use imgcheck_base::glob::glob;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::program::repository;

/// An image, how a container of it starts, and what is expected of that.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The file and the names of the groups, for messages.
    #[serde(skip)]
    pub title: String,
    /// The files of the image that the case is based on.
    #[serde(skip)]
    pub base: BTreeMap<String, File>,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub files: BTreeMap<String, File>,
    /// Versions of copies of PyTorch by their directories.
    #[serde(default)]
    pub torch: BTreeMap<String, String>,
    #[serde(default)]
    pub config: Config,
    #[serde(default)]
    pub overlay: Overlay,
    pub expect: Option<Map<String, Value>>,
}

/// A file of an image: exactly one of text, link and kind; a zip archive has both kind and text.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub text: Option<String>,
    pub link: Option<String>,
    pub kind: Option<Kind>,
    /// Octal digits.
    mode: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Program,
    Library,
    Directory,
    /// A file whose content imgcheck does not know.
    Unread,
    /// A zip archive with another PyTorch, and the text as its program.
    Zip,
}

/// `config` of an image configuration, with its variables as a map.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase", default)]
pub struct Config {
    pub entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
    pub env: BTreeMap<String, String>,
    pub working_dir: Option<String>,
    user: Option<String>,
}

impl Case {
    /// The files that are not those of the image.
    pub fn own_files(&self) -> impl Iterator<Item = (&String, &File)> {
        let is_own = |(path, file): &(&String, &File)| self.base.get(*path) != Some(*file);
        self.files.iter().filter(is_own)
    }

    pub fn expects(&self, key: &str) -> bool {
        self.expect.as_ref().is_some_and(|it| it.contains_key(key))
    }

    /// What is expected and was not found. Each key of the expectation is one of `found`.
    pub fn differences(&self, found: &Value) -> Vec<String> {
        let expected = self.expect.iter().flatten();
        let differs = |(key, expected): (&String, &Value)| match found.get(key) {
            None => Some(format!("{}: unknown expectation `{key}`", self.title)),
            Some(actual) if agrees(key, expected, actual) => None,
            Some(actual) => Some(format!(
                "{}: {key} is {actual:#}, expected {expected}",
                self.title
            )),
        };
        expected.filter_map(differs).collect()
    }
}

/// Gaps and failures are patterns of the messages, in order; variables are those that the case is about.
fn agrees(key: &str, expected: &Value, actual: &Value) -> bool {
    match key {
        "gaps" | "failures" => texts(expected).is_some_and(|patterns| {
            let messages = texts(actual).unwrap_or_default();
            let mut pairs = messages.iter().zip(&patterns);
            messages.len() == patterns.len() && pairs.all(|(it, pattern)| glob(it, pattern))
        }),
        "environment" => expected.as_object().is_some_and(|variables| {
            let value = |name: &str| actual.get(name).and_then(Value::as_str).unwrap_or_default();
            let is_set = |(name, it): (&String, &Value)| it.as_str() == Some(value(name));
            !variables.is_empty() && variables.iter().all(is_set)
        }),
        "reported" => texts(expected).is_some_and(|mut reported| {
            reported.sort_unstable();
            Some(reported) == texts(actual)
        }),
        _ => expected == actual,
    }
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

impl File {
    pub fn of(kind: Kind) -> Self {
        File {
            text: None,
            link: None,
            kind: Some(kind),
            mode: None,
        }
    }

    /// The permission bits.
    pub fn mode(&self) -> Option<u32> {
        let digits = self.mode.as_ref()?;
        Some(u32::from_str_radix(digits, 8).unwrap())
    }

    fn fault(&self) -> Option<&'static str> {
        let is_zip = self.kind == Some(Kind::Zip);
        let kinds = [
            self.text.is_some(),
            self.link.is_some(),
            self.kind.is_some(),
        ];
        let count = kinds.iter().filter(|it| **it).count();
        let is_octal = |it: &String| u32::from_str_radix(it, 8).is_ok_and(|it| it <= 0o7777);
        match &self.mode {
            Some(mode) if !is_octal(mode) => Some("mode is not octal"),
            _ if is_zip && self.text.is_some() && count == 2 => None,
            _ if is_zip || count != 1 => Some("expected one of text, link and kind"),
            _ => None,
        }
    }
}

impl Config {
    /// As an image configuration has it.
    pub fn to_json(&self) -> Value {
        let env: Vec<String> = self.variables().collect();
        let mut config = json!({
            "Entrypoint": self.entrypoint, "Cmd": self.cmd, "Env": env, "WorkingDir": self.working_dir, "User": self.user,
        });
        if let Some(map) = config.as_object_mut() {
            map.retain(|_, value| !value.is_null());
        }
        config
    }

    /// As `env` takes them.
    pub fn variables(&self) -> impl Iterator<Item = String> {
        let env = self.env.iter();
        env.map(|(name, value)| format!("{name}={value}"))
    }

    pub fn command(&self) -> impl Iterator<Item = &String> {
        self.entrypoint.iter().chain(&self.cmd).flatten()
    }

    pub fn directory(&self) -> &str {
        self.working_dir.as_deref().unwrap_or("/")
    }

    pub fn user(&self) -> &str {
        self.user.as_deref().unwrap_or("0")
    }
}

/// The cases of all files, and what is wrong with the files.
pub fn cases() -> (Vec<Case>, Vec<String>) {
    let images = yaml(&repository("testdata/launch/images.yaml")).unwrap();
    let (mut cases, mut faults) = (Vec::new(), Vec::new());
    for path in files(&repository("testdata/launch")) {
        let mut add = |case: Result<Case, String>| match case {
            Ok(case) => cases.push(case),
            Err(fault) => faults.push(fault),
        };
        let title = path.strip_prefix(repository("")).unwrap_or(&path);
        let title = title.display().to_string();
        match yaml(&path).map(|file| read(&title, file, &images, &mut add)) {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => faults.push(format!("{title}: {fault}")),
            Err(fault) => faults.push(fault),
        }
    }
    (cases, faults)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.extension() {
            _ if path.is_dir() => found.extend(files(&path)),
            Some(it) if it == "yaml" && !path.ends_with("images.yaml") => found.push(path),
            _ => {}
        }
    }
    found.sort();
    found
}

fn yaml(path: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    imgcheck_base::yaml::parse(&path.display().to_string(), &text)
        .map_err(|error| error.to_string())
}

/// Adds the cases of one file.
pub fn read(
    title: &str,
    mut file: Value,
    images: &Value,
    add: &mut impl FnMut(Result<Case, String>),
) -> Result<(), String> {
    let image = file.as_object_mut().and_then(|it| it.shift_remove("image"));
    let image = image.and_then(|it| images.get(it.as_str()?).cloned());
    let mut image = image.ok_or("expected the name of an image at `image`")?;
    normalize(&mut image);
    let mut base = json!({});
    merge(&mut base, image);
    expand(title, &file, &base, &base, add);
    Ok(())
}

/// A group hands on what it has to its cases, except what it expects.
fn expand(
    title: &str,
    node: &Value,
    outer: &Value,
    base: &Value,
    add: &mut impl FnMut(Result<Case, String>),
) {
    let mut node = node.clone();
    let cases = node.as_object_mut().and_then(|it| it.shift_remove("cases"));
    let name = node["name"].as_str().unwrap_or_default().to_owned();
    let title = match name.as_str() {
        "" => title.to_owned(),
        name => format!("{title}: {name}"),
    };
    normalize(&mut node);
    let mut whole = outer.clone();
    merge(&mut whole, node);
    let case = self::case(&title, whole.clone(), base);
    let expects = |it: &Case| it.expect.as_ref().is_some_and(|it| !it.is_empty());
    match case {
        Ok(case) if expects(&case) && !name.is_empty() => add(Ok(case)),
        Ok(case) if case.expect.is_none() && cases.is_some() => {}
        Ok(_) => add(Err(format!(
            "{title}: a case has a name and expects something"
        ))),
        Err(fault) => add(Err(fault)),
    }
    if let Some(map) = whole.as_object_mut() {
        map.shift_remove("expect");
        map.shift_remove("name");
    }
    match cases.as_ref().map(Value::as_array) {
        None => {}
        Some(Some(cases)) if !cases.is_empty() => {
            for case in cases {
                expand(&title, case, &whole, base, add);
            }
        }
        Some(_) => add(Err(format!("{title}: `cases` is a list of cases"))),
    }
}

fn case(title: &str, whole: Value, base: &Value) -> Result<Case, String> {
    let fault = |error: serde_json::Error| format!("{title}: {error}");
    let mut case: Case = serde_json::from_value(whole).map_err(fault)?;
    let files = base.get("files").cloned().unwrap_or_else(|| json!({}));
    case.base = serde_json::from_value(files).map_err(fault)?;
    case.title = title.to_owned();
    let faults = case
        .files
        .iter()
        .find_map(|(path, it)| Some((path, it.fault()?)));
    match faults {
        None => Ok(case),
        Some((path, fault)) => Err(format!("{title}: {path}: {fault}")),
    }
}

/// Writes the short forms out: a file that is a text, and `programs`.
fn normalize(node: &mut Value) {
    let Some(node) = node.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(programs)) = node.shift_remove("programs") {
        let files = node.entry("files").or_insert_with(|| json!({}));
        for program in programs {
            files[program.as_str().unwrap_or_default()] = json!({"kind": "program"});
        }
    }
    for (_, file) in node
        .get_mut("files")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        if file.is_string() {
            *file = json!({"text": file, "link": null, "kind": null});
        }
    }
}

/// Changes a value as a JSON Merge Patch does (RFC 7396): maps are merged, null removes.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, change) in patch {
        match change {
            Value::Null => {
                target.as_object_mut().map(|it| it.shift_remove(&key));
            }
            change => merge(&mut target[&key], change),
        }
    }
}
