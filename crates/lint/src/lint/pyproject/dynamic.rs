//! `[tool.setuptools.dynamic]`: dependencies that setuptools reads from requirements files.
//! <https://setuptools.pypa.io/en/latest/userguide/pyproject_config.html#dynamic-metadata>

use super::super::context::Context;
use super::super::facts::{Pin, SearchDirectory};
use super::super::setup::{Files, of_file};
use super::groups::Group;
use super::reader::{Reader, Value};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::simplified;

/// The packages of a project that are in other files.
#[derive(Default)]
pub struct Dynamic {
    pub main: Vec<Pin>,
    pub extras: Vec<Group>,
    /// Files that are not read.
    pub unread: Vec<SearchDirectory>,
}

impl Reader<'_> {
    /// Reads the files that the project leaves its dependencies and extras to.
    pub(super) fn dynamic(&self, context: &Context<'_>, files: Files<'_>) -> Result<Dynamic> {
        const TABLE: [&str; 3] = ["tool", "setuptools", "dynamic"];
        let mut dynamic = Dynamic::default();
        let mut read = |value: &Value<'_>| -> Result<Vec<Pin>> {
            let mut pins = Vec::new();
            for file in listed(value) {
                let path = file.get_ref().as_str().unwrap_or_default();
                match of_file(&simplified(path), context, files)? {
                    Some(found) => pins.extend(found),
                    None => dynamic.unread.push(SearchDirectory {
                        text: path.to_owned(),
                        location: self.text.location(self.text.without_quotes(file.span())),
                    }),
                }
            }
            Ok(pins)
        };
        if self.leaves("dependencies") {
            let mut keys = self.table(&TABLE);
            if let Some((_, value)) = keys.find(|(key, _)| *key == "dependencies") {
                dynamic.main = read(value)?;
            }
        }
        if self.leaves("optional-dependencies") {
            for (name, value) in self.table(&[&TABLE[..], &["optional-dependencies"]].concat()) {
                dynamic.extras.push(Group {
                    name: name.to_owned(),
                    pins: read(value)?,
                    extra: true,
                    includes: Vec::new(),
                });
            }
        }
        Ok(dynamic)
    }

    /// Whether `project.dynamic` has a key, without which setuptools does not look at its files.
    fn leaves(&self, key: &str) -> bool {
        let keys = self.get(&["project", "dynamic"]);
        let mut keys = keys.and_then(|it| it.as_array()).into_iter().flatten();
        keys.any(|it| it.get_ref().as_str() == Some(key))
    }
}

/// The files of `{file = "FILE"}` or `{file = ["FILE"]}`.
fn listed<'v, 'r>(value: &'v Value<'r>) -> impl Iterator<Item = &'v Value<'r>> {
    let file = value.get_ref().get("file");
    let several = file.and_then(|it| it.get_ref().as_array());
    let one = file.filter(|it| it.get_ref().is_str());
    one.into_iter().chain(several.into_iter().flatten())
}
