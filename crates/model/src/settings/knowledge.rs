//! The table of settings, and what it says of an environment.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::faults::{Effect, Fault, Problem};
use super::installed::Installed;
use super::options::Key;
use super::releases::{include, is_before_release};
use super::values::{Names, Reader, Tables, Values};
use super::wrong::Wrong;
use imgcheck_base::excerpt::shortened;
use imgcheck_base::version::{self, is_until};

/// Maximum number of characters of a value that a message shows.
const SHOWN: usize = 80;

/// `rules/knowledge/settings.yaml`, which says what each field means.
#[derive(Debug)]
pub struct Settings {
    packages: Vec<Package>,
    settings: Vec<Setting>,
    tables: Tables,
}

/// The table as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsTable {
    packages: Vec<Package>,
    settings: Vec<Setting>,
    options: BTreeMap<String, Vec<Key>>,
    names: BTreeMap<String, Vec<Names>>,
}

/// `rules/knowledge/xla-flags.yaml`: the names of the flags, by the name of the table.
pub type NamesTable = BTreeMap<String, Vec<Names>>;

/// A package that reads variables.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Package {
    name: String,
    /// How messages name it, if `name` is only for the rows.
    shown: Option<String>,
    component: Option<String>,
    build: Option<String>,
    distributions: Vec<String>,
    beside: Vec<String>,
    /// Only if Python does not find these modules.
    without_modules: Vec<String>,
}

/// Some variables of a package.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    variables: Vec<String>,
    /// With this variable, the others are not read.
    unless: Option<String>,
    package: String,
    since: Option<String>,
    until: Option<String>,
    /// The newest release that was tried.
    tried: Option<String>,
    valid: Option<Values>,
    values: Option<Values>,
    #[serde(default)]
    fitting: Vec<String>,
    effect: Effect,
    #[serde(default)]
    when: String,
    #[serde(default)]
    says: String,
    malformed: Option<Malformed>,
    #[serde(rename = "confidence")]
    _confidence: String,
    #[serde(rename = "source")]
    _source: String,
}

/// What fails since a release if a part is not `OPTION:VALUE`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Malformed {
    since: String,
    when: String,
}

impl Settings {
    /// The settings, with the tables of names that have a file of their own.
    #[must_use]
    pub fn new(table: SettingsTable, more: NamesTable) -> Self {
        let mut names = table.names;
        names.extend(more);
        Settings {
            packages: table.packages,
            settings: table.settings,
            tables: Tables {
                options: table.options,
                names,
            },
        }
    }

    /// The variables of an environment that harm an installed package.
    pub fn faults(
        &self,
        environment: &BTreeMap<String, String>,
        installed: &dyn Installed,
    ) -> Vec<Fault> {
        let is_read = |row: &&Setting| {
            let other = row.unless.as_ref();
            !other.is_some_and(|other| environment.contains_key(other))
        };
        let of_row = |row: &Setting| {
            let set = row
                .variables
                .iter()
                .filter_map(|it| environment.get_key_value(it));
            let set: Vec<_> = set.collect();
            let version = match set.is_empty() {
                true => None,
                false => self.version(row, installed),
            };
            let faults = |version: &str| {
                let faults = set
                    .iter()
                    .filter_map(|(name, value)| self.fault(row, (name, value), version, installed));
                faults.collect::<Vec<_>>()
            };
            version.map(faults).unwrap_or_default()
        };
        self.settings
            .iter()
            .filter(is_read)
            .flat_map(of_row)
            .collect()
    }

    /// What a variable does to each package that reads it: to the installed version, or to all releases of a package that may be installed.
    pub fn faults_of(&self, variable: &str, value: &str, installed: &dyn Installed) -> Vec<Fault> {
        let is_named = |row: &&Setting| row.variables.iter().any(|it| it == variable);
        let of_row = |row: &Setting| {
            let version = self.version(row, installed);
            self.fault(
                row,
                (variable, value),
                version.unwrap_or_default(),
                installed,
            )
        };
        self.settings
            .iter()
            .filter(is_named)
            .filter_map(of_row)
            .collect()
    }

    /// The installed version of the package that reads the variables of a row.
    fn version<'i>(&self, row: &Setting, installed: &'i dyn Installed) -> Option<&'i str> {
        self.package(row)?.version(installed)
    }

    fn package(&self, row: &Setting) -> Option<&Package> {
        let mut packages = self.packages.iter();
        packages.find(|it| it.name == row.package)
    }

    /// What a value does to a version of a package. If the version is not known or no release, what it does to all releases.
    fn fault(
        &self,
        row: &Setting,
        (variable, value): (&str, &str),
        version: &str,
        installed: &dyn Installed,
    ) -> Option<Fault> {
        let others = self.package(row).map(|it| it.without_modules.as_slice());
        let mut others = others.unwrap_or_default().iter();
        if others.any(|it| installed.may_be_module(variable, it)) {
            return None;
        }
        let reader = |release| Reader {
            variable,
            release,
            tables: &self.tables,
            installed,
        };
        let releases = self.releases(row, version);
        let releases = releases.iter().filter(|it| row.is_of(it));
        let wrong = releases.map(|it| Some((it, row.wrong(value, &reader(it))?)));
        let (release, wrong) = wrong.collect::<Option<Vec<_>>>()?.pop()?;
        let fitting = match row.fitting.is_empty() {
            true => wrong.fitting,
            false => row.fitting.clone(),
        };
        Some(Fault {
            variable: variable.to_owned(),
            value: shortened(value, SHOWN),
            package: self.shown(row),
            version: version.to_owned(),
            effect: row.effect,
            when: row.when(wrong.problem, release).to_owned(),
            says: row.says.clone(),
            problem: wrong.problem,
            part: shortened(&wrong.part, SHOWN),
            option: wrong.option,
            fitting,
            certain: version.is_empty() || row.is_tried(version),
        })
    }

    /// The releases that a version may behave like: its own, or all that were tried.
    fn releases(&self, row: &Setting, version: &str) -> Vec<String> {
        let is_release = !version.is_empty() && !is_before_release(version);
        match is_release && (row.is_tried(version) || !row.is_of(version)) {
            true => vec![version.to_owned()],
            false => self.ends(row),
        }
    }

    /// How messages name the package of a row.
    fn shown(&self, row: &Setting) -> String {
        let shown = self.package(row).and_then(|it| it.shown.as_ref());
        shown.unwrap_or(&row.package).clone()
    }

    /// The variables whose values name directories that packages make.
    pub fn of_directories(&self) -> Vec<String> {
        self.variables_of(Values::are_directories)
    }

    /// The variables for which it matters whether a word is a module: of its value, and further ones.
    pub fn of_modules(&self) -> BTreeMap<String, Vec<String>> {
        let mut modules: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for variable in self.variables_of(Values::are_modules) {
            modules.entry(variable).or_default();
        }
        for row in &self.settings {
            let others = self.package(row).map(|it| it.without_modules.as_slice());
            let others = others.unwrap_or_default();
            for variable in row.variables.iter().filter(|_| !others.is_empty()) {
                let known = modules.entry(variable.clone()).or_default();
                known.extend(others.iter().cloned());
            }
        }
        modules
    }

    fn variables_of(&self, kind: impl Fn(&Values) -> bool) -> Vec<String> {
        let rows = self.settings.iter();
        let rows = rows.filter(|it| it.valid.as_ref().is_some_and(&kind));
        rows.flat_map(|it| it.variables.clone()).collect()
    }

    /// The releases at which a row or one of its options begins or ends, oldest first.
    fn ends(&self, row: &Setting) -> Vec<String> {
        let named = row.valid.iter().flat_map(|it| it.ends(&self.tables));
        let own = row.since.iter().chain(&row.until).chain(&row.tried);
        let mut ends: Vec<String> = named.chain(own).cloned().collect();
        // A row without releases holds for any.
        if ends.is_empty() {
            ends.push("0".to_owned());
        }
        ends.sort_by(|a, b| version::compare(a, b).unwrap_or(Ordering::Equal));
        ends.dedup();
        ends
    }
}

impl Setting {
    /// What is wrong with a value.
    fn wrong(&self, value: &str, reader: &Reader<'_>) -> Option<Wrong> {
        if let Some(values) = &self.values {
            let has_effect = values.wrong(value, reader).is_none();
            return has_effect.then(|| Wrong::new(Problem::Value, value, Vec::new()));
        }
        self.valid.as_ref()?.wrong(value, reader)
    }

    /// Whether a version is not newer than those that were tried.
    fn is_tried(&self, version: &str) -> bool {
        let tried = self.tried.as_deref();
        tried.is_none_or(|tried| is_until(version, tried))
    }

    /// What fails in a release.
    fn when(&self, problem: Problem, release: &str) -> &str {
        let malformed = self.malformed.as_ref();
        let malformed = malformed.filter(|it| version::is_since(release, &it.since));
        match malformed.filter(|_| problem == Problem::Malformed) {
            Some(malformed) => &malformed.when,
            None => &self.when,
        }
    }

    fn is_of(&self, version: &str) -> bool {
        include(self.since.as_deref(), self.until.as_deref(), version)
    }
}

impl Package {
    /// The version that an image has, which may be empty; `None` if it does not have the package.
    fn version<'i>(&self, installed: &'i dyn Installed) -> Option<&'i str> {
        let has = |name: &String| installed.distribution(name).is_some();
        if !self.beside.is_empty() && !self.beside.iter().any(has) {
            return None;
        }
        if let Some(component) = &self.component {
            let (version, build) = installed.component(component)?;
            let is_build = self.build.is_none() || self.build.as_deref() == build;
            return is_build.then_some(version);
        }
        let mut names = self.distributions.iter();
        names.find_map(|name| installed.distribution(name))
    }
}
