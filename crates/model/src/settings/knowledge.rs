//! The table of settings, and what it says of an environment.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::faults::{Effect, Fault, Problem};
use super::installed::Installed;
use super::options::Key;
use super::releases::{include, is_before_release, is_until};
use super::values::Values;
use super::wrong::Wrong;
use imgcheck_base::excerpt::shortened;
use imgcheck_base::version;

/// Maximum number of characters of a value that a message shows.
const SHOWN: usize = 80;

/// `rules/knowledge/settings.yaml`, which says what each field means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    packages: Vec<Package>,
    settings: Vec<Setting>,
    options: BTreeMap<String, Vec<Key>>,
}

/// A package that reads variables.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Package {
    name: String,
    component: Option<String>,
    build: Option<String>,
    distributions: Vec<String>,
    beside: Vec<String>,
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
    /// The variables of an environment that harm an installed package.
    pub fn faults(
        &self,
        environment: &BTreeMap<String, String>,
        installed: &impl Installed,
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
                    .filter_map(|(name, value)| self.fault(row, name, value, version));
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
    pub fn faults_of(&self, variable: &str, value: &str, installed: &impl Installed) -> Vec<Fault> {
        let is_named = |row: &&Setting| row.variables.iter().any(|it| it == variable);
        let of_row = |row: &Setting| {
            let version = self.version(row, installed);
            self.fault(row, variable, value, version.unwrap_or_default())
        };
        self.settings
            .iter()
            .filter(is_named)
            .filter_map(of_row)
            .collect()
    }

    /// The installed version of the package that reads the variables of a row.
    fn version<'i>(&self, row: &Setting, installed: &'i impl Installed) -> Option<&'i str> {
        let package = self.packages.iter().find(|it| it.name == row.package)?;
        package.version(installed)
    }

    /// What a value does to a version of a package. If the version is not known or no release, what it does to all releases.
    fn fault(&self, row: &Setting, variable: &str, value: &str, version: &str) -> Option<Fault> {
        let releases = self.releases(row, version);
        let releases = releases.iter().filter(|it| row.is_of(it));
        let wrong = releases.map(|release| Some((release, self.wrong(row, value, release)?)));
        let (release, wrong) = wrong.collect::<Option<Vec<_>>>()?.pop()?;
        let fitting = match row.fitting.is_empty() {
            true => wrong.fitting,
            false => row.fitting.clone(),
        };
        Some(Fault {
            variable: variable.to_owned(),
            value: shortened(value, SHOWN),
            package: row.package.clone(),
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

    /// What is wrong with a value for a release.
    fn wrong(&self, row: &Setting, value: &str, release: &str) -> Option<Wrong> {
        if let Some(values) = &row.values {
            let has_effect = values.wrong(value, release, &self.options).is_none();
            return has_effect.then(|| Wrong::new(Problem::Value, value, Vec::new()));
        }
        row.valid.as_ref()?.wrong(value, release, &self.options)
    }

    /// The releases at which a row or one of its options begins or ends, oldest first.
    fn ends(&self, row: &Setting) -> Vec<String> {
        let table = row.valid.as_ref().and_then(|it| it.options.as_ref());
        let keys = table
            .and_then(|it| self.options.get(it))
            .into_iter()
            .flatten();
        let own = row.since.iter().chain(&row.until).chain(&row.tried);
        let mut ends: Vec<String> = keys.flat_map(Key::ends).chain(own).cloned().collect();
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
    fn version<'i>(&self, installed: &'i impl Installed) -> Option<&'i str> {
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
