//! Compose files: <https://github.com/compose-spec/compose-spec/blob/main/spec.md>. The images of services, and the Dockerfiles that they
//! build with their context, arguments and target.

mod files;

use std::collections::BTreeMap;
use std::ops::Range;

use super::build::{self, Request};
use super::context::{Context, Neighbour};
use super::dockerfile::Build;
use super::facts::{Base, Stage};
use super::form;
use super::kind::FileKind;
use super::text::Text;
use super::variables::{Expanded, interpolate};
use files::Place;
use imgcheck_base::document::{self, Node, Value};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;
use imgcheck_base::reference::name::Name;

/// The maximum number of services.
const MAX_SERVICES: usize = 256;

/// The services of a document, if it is a Compose file.
pub fn services(document: &Node) -> Option<&Node> {
    let services = document.get("services")?;
    let is_map = services.entries().next().is_some();
    (is_map && document.get("apiVersion").is_none()).then_some(services)
}

/// A text with the defaults of its variables.
pub fn interpolated(text: &str) -> Expanded {
    interpolate(text, &|_| None)
}

/// Pairs of a map or of a list of `NAME=value`; a name without a value has the value of the shell.
pub fn pairs(node: Option<&Node>) -> impl Iterator<Item = (&str, Option<&str>, &Node)> {
    let mapped = node.into_iter().flat_map(Node::entries);
    let mapped = mapped.map(|(key, value)| (key.text().unwrap_or_default(), value.text(), value));
    let listed = node.into_iter().flat_map(Node::items);
    let listed = listed.filter_map(|item| {
        let text = item.text()?;
        let (name, value) = text
            .split_once('=')
            .map_or((text, None), |(name, value)| (name, Some(value)));
        Some((name, value, item))
    });
    mapped.chain(listed)
}

/// The variables of the file `.env` beside a Compose file.
type Variables = BTreeMap<String, String>;

/// A Compose file whose services are read.
struct File<'f> {
    place: Place<'f>,
    variables: &'f Variables,
}

/// Reads a Compose file, with the variables and the other file that Compose reads without being told, and those that it names.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    read_nested(text, context, 0)
}

fn read_nested(text: &Text<'_>, context: &Context<'_>, depth: usize) -> Result<Vec<Stage>> {
    let mut documents = document::read(text.name, text.text)?;
    let own = documents.iter().filter(|it| it.get("apiVersion").is_none());
    form::check_documents(text, FileKind::Compose, own)?;
    if let Some(others) = others(text, context)? {
        let mut documents = documents.iter_mut();
        if let Some(document) = documents.find(|it| services(it).is_some()) {
            merge(document, &others);
        }
    }
    let variables = match context.neighbour(text, ".env")? {
        Neighbour::Text(content) => variables(&content),
        Neighbour::Unread | Neighbour::Missing => Variables::new(),
    };
    let file = File {
        place: Place {
            text,
            context,
            depth,
        },
        variables: &variables,
    };
    let services = documents.iter().filter_map(services);
    let services = services.flat_map(Node::entries).map(|(_, service)| service);
    let mut stages = Vec::new();
    let included = documents.iter().flat_map(files::included);
    for path in included.take(MAX_SERVICES) {
        build::append(&mut stages, file.include(path)?);
    }
    for service in services.take(MAX_SERVICES) {
        build::append(&mut stages, file.service(service)?);
    }
    Ok(stages)
}

impl File<'_> {
    /// What a service builds, or the image that it is.
    fn service(&self, service: &Node) -> Result<Vec<Stage>> {
        let (text, context) = (self.place.text, self.place.context);
        if let Some(section) = service.get("build") {
            let request = request(text, section, self.variables);
            return build::stages(text, context, &request);
        }
        if let Some(image) = service.get("image") {
            return Ok(pulled(text, image, self.variables));
        }
        let extended = service.get("extends");
        let other = extended.and_then(|it| Some((it.get("file")?, it.text_of("service")?)));
        other.map_or(Ok(Vec::new()), |(path, name)| self.extend(path, name))
    }

    /// The stages of another file.
    fn include(&self, path: &Node) -> Result<Vec<Stage>> {
        let depth = self.place.depth + 1;
        let read = |text: &Text<'_>, context: &Context<'_>| read_nested(text, context, depth);
        self.place.follow(path, read)
    }

    /// The stages of a service of another file.
    fn extend(&self, path: &Node, name: &str) -> Result<Vec<Stage>> {
        self.place.follow(path, |text, context| {
            let documents = document::read(text.name, text.text)?;
            let mut services = documents.iter().filter_map(services);
            let place = Place {
                text,
                context,
                depth: self.place.depth + 1,
            };
            let variables = self.variables;
            match services.find_map(|it| it.get(name)) {
                Some(service) => File { place, variables }.service(service),
                None => Ok(vec![build::unread(self.place.text, name, &path.span)]),
            }
        })
    }
}

/// The content of `compose.override.yaml` beside `compose.yaml`, and of other pairs of names (Compose, "Merge Compose files").
fn others(text: &Text<'_>, context: &Context<'_>) -> Result<Option<Node>> {
    let name = name_of(text.name);
    let stem = name.strip_suffix(".yaml").or(name.strip_suffix(".yml"));
    let Some(stem @ ("compose" | "docker-compose")) = stem else {
        return Ok(None);
    };
    for end in ["yml", "yaml"] {
        let other = format!("{stem}.override.{end}");
        if let Neighbour::Text(content) = context.neighbour(text, &other)? {
            let documents = document::read_embedded(&content).unwrap_or_default();
            return Ok(documents.into_iter().next());
        }
    }
    Ok(None)
}

/// Merges the builds and images of another file's services into those of a document. Places stay those of the document.
fn merge(document: &mut Node, others: &Node) {
    let others = others.get("services").into_iter().flat_map(Node::entries);
    for (name, other) in others.take(MAX_SERVICES) {
        let name = name.text().unwrap_or_default();
        let services = document.at_mut(&["services"]);
        let Some(services) = services else { return };
        let span = services.span.clone();
        let mut service = services.get(name).cloned().unwrap_or(Node {
            span: span.clone(),
            value: Value::Map(Vec::new()),
        });
        for key in ["build", "image"] {
            let Some(value) = other.get(key) else {
                continue;
            };
            let mut value = value.clone();
            value.place_at(&span);
            let merged = match service.get(key) {
                Some(own) if key == "build" => merged_build(own, &value),
                _ => value,
            };
            service.set(key, merged);
        }
        services.set(name, service);
    }
}

/// A build with what another one replaces: `build: DIRECTORY` is short for its context, and arguments are merged by name.
fn merged_build(own: &Node, other: &Node) -> Node {
    let node = |value: Value| Node {
        span: own.span.clone(),
        value,
    };
    let long = |build: &Node| match build.text() {
        Some(_) => {
            let mut long = node(Value::Map(Vec::new()));
            long.set("context", build.clone());
            long
        }
        None => build.clone(),
    };
    let (mut merged, other) = (long(own), long(other));
    for (key, value) in other.entries().take(MAX_SERVICES) {
        match key.text().unwrap_or_default() {
            "args" => {
                let pairs = pairs(merged.get("args")).chain(pairs(other.get("args")));
                let pairs = pairs.take(MAX_SERVICES).map(|(name, value, at)| {
                    let name = node(Value::Text(name.to_owned()));
                    let text = value.map(|it| Value::Text(it.to_owned()));
                    (
                        name,
                        Node {
                            span: at.span.clone(),
                            value: text.unwrap_or(Value::Null),
                        },
                    )
                });
                let pairs: BTreeMap<String, (Node, Node)> = pairs
                    .map(|it| (it.0.text().unwrap_or_default().to_owned(), it))
                    .collect();
                merged.set("args", node(Value::Map(pairs.into_values().collect())));
            }
            key => merged.set(key, value.clone()),
        }
    }
    merged
}

/// The variables of a file `.env`: `NAME=value`, with or without quotes, but for those that name others.
fn variables(content: &str) -> Variables {
    let pair = |line: &str| {
        let (name, value) = line.trim().split_once('=')?;
        let name = name.strip_prefix("export ").unwrap_or(name).trim();
        let value = value.trim();
        let quoted = value.strip_prefix(['"', '\'']);
        let value = match quoted {
            Some(inner) => inner.split(['"', '\'']).next().unwrap_or_default(),
            None => value.split(" #").next().unwrap_or_default().trim_end(),
        };
        let is_plain = !name.starts_with('#') && !value.contains('$');
        is_plain.then(|| (name.to_owned(), value.to_owned()))
    };
    content.lines().filter_map(pair).collect()
}

/// A service that is an image.
fn pulled(text: &Text<'_>, image: &Node, variables: &Variables) -> Vec<Stage> {
    let written = image.text().unwrap_or_default();
    let reference = interpolate(written, &|name| variables.get(name).cloned());
    let name = reference.text.parse::<Name>().ok();
    let name = name.filter(|_| reference.known);
    let base = Base {
        written: written.to_owned(),
        reference: name.is_some().then_some(reference.text),
        repository: name.map(|name| name.repository).unwrap_or_default(),
        location: text.location(text.without_quotes(image.span.clone())),
        ..Base::default()
    };
    vec![Stage {
        shipped: true,
        base: Some(base),
        ..Stage::default()
    }]
}

/// `build: DIRECTORY`, or a section.
fn request(text: &Text<'_>, section: &Node, variables: &Variables) -> Request {
    let interpolated = |it: &str| interpolate(it, &|name| variables.get(name).cloned());
    let written = |key: &str| section.text_of(key).map(|text| interpolated(text).text);
    let context = section.text().map(|text| interpolated(text).text);
    let arguments = pairs(section.get("args")).filter_map(|(name, value, node)| {
        let number = number(text, value?, &node.span);
        let value = interpolated(number.as_deref().or(value)?);
        Some((name.to_owned(), value.known.then_some(value.text)))
    });
    let keys = ["dockerfile_inline", "dockerfile", "context"];
    let named = keys.iter().find_map(|key| section.get(key));
    let span = |node: Option<&Node>| node.unwrap_or(section).span.clone();
    Request {
        context: context.or_else(|| written("context")).unwrap_or_default(),
        dockerfile: written("dockerfile"),
        is_beside: false,
        inline: written("dockerfile_inline"),
        place: span(named),
        target_place: span(section.get("target")),
        build: Build {
            arguments: arguments.collect::<BTreeMap<_, _>>(),
            target: written("target"),
        },
    }
}

/// What Compose makes of a number without quotes: `2.10` is 2.1 (compose-go, `mappingValue` in `types/mapping.go`).
fn number(text: &Text<'_>, value: &str, span: &Range<usize>) -> Option<String> {
    let is_plain = text.text.get(span.clone()).map(str::trim) == Some(value);
    let is_decimal = value.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let number: f64 = value.parse().ok()?;
    (is_plain && is_decimal && value.contains('.')).then(|| number.to_string())
}
