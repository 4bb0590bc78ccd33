//! pyproject.toml: the standard's dependencies and groups, and those of Poetry, uv and pixi.

mod dynamic;
mod groups;
mod pixi;
mod poetry;
mod reader;
mod uv;

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use self::groups::{Group, Include, included};
use self::poetry::specifier_of;
use self::reader::{Reader, Value};
use self::uv::Settings;
use super::context::Context;
use super::facts::{Pin, Stage};
use super::form;
use super::install::Project;
use super::kind::FileKind;
use super::marker::{self, Applies};
use super::pin::{self, Index};
use super::setup::{self, Files};
use super::stage::{Recorder, only, too_many};
use super::text::Text;
use imgcheck_base::error::Result;
use imgcheck_base::version::requirement::normalized;

/// The maximum number of groups, because each is compared with the main packages.
const MAX_GROUPS: usize = 256;

fn reader<'r>(text: &'r Text<'r>, uv: bool) -> Result<Reader<'r>> {
    let table = DeTable::parse(text.text)
        .map_err(|error| text.fault(error.span().unwrap_or_default(), error.message(), None))?;
    Ok(Reader {
        text,
        root: DeValue::Table(table.into_inner()),
        uv,
    })
}

/// The packages that the installation of a project brings: its dependencies, and those of its extras and groups.
pub fn project(
    text: &Text<'_>,
    project: &Project,
    context: &Context<'_>,
    files: Files<'_>,
) -> Result<Vec<Pin>> {
    let reader = reader(text, project.uv)?;
    let dynamic = reader.dynamic(context, files)?;
    let mut pins = reader.main()?;
    pins.extend(dynamic.main);
    let mut groups = reader.groups()?;
    groups.extend(dynamic.extras);
    let is_chosen = |group: &&Group| {
        let is = |extra: &String| normalized(extra) == normalized(&group.name);
        project.extras.iter().any(is)
    };
    pins.extend(
        groups
            .into_iter()
            .filter(|group| is_chosen(&group))
            .flat_map(|group| group.pins),
    );
    let settings = Settings::of(&reader);
    pins.iter_mut().for_each(|it| settings.apply(it));
    Ok(pins)
}

/// Notes what the settings of a project say about packages that its lock file names.
pub fn configure(text: &Text<'_>, pins: &mut [Pin]) -> Result<()> {
    let settings = Settings::of(&reader(text, true)?);
    pins.iter_mut().for_each(|it| settings.apply(it));
    Ok(())
}

/// Reads a pyproject.toml.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    let reader = reader(text, true)?;
    // A project may have an empty one.
    if !text.text.trim().is_empty() {
        reader.check_form(FileKind::Pyproject)?;
    }
    let dynamic = reader.dynamic(context, &|path| setup::beside(text, path, context))?;
    let (mut main, mut groups) = (reader.main()?, reader.groups()?);
    main.extend(dynamic.main);
    groups.extend(dynamic.extras);
    let mut stages = stages(&reader, main, groups, context)?;
    if let Some(first) = stages.first_mut() {
        first.unread = dynamic.unread;
    }
    Ok(stages)
}

/// Reads a pixi.toml.
pub fn read_pixi(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    let reader = reader(text, false)?;
    reader.check_form(FileKind::Pixi)?;
    let (main, features) = (reader.pixi_packages(&[])?, reader.pixi_features(&[])?);
    stages(&reader, main, features, context)
}

/// The main packages, and each group together with them.
fn stages(
    reader: &Reader<'_>,
    packages: Vec<Pin>,
    groups: Vec<Group>,
    context: &Context<'_>,
) -> Result<Vec<Stage>> {
    let text = reader.text;
    let settings = Settings::of(reader);
    let installed = |mut pin: Pin| {
        settings.apply(&mut pin);
        pin
    };
    let mut main = Recorder::new(context);
    main.command();
    for pin in packages {
        main.add(installed(pin), text)?;
    }
    if groups.len() > MAX_GROUPS {
        let problem = format!("more than {MAX_GROUPS} groups of dependencies");
        return Err(text.fault(0..1, &problem, None));
    }
    reader.check_includes(&groups)?;
    let mut recorders = vec![main.clone()];
    for group in &groups {
        let mut recorder = main.clone();
        for pin in group.pins.iter().chain(included(group, &groups)) {
            recorder.add(installed(pin.clone()), text)?;
        }
        recorders.push(recorder);
        if let Some(problem) = too_many(recorders.iter()) {
            let line = group.pins.first().map_or(1, |pin| pin.location.line);
            return Err(text.fault_in_line(line, &problem));
        }
    }
    let requires_python = reader
        .get(&["project", "requires-python"])
        .and_then(DeValue::as_str);
    let of_poetry = || {
        let python = reader.get(&["tool", "poetry", "dependencies", "python"])?;
        specifier_of(python.as_str()?)
    };
    let requires_python = requires_python.map(str::to_owned).or_else(of_poetry);
    let requires_python = requires_python.unwrap_or_default();
    let names = [String::new()].into_iter();
    let names = names.chain(groups.into_iter().map(|group| group.name));
    let stages = recorders.into_iter().zip(names).enumerate();
    let stages = stages.map(|(index, (recorder, name))| Stage {
        index,
        name,
        requires_python: requires_python.clone(),
        ..only(recorder)
    });
    Ok(stages.collect())
}

impl<'r> Reader<'r> {
    /// Rejects a file of another form.
    fn check_form(&self, kind: FileKind) -> Result<()> {
        form::check(self.text, kind, |key| self.root.get(key).is_some())
    }

    fn main(&self) -> Result<Vec<Pin>> {
        let mut pins = Vec::new();
        if let Some(list) = self.at(&["project", "dependencies"])? {
            pins.extend(self.requirements("dependencies", list, "")?.0);
        }
        for (name, value) in self.entries(&["tool", "poetry", "dependencies"])? {
            pins.extend(self.poetry(name, value)?);
        }
        pins.extend(self.pixi_packages(&["tool", "pixi"])?);
        Ok(pins)
    }

    fn groups(&self) -> Result<Vec<Group>> {
        let mut groups = Vec::new();
        for (path, extra) in [
            (&["project", "optional-dependencies"][..], true),
            (&["dependency-groups"], false),
        ] {
            for (name, list) in self.entries(path)? {
                let (pins, includes) = self.requirements(name, list, name)?;
                if let Some(include) = includes.first().filter(|_| extra) {
                    let problem = "only groups in `dependency-groups` can include others";
                    return Err(self.text.fault(include.place.clone(), problem, None));
                }
                groups.push(Group {
                    name: name.to_owned(),
                    pins,
                    extra,
                    includes,
                });
            }
        }
        for (name, group) in self.entries(&["tool", "poetry", "group"])? {
            self.check(name, group, &["table"], "a table")?;
            let mut pins = Vec::new();
            for (name, value) in self.entries(&["tool", "poetry", "group", name, "dependencies"])? {
                pins.extend(self.poetry(name, value)?);
            }
            groups.push(Group {
                name: name.to_owned(),
                pins,
                extra: false,
                includes: Vec::new(),
            });
        }
        groups.extend(self.pixi_features(&["tool", "pixi"])?);
        Ok(groups)
    }

    /// A list of PEP 508 requirements, and the groups that it includes.
    fn requirements(
        &self,
        key: &str,
        list: &Value<'r>,
        group: &str,
    ) -> Result<(Vec<Pin>, Vec<Include>)> {
        self.check(key, list, &["array"], "an array of requirements")?;
        let mut pins = Vec::new();
        let mut includes = Vec::new();
        let items = list.get_ref().as_array().into_iter();
        for item in items.flat_map(|items| items.iter()) {
            if let Some(written) = item.get_ref().as_str() {
                pins.extend(self.requirement(written, item.span(), group)?);
            } else if let Some(name) = item.get_ref().get("include-group") {
                self.check("include-group", name, &["string"], "the name of a group")?;
                includes.push(Include {
                    name: normalized(name.get_ref().as_str().unwrap_or_default()),
                    place: self.text.without_quotes(name.span()),
                });
            } else {
                // Other tables may get a meaning in the future.
                let entry = format!("{key}[]");
                self.check(&entry, item, &["table"], "a requirement in quotes")?;
            }
        }
        Ok((pins, includes))
    }

    /// A PEP 508 requirement.
    fn requirement(&self, written: &str, span: Range<usize>, group: &str) -> Result<Option<Pin>> {
        let span = self.text.without_quotes(span);
        let found = pin::python(written).map_err(|problem| {
            let problem = format!("invalid requirement: {problem}");
            let help = "write a requirement such as `torch==2.8.0`";
            self.text.fault(span.clone(), &problem, Some(help))
        })?;
        Ok(found.map(|mut pin| {
            self.source(&pin.name, group).apply(&mut pin);
            Pin {
                location: self.text.location(span),
                ..pin
            }
        }))
    }

    /// The index of a package in uv: `[tool.uv.sources]` names an index of `[[tool.uv.index]]`, for all dependencies or one group.
    fn source(&self, package: &str, group: &str) -> Index {
        let mut index = Index::default();
        if !self.uv {
            return index;
        }
        let named = |(name, _): &(&str, &Value<'_>)| normalized(name) == package;
        let Some((_, source)) = self.table(&["tool", "uv", "sources"]).find(named) else {
            return index;
        };
        let single = std::slice::from_ref(source);
        let several = source
            .get_ref()
            .as_array()
            .map(|sources| sources.iter().collect::<Vec<_>>());
        let sources = several.unwrap_or_else(|| single.iter().collect());
        let text = |value: &Value<'_>, key: &str| {
            Some(value.get_ref().get(key)?.get_ref().as_str()?.to_owned())
        };
        let suits = |source: &&Value<'_>| {
            let only = text(source, "extra").or_else(|| text(source, "group"));
            only.is_none_or(|only| only == group)
        };
        // A source for every Linux machine, else the one for x86-64; otherwise it is unknown which is used.
        let always_on = |source: &Value<'_>, machines: &[&str]| {
            text(source, "marker")
                .is_none_or(|marker| marker::applies_on(&marker, machines) == Ok(Applies::Always))
        };
        let sources: Vec<&Value<'_>> = sources.into_iter().filter(suits).collect();
        let taken = [&["x86_64", "aarch64"][..], &["x86_64"]]
            .into_iter()
            .find_map(|machines| sources.iter().find(|source| always_on(source, machines)));
        if let Some(name) = taken.and_then(|source| text(source, "index")) {
            let indexes = self
                .get(&["tool", "uv", "index"])
                .and_then(DeValue::as_array);
            let mut indexes = indexes.into_iter().flat_map(|indexes| indexes.iter());
            let found = indexes.find(|index| text(index, "name").as_deref() == Some(&name));
            index.instead = found.and_then(|index| text(index, "url"));
        }
        index
    }

    /// `name = "^2.1"` or `name = {version = "2.1.0", source = "pytorch-gpu"}`.
    fn poetry(&self, name: &str, value: &Value<'_>) -> Result<Option<Pin>> {
        self.check(
            name,
            value,
            &["string", "table", "array"],
            "a string or a table",
        )?;
        if name == "python" {
            return Ok(None);
        }
        let field = |key: &str| value.get_ref().get(key);
        let written = value
            .get_ref()
            .as_str()
            .map(|version| (version, value.span()));
        let (version, span) = written
            .or_else(|| {
                field("version").and_then(|value| Some((value.get_ref().as_str()?, value.span())))
            })
            .unwrap_or(("*", value.span()));
        let exact = version.trim_start_matches('=').trim();
        let fixed = exact.trim_end_matches('*').trim_end_matches('.');
        let numbers = fixed.starts_with(|c: char| c.is_ascii_digit());
        let plain = fixed
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".+".contains(c));
        let local = fixed.split_once('+').map(|(_, local)| local.to_owned());
        let other = ["url", "path", "git", "file"]
            .iter()
            .any(|key| field(key).is_some());
        let mut pin = Pin {
            name: normalized(name),
            manager: "pip".to_owned(),
            specifier: match other {
                true => "@".to_owned(),
                false => specifier_of(version).unwrap_or_else(|| version.to_owned()),
            },
            version: (numbers && plain && !other)
                .then(|| fixed.split('+').next().unwrap_or(fixed).to_owned()),
            cuda: local.as_deref().and_then(pin::cuda_of_label),
            local,
            conditional: field("markers").is_some()
                || field("optional").is_some()
                || value.get_ref().is_array(),
            text: format!("{name} {version}"),
            location: self.text.location(self.line(span)),
            ..Pin::default()
        };
        if let Some(source) = field("source").and_then(|source| source.get_ref().as_str()) {
            let sources = self
                .get(&["tool", "poetry", "source"])
                .and_then(DeValue::as_array);
            let mut sources = sources.into_iter().flat_map(|sources| sources.iter());
            let text = |value: &Value<'_>, key: &str| {
                Some(value.get_ref().get(key)?.get_ref().as_str()?.to_owned())
            };
            let found = sources.find(|known| text(known, "name").as_deref() == Some(source));
            let index = Index {
                instead: found.and_then(|found| text(found, "url")),
                ..Index::default()
            };
            index.apply(&mut pin);
        }
        Ok(Some(pin))
    }
}
