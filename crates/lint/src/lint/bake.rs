//! Bake files of Docker Buildx, in HCL and JSON: the Dockerfiles that their targets build.
//! <https://docs.docker.com/build/bake/reference/>

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::build::{self, Request};
use super::context::{Context, Neighbour};
use super::dockerfile::Build;
use super::facts::Stage;
use super::form;
use super::kind::FileKind;
use super::text::Text;
use super::variables::{Expanded, interpolate};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;

/// The maximum number of targets.
const MAX_TARGETS: usize = 256;

/// The maximum nesting of brackets: the parsers call themselves for each.
const MAX_NESTING: usize = 64;

/// The key of the text of a Dockerfile.
const INLINE: &str = "dockerfile-inline";

/// What matters of a file; the rest is ignored. An expression that is not a plain value is a text such as `${upper(NAME)}`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    variable: BTreeMap<String, Variable>,
    target: BTreeMap<String, Target>,
    group: BTreeMap<String, Group>,
    function: BTreeMap<String, IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Variable {
    default: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Group {
    targets: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Target {
    inherits: Value,
    context: Value,
    dockerfile: Value,
    #[serde(rename = "dockerfile-inline")]
    inline: Value,
    target: Value,
    args: Value,
    matrix: Value,
}

impl Target {
    fn replace(&mut self, other: Target) {
        let own = [
            &mut self.inherits,
            &mut self.context,
            &mut self.dockerfile,
            &mut self.inline,
            &mut self.target,
            &mut self.matrix,
        ];
        let others = [
            other.inherits,
            other.context,
            other.dockerfile,
            other.inline,
            other.target,
            other.matrix,
        ];
        for (own, other) in own.into_iter().zip(others).filter(|(_, it)| !it.is_null()) {
            *own = other;
        }
        match (self.args.as_object_mut(), other.args) {
            (Some(own), Value::Object(other)) => own.extend(other),
            (_, Value::Null) => {}
            (_, other) => self.args = other,
        }
    }
}

/// Reads a bake file. A target that only others inherit from is not built.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    let mut file = parse(text)?;
    form::check(text, FileKind::Bake, |key| file.has(key))?;
    for end in ["json", "hcl"] {
        let (name, other) = (name_of(text.name), format!("docker-bake.override.{end}"));
        if matches!(name, "docker-bake.hcl" | "docker-bake.json")
            && let Neighbour::Text(content) = context.neighbour(text, &other)?
        {
            file.replace(parse(&Text::new(&other, &content)?)?);
        }
    }
    let grouped = file.group.values().flat_map(|group| texts(&group.targets));
    let grouped: BTreeSet<&str> = grouped.collect();
    let inherited = file.target.values();
    let inherited: BTreeSet<&str> = inherited.flat_map(|it| texts(&it.inherits)).collect();
    let mut stages = Vec::new();
    for name in file.target.keys().take(MAX_TARGETS) {
        if inherited.contains(name.as_str()) && !grouped.contains(name.as_str()) {
            continue;
        }
        let target_place = place(text, name);
        let request = Request {
            place: file.dockerfile_place(text, name),
            target_place: target_place.clone(),
            ..Request::default()
        };
        let built = match file.complete(request, name) {
            Some(request) => build::stages(text, context, &request)?,
            None => vec![build::unread(text, name, &target_place)],
        };
        build::append(&mut stages, built);
    }
    Ok(stages)
}

/// Where the name of a target is: `target "NAME"` or `"NAME":`. The parsers keep no positions.
fn place(text: &Text<'_>, name: &str) -> Range<usize> {
    let quoted = format!("\"{name}\"");
    let mut places = text.text.match_indices(&quoted).map(|(at, _)| at);
    let start = places.find(|at| {
        let (before, rest) = text.text.split_at(*at);
        let behind = rest[quoted.len()..].trim_start();
        before.trim_end().ends_with("target") || behind.starts_with(':')
    });
    start.map_or(0..0, |start| start..start + quoted.len())
}

fn parse(text: &Text<'_>) -> Result<File> {
    if let Some(at) = too_deep(text.text) {
        let problem = format!("brackets are nested more than {MAX_NESTING} times");
        return Err(text.fault(at..at + 1, &problem, None));
    }
    if text.text.trim_start().starts_with('{') {
        return serde_json::from_str(text.text).map_err(|error| {
            let line = text.start_of(error.line());
            let at = line + error.column().saturating_sub(1);
            text.fault(at..at + 1, &error.to_string(), None)
        });
    }
    hcl::from_str(text.text).map_err(|error| match error {
        hcl::Error::Parse(error) => {
            let place = error.location();
            let at = text.start_of(place.line()) + place.column().saturating_sub(1);
            text.fault(at..at + 1, error.message(), None)
        }
        error => text.fault(0..1, &error.to_string(), None),
    })
}

/// Where brackets are nested too deeply, if anywhere. Those in strings count, too.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().position(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_NESTING
    })
}

impl File {
    /// Whether it has blocks of a kind.
    fn has(&self, block: &str) -> bool {
        match block {
            "target" => !self.target.is_empty(),
            "group" => !self.group.is_empty(),
            "variable" => !self.variable.is_empty(),
            _ => !self.function.is_empty(),
        }
    }

    /// Takes over what another file says, which counts more (Docker, "Bake file reference", "File lookup").
    fn replace(&mut self, other: File) {
        self.variable.extend(other.variable);
        self.group.extend(other.group);
        for (name, other) in other.target {
            self.target.entry(name).or_default().replace(other);
        }
    }

    /// Where a target is, or the key of its Dockerfile if the file has its text.
    fn dockerfile_place(&self, text: &Text<'_>, name: &str) -> Range<usize> {
        let has_text = |it: &&str| self.target.get(*it).is_some_and(|it| !it.inline.is_null());
        let Some(owner) = self.line(name).into_iter().find(has_text) else {
            return place(text, name);
        };
        let start = place(text, owner).start;
        let rest = text.text.get(start..).unwrap_or_default();
        let start = start + rest.find(INLINE).unwrap_or(0);
        start..start + INLINE.len()
    }

    /// What a target builds; `None` where the Dockerfile depends on something that is unknown.
    fn complete(&self, request: Request, name: &str) -> Option<Request> {
        let line = self.line(name).into_iter();
        let line: Vec<&Target> = line.filter_map(|it| self.target.get(it)).collect();
        let matrix: BTreeSet<&str> = line
            .iter()
            .filter_map(|target| target.matrix.as_object())
            .flat_map(|matrix| matrix.keys().map(String::as_str))
            .collect();
        let expanded = |value: &Value| self.expanded(value, &matrix, 0);
        // What a target says itself comes before what it inherits.
        let written = |field: fn(&Target) -> &Value| {
            let mut values = line.iter().map(|target| field(target));
            values.find(|value| !value.is_null()).map(&expanded)
        };
        let known = |field| match written(field) {
            Some(value) if value.known => Some(Some(value.text)),
            Some(_) => None,
            None => Some(None),
        };
        let mut arguments = BTreeMap::new();
        let pairs = line.iter().rev().filter_map(|it| it.args.as_object());
        for (name, value) in pairs.flatten() {
            let value = expanded(value);
            arguments.insert(name.clone(), value.known.then_some(value.text));
        }
        Some(Request {
            context: known(|it| &it.context)?.unwrap_or_default(),
            dockerfile: known(|it| &it.dockerfile)?,
            is_beside: false,
            inline: known(|it| &it.inline)?,
            build: Build {
                arguments,
                target: known(|it| &it.target)?,
            },
            ..request
        })
    }

    /// The names of a target and of those that it inherits from, the stronger one first: of several, the last one wins.
    fn line<'n>(&'n self, name: &'n str) -> Vec<&'n str> {
        let mut line = Vec::new();
        let mut seen = BTreeSet::new();
        let mut pending = vec![name];
        while let Some(name) = pending.pop() {
            let target = self.target.get(name).filter(|_| seen.insert(name));
            if let Some(target) = target {
                line.push(name);
                pending.extend(texts(&target.inherits));
            }
        }
        line
    }

    /// A value with the defaults of variables, which may name others. Names of a matrix have several values.
    fn expanded(&self, value: &Value, matrix: &BTreeSet<&str>, depth: usize) -> Expanded {
        /// The maximum number of variables that lead to each other.
        const MAX_DEPTH: usize = 8;
        match value {
            Value::String(text) => interpolate(text, &|name| {
                let variable = self.variable.get(name).filter(|_| depth < MAX_DEPTH)?;
                let default = (!matrix.contains(name)).then_some(&variable.default)?;
                let value = self.expanded(default, matrix, depth + 1);
                value.known.then_some(value.text)
            }),
            Value::Number(_) | Value::Bool(_) => Expanded {
                text: value.to_string(),
                known: true,
            },
            _ => Expanded::default(),
        }
    }
}

/// The texts of a list.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str)
}
