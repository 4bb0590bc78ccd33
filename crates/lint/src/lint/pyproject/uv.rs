//! Settings of uv that change what the requirements of a project mean: <https://docs.astral.sh/uv/reference/settings/>.

use toml::de::DeValue;

use super::super::facts::Pin;
use super::super::pin;
use super::reader::Reader;
use imgcheck_base::version::requirement::normalized;

/// The settings; of a project that uv does not install, none.
#[derive(Default)]
pub struct Settings {
    /// `override-dependencies`: packages that uv takes as these say, whatever requires them.
    overridden: Vec<String>,
    /// `exclude-newer`, `constraint-dependencies`: a package without a version may not be the newest release.
    may_be_older: bool,
    /// `no-build-isolation`.
    no_isolation: bool,
    /// `no-build-isolation-package`, which uv builds after all others, and `extra-build-dependencies`.
    prepared: Vec<String>,
}

impl Settings {
    /// The settings of a project.
    pub fn of(reader: &Reader<'_>) -> Self {
        if !reader.uv {
            return Settings::default();
        }
        let texts = |key: &str| {
            let list = reader.get(&["tool", "uv", key]).and_then(DeValue::as_array);
            let items = list.into_iter().flat_map(|it| it.iter());
            items.filter_map(|it| it.get_ref().as_str())
        };
        let overrides = texts("override-dependencies");
        let overrides = overrides.filter_map(|it| pin::python(it).ok().flatten());
        let extra = reader.table(&["tool", "uv", "extra-build-dependencies"]);
        let prepared = texts("no-build-isolation-package").chain(extra.map(|(name, _)| name));
        Settings {
            overridden: overrides.map(|it| it.name).collect(),
            may_be_older: ["exclude-newer", "constraint-dependencies"]
                .iter()
                .any(|key| reader.get(&["tool", "uv", key]).is_some()),
            no_isolation: matches!(
                reader.get(&["tool", "uv", "no-build-isolation"]),
                Some(DeValue::Boolean(true))
            ),
            prepared: prepared.map(normalized).collect(),
        }
    }

    /// Notes them in a package.
    pub fn apply(&self, pin: &mut Pin) {
        pin.override_by(&self.overridden);
        pin.conditional |= self.may_be_older && pin.version.is_none();
        pin.prepared |= self.no_isolation || self.prepared.contains(&pin.name);
    }
}
