//! Manifests of pixi: pixi.toml, and `tool.pixi` of a pyproject.toml. <https://pixi.sh/latest/reference/pixi_manifest/>

use super::super::facts::Pin;
use super::super::pin;
use super::groups::Group;
use super::reader::{Reader, Value};
use imgcheck_base::error::Result;

impl Reader<'_> {
    /// The packages for Linux of the manifest or feature at a path, from conda and PyPI.
    pub(super) fn pixi_packages(&self, path: &[&str]) -> Result<Vec<Pin>> {
        let channels = self.pixi_channels(path);
        let mut pins = Vec::new();
        for target in [&[][..], &["target", "linux"], &["target", "linux-64"]] {
            let at = |key| [path, target, &[key]].concat();
            for (name, value) in self.entries(&at("dependencies"))? {
                self.check(name, value, &["string", "table"], "a string or a table")?;
                pins.extend(self.pixi(name, value).map(|pin| Pin {
                    index: pin.index.or_else(|| channels.clone()),
                    ..pin
                }));
            }
            for (name, value) in self.entries(&at("pypi-dependencies"))? {
                pins.extend(self.poetry(name, value)?);
            }
        }
        Ok(pins)
    }

    /// The features of the manifest at a path, as groups.
    pub(super) fn pixi_features(&self, path: &[&str]) -> Result<Vec<Group>> {
        let features = [path, &["feature"]].concat();
        let mut groups = Vec::new();
        for (name, _) in self.entries(&features)? {
            groups.push(Group {
                name: name.to_owned(),
                pins: self.pixi_packages(&[&features[..], &[name]].concat())?,
                extra: true,
                includes: Vec::new(),
            });
        }
        Ok(groups)
    }

    /// The channels of a manifest, in the order that pixi asks them.
    fn pixi_channels(&self, path: &[&str]) -> Option<String> {
        let root = path
            .split(|key| *key == "feature")
            .next()
            .unwrap_or_default();
        let list = ["workspace", "project"].iter().find_map(|section| {
            let list = self.get(&[root, &[section, "channels"]].concat())?;
            list.as_array()
        });
        let names = list.into_iter().flat_map(|list| list.iter());
        let names: Vec<&str> = names.filter_map(|name| name.get_ref().as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// A conda package: `name = "2.1.*"` or `name = {version = "2.1.*", channel = "pytorch"}`.
    fn pixi(&self, name: &str, value: &Value<'_>) -> Option<Pin> {
        let field = |key: &str| Some(value.get_ref().get(key)?.get_ref().as_str()?.to_owned());
        let version = value
            .get_ref()
            .as_str()
            .map(str::to_owned)
            .or_else(|| field("version"))
            .unwrap_or_default();
        let version = version.trim_matches('*');
        let space = if version.starts_with(|c: char| c.is_ascii_digit()) {
            " "
        } else {
            ""
        };
        let build = field("build")
            .map(|build| format!(" {build}"))
            .unwrap_or_default();
        let found = pin::conda(&format!("{name}{space}{version}{build}"))?;
        Some(Pin {
            index: field("channel"),
            location: self.text.location(self.line(value.span())),
            ..found
        })
    }
}
