//! The rows of the tables that pins are compared with: `rules/knowledge/partners.yaml`, `pytorch.yaml` and `frameworks.yaml` say what each
//! field means.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::facts::Pin;
use imgcheck_base::version::{first_numbers, newer, satisfies};

/// `rules/knowledge/partners.yaml`, which says what each field means.
#[derive(Debug, Deserialize)]
pub struct Partners {
    pub framework: String,
    pub releases: String,
    pub requirements: String,
    pub own_builds: String,
    pub official: String,
    pub libraries_outside_from: String,
    pub new_abi_from: String,
    pub index: String,
    pub index_address: String,
    pub toolkit_images: String,
    pub cuda_packages: Vec<String>,
    pub conda: Conda,
    pub partners: Vec<Partner>,
    pub libraries: Vec<Library>,
    pub compiler: Library,
    pub shared_files: Vec<SharedFiles>,
    pub base_images: Vec<BaseImages>,
    pub library_packages: Vec<LibraryPackage>,
    pub requires_framework: Vec<String>,
    pub not_on_index: Vec<String>,
    pub plugins: Vec<Plugin>,
}

/// An extra of a package that installs a plugin of the same version, with an extra of that.
#[derive(Debug, Deserialize)]
pub struct Plugin {
    pub package: String,
    pub extra: String,
    pub plugin: String,
    pub plugin_extra: String,
}

/// For which Pythons releases of a package have wheels for Linux on PyPI.
#[derive(Debug, Deserialize)]
pub struct WheelTags {
    pub package: String,
    pub releases: String,
    pub python: Option<PythonRange>,
    /// Whether there is a source distribution, too.
    pub sdist: bool,
}

/// An extra that releases of a package no longer have, and the one to use instead.
#[derive(Debug, Deserialize)]
pub struct RemovedExtra {
    pub package: String,
    pub extra: String,
    pub releases: String,
    pub instead: String,
}

/// The CUDA releases that a package has a library for; it loads the one for the CUDA of the framework.
#[derive(Debug, Deserialize)]
pub struct CudaBuilds {
    pub package: String,
    pub releases: String,
    pub cuda: Vec<String>,
    /// The variable that names another one.
    pub unless: String,
    pub source: String,
}

/// What a package compares of the CUDA of the framework with its own before it goes on.
#[derive(Debug, Deserialize)]
pub struct CudaCheck {
    pub package: String,
    pub releases: String,
    /// `major`, or `minor` for both.
    pub compares: String,
}

impl CudaBuilds {
    /// Whether there is a library for a CUDA.
    pub fn has(&self, cuda: &str) -> bool {
        self.cuda.iter().any(|it| it == cuda)
    }
}

/// A range of releases of Python, both included; `to` is absent if it is open.
#[derive(Debug, Deserialize)]
pub struct PythonRange {
    pub from: String,
    pub to: Option<String>,
}

/// What a release requires of NVIDIA's packages, with an extra or always.
#[derive(Debug, Deserialize)]
pub struct NvidiaPins {
    pub package: String,
    pub version: String,
    #[serde(default)]
    pub extra: String,
    pub pins: Vec<NvidiaPin>,
    #[serde(default)]
    pub source: String,
}

/// A requirement on one of NVIDIA's packages.
#[derive(Debug, Deserialize)]
pub struct NvidiaPin {
    pub package: String,
    pub specifier: String,
}

/// Where conda finds the framework.
#[derive(Debug, Deserialize)]
pub struct Conda {
    pub channel: String,
    pub other_channels: Vec<String>,
    pub toolkit: String,
    pub from: String,
    pub to: String,
}

/// A package that is built for one release of the framework.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Partner {
    pub component: String,
    pub bound: bool,
    pub newest: bool,
    pub requires_exactly: bool,
    pub undeclared: bool,
    pub extras: BTreeMap<String, String>,
}

/// A distribution that wheels of the framework require in one version.
#[derive(Debug, Deserialize)]
pub struct Library {
    #[serde(default)]
    pub component: String,
    pub distribution: String,
    pub known_by: String,
}

/// Images whose tags tell which libraries they have.
#[derive(Debug, Deserialize)]
pub struct BaseImages {
    pub repositories: Vec<String>,
    pub has: Vec<String>,
    pub unnumbered: Option<Unnumbered>,
    #[serde(default)]
    pub pythons: Vec<OldestPython>,
}

/// The oldest Python of the images `from` a release of the framework on.
#[derive(Debug, Deserialize)]
pub struct OldestPython {
    pub from: String,
    pub python: String,
}

/// A library that a tag names without a number.
#[derive(Debug, Deserialize)]
pub struct Unnumbered {
    pub library: String,
    pub written: String,
    pub major: String,
}

/// Packages that install a library.
#[derive(Debug, Deserialize)]
pub struct LibraryPackage {
    pub library: String,
    pub manager: String,
    pub prefix: String,
    #[serde(default)]
    pub by_version: bool,
}

/// The majors of CUDA and cuDNN that releases of a package take from the system.
#[derive(Debug, Deserialize)]
pub struct LibraryNeed {
    pub package: String,
    pub releases: String,
    pub cuda: Option<String>,
    pub cudnn: Option<String>,
    /// Extras that bring them.
    #[serde(default)]
    pub brought_by: Vec<String>,
    /// It is of no use without GPU.
    #[serde(default)]
    pub gpu_only: bool,
    /// It goes on without GPU, and is often meant to.
    #[serde(default)]
    pub optional: bool,
    /// What the user sees.
    pub shown: String,
}

/// Distributions for several CUDA majors with files of the same names.
#[derive(Debug, Deserialize)]
pub struct SharedFiles {
    pub distributions: Vec<String>,
    pub majors: Vec<String>,
    pub source: String,
}

/// What one release of a partner requires.
#[derive(Debug)]
pub struct Requirement {
    pub version: String,
    /// The specifier of the framework; `None` if it requires none.
    pub framework: Option<String>,
    /// The extra that requires it; empty if all installations do.
    pub extra: String,
    /// The specifier of the frameworks that it can be loaded with; wider than what its publisher allows.
    pub loads_with: Option<String>,
    /// The specifier of the Pythons that pip installs it for (`Requires-Python`); `None` if it is not known.
    pub python: Option<String>,
    /// METADATA says so, and not only the symbols of its libraries.
    pub is_declared: bool,
    /// With another framework it only loses a part.
    pub is_warning: bool,
    /// By partner, the specifier of its releases.
    pub partners: BTreeMap<String, String>,
    pub source: String,
}

/// A release of the framework.
#[derive(Debug, Deserialize)]
pub struct Release {
    pub version: String,
    pub python: Pythons,
    pub variants: Vec<Variant>,
    /// Present if there are no other variants.
    pub variants_complete: Option<Value>,
    /// The wheel on PyPI.
    pub pypi_default: Option<BTreeMap<String, Value>>,
}

/// The Pythons of a release.
#[derive(Debug, Deserialize)]
pub struct Pythons {
    pub from: String,
    pub to: String,
    /// Pythons with a preview.
    #[serde(default)]
    pub experimental: Vec<String>,
}

/// A build of a release for one CUDA.
#[derive(Debug, Deserialize)]
pub struct Variant {
    pub cuda: String,
    pub status: String,
    #[serde(default)]
    pub confidence: String,
    /// Present if it is the wheel on PyPI.
    pub pypi_default: Option<Value>,
    pub source: String,
    /// The other keys: the version of each library.
    #[serde(flatten)]
    pub libraries: BTreeMap<String, Value>,
}

impl Partners {
    /// Whether a package installs the framework, in any release.
    pub fn installs_framework(&self, pin: &Pin) -> bool {
        pin.manager == "pip" && self.requires_framework.contains(&pin.name)
    }
}

impl PythonRange {
    /// Whether a release of Python, as `3.10`, is in it.
    pub fn contains(&self, python: &str) -> bool {
        let is_after = self
            .to
            .as_deref()
            .is_some_and(|to| newer(python, to) == Some(true));
        newer(&self.from, python) != Some(true) && !is_after
    }

    /// As people write it: `3.8 to 3.11`.
    pub fn written(&self) -> String {
        match &self.to {
            Some(to) if *to == self.from => to.clone(),
            Some(to) => format!("{} to {to}", self.from),
            None => format!("{} or later", self.from),
        }
    }
}

impl BaseImages {
    /// Whether all of them have a library.
    pub fn has(&self, library: &str) -> bool {
        self.has.iter().any(|it| it == library)
    }

    /// The major of a library that a reference names without a number.
    pub fn unnumbered(&self, library: &str, reference: &str) -> Option<&str> {
        let row = self.unnumbered.as_ref()?;
        let is_named = row.library == library && reference.contains(&row.written);
        is_named.then_some(&row.major)
    }
}

impl LibraryNeed {
    /// The major that it needs of `cuda` or `cudnn`.
    pub fn major(&self, library: &str) -> Option<&str> {
        match library {
            "cuda" => self.cuda.as_deref(),
            _ => self.cudnn.as_deref(),
        }
    }
}

impl LibraryPackage {
    /// What follows the prefix in the name of a package; `None` for another one.
    fn number<'p>(&self, pin: &'p Pin) -> Option<&'p str> {
        let rest = pin.name.strip_prefix(&self.prefix)?;
        let end = rest.find(|c: char| !c.is_ascii_digit());
        let number = &rest[..end.unwrap_or(rest.len())];
        let is_whole = rest.is_empty() || !number.is_empty();
        (pin.manager == self.manager && is_whole).then_some(number)
    }

    /// Whether a package is one.
    pub fn is(&self, pin: &Pin) -> bool {
        self.number(pin).is_some()
    }

    /// The major of the library that a package installs, if it is known.
    pub fn major<'p>(&self, pin: &'p Pin) -> Option<&'p str> {
        match self.by_version {
            true => pin.version.as_deref().map(major),
            false => self.number(pin).filter(|it| !it.is_empty()),
        }
    }
}

impl Requirement {
    pub fn of_row(row: &Value, partner: &Partner, table: &Partners) -> Option<Self> {
        let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
        let framework = table.framework.as_str();
        let others = table.partners.iter().map(|it| &it.component);
        let others = others.filter(|it| **it != partner.component);
        Some(Requirement {
            version: text(&partner.component)?,
            framework: text("documented").or_else(|| text(framework)),
            partners: others
                .filter_map(|it| Some((it.clone(), text(it)?)))
                .collect(),
            loads_with: text("documented").and_then(|_| text(framework)),
            extra: text("extra").unwrap_or_default(),
            python: text("python"),
            is_declared: row.get("below").or(row.get("above")).is_none(),
            is_warning: text("severity").is_some_and(|it| it == "warning"),
            source: text("source").unwrap_or_default(),
        })
    }
}

impl Release {
    /// Whether it satisfies a PEP 440 specifier; one that cannot be read is not satisfied.
    pub fn satisfies(&self, specifier: &str) -> bool {
        is_in(&self.version, specifier)
    }

    /// What the wheel on PyPI has of a key.
    pub fn on_pypi(&self, key: &str) -> Option<&Value> {
        self.pypi_default.as_ref()?.get(key)
    }

    /// The builds that are on PyPI.
    pub fn pypi_variants(&self) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(|it| it.is_on_pypi())
    }
}

impl Variant {
    /// Whether it is the wheel on PyPI.
    pub fn is_on_pypi(&self) -> bool {
        self.pypi_default.is_some()
    }

    /// The version of a library that it requires; `unknown` and `none` are words of the table.
    pub fn library(&self, key: &str) -> Option<&str> {
        self.libraries.get(key)?.as_str()
    }
}

/// Whether a version is certainly in the range of a PEP 440 specifier; one that cannot be read has none.
pub fn is_in(version: &str, specifier: &str) -> bool {
    satisfies(version, specifier) == Ok(Some(true))
}

/// Whether a version has nothing but release numbers, as `2.8.0`.
pub fn is_release(version: &str) -> bool {
    first_numbers(version, usize::MAX).is_some_and(|it| it == version)
}

/// Whether a text has nothing but digits.
pub fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a version is two numbers, as `12.8`.
pub fn is_major_minor(version: &str) -> bool {
    let parts = version.split_once('.');
    parts.is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// The first number of a version as text: `12` of `12.8`.
pub fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or_default()
}

/// Each value once, in order.
pub fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}
