//! conda's environment.yml.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::context::Context;
use super::facts::{Pin, Stage};
use super::pin;
use super::requirements::{self, Gathered, Line};
use super::stage::{Recorder, only};
use super::text::Text;
use imgcheck_base::error::Result;
use imgcheck_base::yaml::{self, Spanned};

/// The keys that matter; others, such as those of conda-lock and mamba, are ignored.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    channels: Option<Vec<String>>,
    #[serde(default)]
    dependencies: Option<Vec<Spanned<Dependency>>>,
}

/// A conda package, or pip packages.
enum Dependency {
    Conda(String),
    Pip(Vec<Spanned<String>>),
}

impl<'de> Deserialize<'de> for Dependency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DependencyVisitor)
    }
}

struct DependencyVisitor;

impl<'de> Visitor<'de> for DependencyVisitor {
    type Value = Dependency;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a package such as `pytorch=2.5.1`, or `pip:` with a list")
    }

    fn visit_str<E>(self, text: &str) -> Result<Dependency, E> {
        Ok(Dependency::Conda(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Dependency, E> {
        Ok(Dependency::Pip(Vec::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Dependency, A::Error> {
        let mut packages = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == "pip" {
                packages = map
                    .next_value::<Option<Vec<Spanned<String>>>>()?
                    .unwrap_or_default();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Dependency::Pip(packages))
    }
}

/// Reads an environment.yml.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    let file: File = yaml::parse(text.name, text.text)?;
    let Some(dependencies) = file.dependencies else {
        let help = "list the packages under `dependencies:`";
        return Err(text.fault(0..1, "missing key `dependencies`", Some(help)));
    };
    let channels = file.channels.unwrap_or_default();
    let mut gathered = Gathered::default();
    let mut recorder = Recorder::new(context);
    recorder.command();
    for dependency in &dependencies {
        let span = text.without_quotes(yaml::span(dependency));
        match &dependency.value {
            Dependency::Conda(written) => {
                let Some(found) = pin::conda(written) else {
                    continue;
                };
                let channels = (!channels.is_empty()).then(|| channels.join(", "));
                let pin = Pin {
                    index: found.index.clone().or(channels),
                    location: text.location(span),
                    ..found
                };
                recorder.add(pin, text)?;
            }
            Dependency::Pip(packages) => {
                for package in packages {
                    let line = Line {
                        text: package.value.trim().to_owned(),
                        span: text.without_quotes(yaml::span(package)),
                    };
                    requirements::entry(
                        text,
                        text.file_name(),
                        &line,
                        context,
                        false,
                        &mut gathered,
                    )?;
                }
            }
        }
    }
    recorder.command();
    for mut pin in gathered.pins {
        gathered.index.apply(&mut pin);
        recorder.add(pin, text)?;
    }
    Ok(vec![Stage {
        unread: gathered.unread,
        ..only(recorder)
    }])
}
