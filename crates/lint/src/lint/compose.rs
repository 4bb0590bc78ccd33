//! Compose files: <https://github.com/compose-spec/compose-spec/blob/main/spec.md>. The images of services, and the Dockerfiles that they
//! build with their context, arguments and target.

use std::collections::BTreeMap;

use super::build::{self, Request};
use super::context::Context;
use super::dockerfile::Build;
use super::facts::{Base, Stage};
use super::text::Text;
use super::variables::{Expanded, interpolate};
use imgcheck_base::document::{self, Node};
use imgcheck_base::error::Result;
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

/// Reads a Compose file.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    let documents = document::read(text.name, text.text)?;
    let services = documents.iter().filter_map(services);
    let services = services.flat_map(Node::entries).map(|(_, service)| service);
    let mut stages = Vec::new();
    for service in services.take(MAX_SERVICES) {
        match (service.get("build"), service.get("image")) {
            (Some(section), _) => {
                let built = build::stages(text, context, &request(section))?;
                build::append(&mut stages, built);
            }
            (None, Some(image)) => build::append(&mut stages, pulled(text, image)),
            (None, None) => {}
        }
    }
    Ok(stages)
}

/// A service that is an image.
fn pulled(text: &Text<'_>, image: &Node) -> Vec<Stage> {
    let written = image.text().unwrap_or_default();
    let reference = interpolated(written);
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
fn request(section: &Node) -> Request {
    let written = |key: &str| section.text_of(key).map(|text| interpolated(text).text);
    let context = section.text().map(|text| interpolated(text).text);
    let arguments = pairs(section.get("args")).filter_map(|(name, value, _)| {
        let value = interpolated(value?);
        Some((name.to_owned(), value.known.then_some(value.text)))
    });
    Request {
        context: context.or_else(|| written("context")).unwrap_or_default(),
        dockerfile: written("dockerfile"),
        build: Build {
            arguments: arguments.collect::<BTreeMap<_, _>>(),
            target: written("target"),
        },
    }
}
