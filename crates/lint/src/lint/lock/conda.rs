//! `conda-lock.yml` and `pixi.lock`: the packages of each environment on Linux with x86-64.

use std::collections::{BTreeMap, HashMap};

use super::super::context::Context;
use super::super::facts::{Pin, Stage};
use super::super::form;
use super::super::kind::FileKind;
use super::super::pin;
use super::super::stage::{MAX_PINS, Recorder, only};
use super::super::text::Text;
use imgcheck_base::document::{self, Node};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;

const PLATFORM: &str = "linux-64";

/// The maximum number of environments.
const MAX_ENVIRONMENTS: usize = 64;

/// Reads a lock file. Each environment is a stage.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    let documents = document::read(text.name, text.text)?;
    form::check_documents(text, FileKind::Lock, &documents)?;
    let mut environments: BTreeMap<&str, Vec<Pin>> = BTreeMap::new();
    for document in &documents {
        let versions = versions(document);
        let listed = document.get("environments").into_iter();
        for (name, environment) in listed.flat_map(Node::entries).take(MAX_ENVIRONMENTS) {
            let packages = environment.at(["packages", PLATFORM]).into_iter();
            let pins = environments.entry(name.text().unwrap_or_default());
            let pins = pins.or_default();
            let packages = packages.flat_map(Node::items).take(MAX_PINS + 1);
            pins.extend(packages.filter_map(|it| of_pixi(it, &versions, text)));
        }
        let packages: Vec<&Node> = document.items_of("package").collect();
        if !packages.is_empty() {
            let pins = environments.entry("default").or_default();
            let packages = packages.into_iter().take(MAX_PINS + 1);
            pins.extend(packages.filter_map(|it| of_conda_lock(it, text)));
        }
    }
    let mut stages = Vec::new();
    for (index, (name, pins)) in environments.into_iter().enumerate() {
        let mut recorder = Recorder::new(context);
        recorder.command();
        for pin in pins {
            recorder.add(pin, text)?;
        }
        let name = if name == "default" { "" } else { name };
        stages.push(Stage {
            index,
            name: name.to_owned(),
            ..only(recorder)
        });
    }
    Ok(stages)
}

/// Name and version of the packages of a pixi.lock, by their address.
fn versions(document: &Node) -> HashMap<&str, (&str, &str)> {
    let packages = document.items_of("packages");
    let versions = packages.filter_map(|package| {
        let address = package.text_of("pypi")?;
        Some((
            address,
            (package.text_of("name")?, package.text_of("version")?),
        ))
    });
    versions.collect()
}

/// `- conda: ADDRESS` or `- pypi: ADDRESS`.
fn of_pixi(package: &Node, versions: &HashMap<&str, (&str, &str)>, text: &Text<'_>) -> Option<Pin> {
    if let Some(address) = package.get("conda") {
        return of_conda(address, text);
    }
    let address = package.get("pypi")?;
    let (name, version) = versions.get(address.text()?)?;
    of_pypi(name, version, address, text)
}

/// An element of `package` in a conda-lock.yml.
fn of_conda_lock(package: &Node, text: &Text<'_>) -> Option<Pin> {
    let is_chosen = package.text_of("platform") == Some(PLATFORM)
        && package.text_of("optional") != Some("true")
        && package.text_of("category").is_none_or(|it| it == "main");
    if !is_chosen {
        return None;
    }
    match package.text_of("manager") {
        Some("conda") => of_conda(package.get("url")?, text),
        Some("pip") => of_pypi(
            package.text_of("name")?,
            package.text_of("version")?,
            package.get("version")?,
            text,
        ),
        _ => None,
    }
}

/// A package by its address: `https://conda.anaconda.org/conda-forge/linux-64/pytorch-2.5.1-cuda126_py312h1234567_300.conda`.
fn of_conda(address: &Node, text: &Text<'_>) -> Option<Pin> {
    let written = address.text()?;
    let file = name_of(written.split('#').next()?);
    let file = file
        .strip_suffix(".conda")
        .or(file.strip_suffix(".tar.bz2"))?;
    let (rest, build) = file.rsplit_once('-')?;
    let (name, version) = rest.rsplit_once('-')?;
    let mut folders = written.rsplit('/').skip(2);
    Some(Pin {
        index: folders.next().map(str::to_owned),
        text: format!("{name}={version}={build}"),
        location: text.location(text.without_quotes(address.span.clone())),
        ..pin::conda(&format!("{name}={version}={build}"))?
    })
}

fn of_pypi(name: &str, version: &str, place: &Node, text: &Text<'_>) -> Option<Pin> {
    let pin = pin::python(&format!("{name}=={version}")).ok().flatten()?;
    Some(Pin {
        location: text.location(text.without_quotes(place.span.clone())),
        ..pin
    })
}
