//! Compose files: the images of services, and the Dockerfiles that they build with their context, arguments and target.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::context::{Context, Neighbour};
use super::dockerfile::{self, Build};
use super::facts::{Base, Stage};
use super::text::Text;
use super::variables::unquote;
use crate::error::Result;
use crate::reference::name::Name;
use crate::yaml::{self, Spanned};

/// The maximum number of services.
const MAX_SERVICES: usize = 256;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    services: BTreeMap<String, Option<Service>>,
}

#[derive(Deserialize)]
struct Service {
    image: Option<Spanned<String>>,
    build: Option<BuildSection>,
}

/// `build: DIRECTORY`, or a section.
#[derive(Deserialize)]
#[serde(untagged)]
enum BuildSection {
    Context(String),
    Section {
        context: Option<String>,
        dockerfile: Option<String>,
        args: Option<Arguments>,
        target: Option<String>,
    },
    Other(IgnoredAny),
}

/// A map, or a list of `NAME=value`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Arguments {
    Map(BTreeMap<String, Option<String>>),
    List(Vec<String>),
    Other(IgnoredAny),
}

/// Reads a Compose file.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    let file: File = yaml::parse(text.name, text.text)?;
    let mut stages = Vec::new();
    for service in file.services.into_values().flatten().take(MAX_SERVICES) {
        let start = stages.len();
        match (service.build, service.image) {
            (Some(build), _) => stages.extend(built(text, context, build)?),
            (None, Some(image)) => stages.push(pulled(text, &image)),
            (None, None) => {}
        }
        for stage in &mut stages[start..] {
            stage.index += start;
            if let Some(base) = &mut stage.base {
                base.stage += start;
            }
        }
    }
    Ok(stages)
}

/// A text with the defaults of its variables.
fn interpolated(text: &str) -> (String, bool) {
    let expanded = unquote(text, '\0', &|_| None, &|_| 0);
    (expanded.text, expanded.known)
}

/// A service that is an image.
fn pulled(text: &Text<'_>, image: &Spanned<String>) -> Stage {
    let (reference, known) = interpolated(&image.value);
    let name = reference.parse::<Name>().ok().filter(|_| known);
    let base = Base {
        written: image.value.clone(),
        reference: name.is_some().then_some(reference),
        repository: name.map(|name| name.repository).unwrap_or_default(),
        location: text.location(text.without_quotes(yaml::span(image))),
        ..Base::default()
    };
    Stage {
        shipped: true,
        base: Some(base),
        ..Stage::default()
    }
}

/// The stages of the Dockerfile that a service builds; none if it is not below the directory of the Compose file.
fn built(text: &Text<'_>, context: &Context<'_>, section: BuildSection) -> Result<Vec<Stage>> {
    let (directory, dockerfile, arguments, target) = match section {
        BuildSection::Context(directory) => (directory, None, None, None),
        BuildSection::Section {
            context,
            dockerfile,
            args,
            target,
        } => (context.unwrap_or_default(), dockerfile, args, target),
        BuildSection::Other(_) => return Ok(Vec::new()),
    };
    let directory = interpolated(&directory).0;
    let directory = directory.trim_start_matches("./").trim_end_matches('/');
    let within = |path: &str| match directory {
        "" | "." => path.to_owned(),
        directory => format!("{directory}/{path}"),
    };
    let file = dockerfile.map_or("Dockerfile".to_owned(), |file| interpolated(&file).0);
    let path = within(file.trim_start_matches("./"));
    let Neighbour::Text(content) = context.neighbour(text, &path)? else {
        return Ok(Vec::new());
    };
    let pairs = match arguments {
        Some(Arguments::Map(map)) => map
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        Some(Arguments::List(list)) => {
            let pairs = list.iter().filter_map(|pair| pair.split_once('='));
            pairs
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect()
        }
        _ => Vec::new(),
    };
    let pairs = pairs
        .into_iter()
        .map(|(name, value)| (name, interpolated(&value)));
    let build = Build {
        arguments: pairs
            .map(|(name, (value, known))| (name, known.then_some(value)))
            .collect(),
        target: target.map(|target| interpolated(&target).0),
    };
    let name = context.name(&path);
    let dockerfile = Text::new(&name, &content)?;
    let neighbours = |path: &str| context.found(&within(path));
    let inner = Context::new(context.catalogue, &neighbours, &context.name(directory));
    dockerfile::read(&dockerfile, &inner, &build)
}
