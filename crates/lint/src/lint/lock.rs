//! Lock files of uv and Poetry, and those of conda-lock and pixi: all packages with their versions.

mod conda;

use std::collections::HashMap;

use toml::de::{DeTable, DeValue};

use super::context::Context;
use super::facts::{Pin, Stage};
use super::form;
use super::kind::FileKind;
use super::pin::{Index, cuda_of_label};
use super::stage::{MAX_PINS, Recorder, only};
use super::text::Text;
use imgcheck_base::error::Result;
use imgcheck_base::version::requirement::normalized;

/// Reads a lock file.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    if is_yaml(text.text) {
        return conda::read(text, context);
    }
    let mut recorder = Recorder::new(context);
    recorder.command();
    for pin in packages(text)? {
        recorder.add(pin, text)?;
    }
    Ok(vec![only(recorder)])
}

/// Whether a lock file is in YAML, and not in TOML: `key:` comes before `key =`.
fn is_yaml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let mark = first.and_then(|line| line.chars().find(|c| matches!(c, ':' | '=' | '[')));
    mark == Some(':')
}

/// The packages of a lock file of uv or Poetry. One that is locked in several versions depends on the machine or an extra.
pub fn packages(text: &Text<'_>) -> Result<Vec<Pin>> {
    let table = DeTable::parse(text.text)
        .map_err(|error| text.fault(error.span().unwrap_or_default(), error.message(), None))?;
    form::check(text, FileKind::Lock, |key| {
        table.get_ref().contains_key(key)
    })?;
    let packages = table
        .get_ref()
        .get("package")
        .and_then(|it| it.get_ref().as_array());
    let mut pins: Vec<Pin> = Vec::new();
    for package in packages.into_iter().flat_map(|packages| packages.iter()) {
        let package = package.get_ref();
        let written = |key: &str| package.get(key).and_then(|value| value.get_ref().as_str());
        let (Some(name), Some(version), true) =
            (written("name"), written("version"), pins.len() <= MAX_PINS)
        else {
            continue;
        };
        let source = package.get("source").map(|source| source.get_ref());
        let origin = |key: &str| Some(source?.get(key)?.get_ref().as_str()?.to_owned());
        // The project itself.
        if ["editable", "virtual"]
            .iter()
            .any(|key| origin(key).is_some())
        {
            continue;
        }
        let index = origin("registry")
            .or_else(|| origin("url"))
            .filter(|url| !url.contains("pypi.org"));
        let (release, local) = version.split_once('+').unwrap_or((version, ""));
        let mut pin = Pin {
            name: normalized(name),
            manager: "pip".to_owned(),
            specifier: format!("=={version}"),
            version: Some(release.to_owned()),
            local: (!local.is_empty()).then(|| local.to_owned()),
            cuda: cuda_of_label(local),
            text: format!("{name}=={version}"),
            conditional: matches!(
                package.get("optional").map(|it| it.get_ref()),
                Some(DeValue::Boolean(true))
            ),
            location: text.location(package.get("version").map_or(0..0, |it| it.span())),
            ..Pin::default()
        };
        Index {
            instead: index,
            ..Index::default()
        }
        .apply(&mut pin);
        pins.push(pin);
    }
    let mut count: HashMap<String, usize> = HashMap::new();
    for pin in &pins {
        *count.entry(pin.name.clone()).or_default() += 1;
    }
    let manifest = table.get_ref().get("manifest");
    let has_overrides = manifest.is_some_and(|it| it.get_ref().get("overrides").is_some());
    for pin in &mut pins {
        pin.conditional |= count[&pin.name] > 1;
        pin.alone |= has_overrides;
    }
    Ok(pins)
}
