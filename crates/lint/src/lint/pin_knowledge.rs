//! What the tables say of packages that are pinned together: the releases of a framework, and what its partners require.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::Value;

use super::facts::{Base, Pin, Stage};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::version::{first_numbers, meets, satisfies};
use imgcheck_model::knowledge::{OnFirstUse, table};

/// The partners of a framework, with the tables that `rules/knowledge/partners.yaml` names.
#[derive(Debug)]
pub struct PinKnowledge {
    /// The partners themselves.
    pub partners: Partners,
    /// The releases of the framework, newest first.
    pub releases: Vec<Release>,
    /// What packages take from the system.
    pub needs: Vec<LibraryNeed>,
    /// What releases require of NVIDIA's packages.
    nvidia_pins: Vec<NvidiaPins>,
    /// By partner, what each of its releases requires, oldest first.
    requirements: HashMap<String, Vec<Requirement>>,
}

/// `rules/knowledge/partners.yaml`, which says what each field means.
#[derive(Debug, Deserialize)]
pub struct Partners {
    pub framework: String,
    releases: String,
    requirements: String,
    pub own_builds: String,
    pub official: String,
    pub libraries_outside_from: String,
    pub new_abi_from: String,
    index: String,
    pub index_address: String,
    pub toolkit_images: String,
    pub cuda_packages: Vec<String>,
    pub conda: Conda,
    partners: Vec<Partner>,
    pub libraries: Vec<Library>,
    pub compiler: Library,
    pub shared_files: Vec<SharedFiles>,
    base_images: Vec<BaseImages>,
    pub library_packages: Vec<LibraryPackage>,
    requires_framework: Vec<String>,
    plugins: Vec<Plugin>,
}

/// An extra of a package that installs a plugin of the same version, with an extra of that.
#[derive(Debug, Deserialize)]
struct Plugin {
    package: String,
    extra: String,
    plugin: String,
    plugin_extra: String,
}

/// What a release requires of NVIDIA's packages, with an extra or always.
#[derive(Debug, Deserialize)]
pub struct NvidiaPins {
    package: String,
    pub version: String,
    #[serde(default)]
    extra: String,
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
    channel: String,
    other_channels: Vec<String>,
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
    repositories: Vec<String>,
    has: Vec<String>,
    unnumbered: Option<Unnumbered>,
}

/// A library that a tag names without a number.
#[derive(Debug, Deserialize)]
struct Unnumbered {
    library: String,
    written: String,
    major: String,
}

/// Packages that install a library.
#[derive(Debug, Deserialize)]
pub struct LibraryPackage {
    pub library: String,
    manager: String,
    prefix: String,
    #[serde(default)]
    by_version: bool,
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
    /// METADATA says so, and not only the symbols of its libraries.
    pub is_declared: bool,
    /// With another framework it only loses a part.
    pub is_warning: bool,
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
    pypi_default: Option<Value>,
    pub source: String,
    /// The other keys: the version of each library.
    #[serde(flatten)]
    libraries: BTreeMap<String, Value>,
}

impl PinKnowledge {
    /// The built-in tables, which are read on first use.
    ///
    /// # Errors
    /// A table is broken, which the tests exclude.
    pub fn builtin() -> Result<&'static Self> {
        static KNOWLEDGE: OnFirstUse<PinKnowledge> = OnFirstUse::new();
        KNOWLEDGE.get_or_make(Self::read)
    }

    fn read() -> Result<Self> {
        #[derive(Deserialize)]
        struct Releases {
            releases: Vec<Release>,
        }
        let partners: Partners = table("partners")?;
        let lists: HashMap<String, Value> = table(&partners.requirements)?;
        let of_partner = |partner: &Partner| {
            let rows = lists.get(&partner.component).and_then(Value::as_array);
            let rows = rows.into_iter().flatten();
            let rows = rows.map(|row| Requirement::of_row(row, partner, &partners.framework));
            let rows: Option<Vec<Requirement>> = rows.collect();
            let problem = || Error::Rule {
                problem: format!("a row of {} has no version", partner.component),
            };
            Ok((partner.component.clone(), rows.ok_or_else(problem)?))
        };
        let requirements = partners.partners.iter().map(of_partner);
        let requirements = requirements.collect::<Result<_>>()?;
        let Releases { releases } = table(&partners.releases)?;
        let needs = rows(&lists, "needs")?;
        let nvidia_pins = rows(&lists, "nvidia_pins")?;
        Ok(PinKnowledge {
            needs,
            nvidia_pins,
            partners,
            releases,
            requirements,
        })
    }

    /// What a package requires of NVIDIA's packages with its extras, in all its releases.
    pub fn nvidia_pins(&self, pin: &Pin) -> impl Iterator<Item = &NvidiaPins> {
        let has = move |extra: &str| extra.is_empty() || pin.extras.iter().any(|it| it == extra);
        let plugin = move |row: &NvidiaPins| {
            let mut plugins = self.partners.plugins.iter();
            plugins.any(|it| {
                it.package == pin.name
                    && has(&it.extra)
                    && (&it.plugin, &it.plugin_extra) == (&row.package, &row.extra)
            })
        };
        let rows = self.nvidia_pins.iter();
        rows.filter(move |row| (row.package == pin.name && has(&row.extra)) || plugin(row))
    }

    /// Whether a package is a library that the framework requires in one version.
    pub fn is_required_library(&self, pin: &Pin) -> bool {
        let mut libraries = self.partners.libraries.iter();
        libraries.any(|it| it.component == pin.component)
    }

    /// Whether a package is the framework.
    pub fn is_framework(&self, pin: &Pin) -> bool {
        pin.component == self.partners.framework
    }

    /// The base image of a stage, unless a command removes its framework, which says that a replacement is intended.
    pub fn kept_base<'s>(&self, stage: &'s Stage) -> Option<&'s Base> {
        let framework = &self.partners.framework;
        let is_removed = stage.removed.iter().any(|it| it == framework || it == "*");
        stage.base.as_ref().filter(|_| !is_removed)
    }

    /// What is known of the images of a repository.
    pub fn base_images(&self, repository: &str) -> Option<&BaseImages> {
        let repository = repository.strip_prefix("library/").unwrap_or(repository);
        let mut rows = self.partners.base_images.iter();
        rows.find(|row| row.repositories.iter().any(|it| it == repository))
    }

    /// Whether a package of pip comes from PyPI or the publisher's index.
    pub fn is_on_index(&self, pin: &Pin) -> bool {
        let index = pin.index.as_deref().unwrap_or_default();
        index.is_empty() || index.contains(&self.partners.index)
    }

    /// Whether a package of conda comes from the publisher's channel.
    pub fn is_on_channel(&self, pin: &Pin) -> bool {
        let conda = &self.partners.conda;
        let index = pin.index.as_deref().unwrap_or_default();
        let is_whole = |at: usize| {
            let (before, after) = (&index[..at], &index[at + conda.channel.len()..]);
            (before.is_empty() || before.ends_with([' ', '/']))
                && (after.is_empty() || after.starts_with(','))
        };
        let mut named = index.match_indices(&conda.channel);
        let mut others = conda.other_channels.iter();
        named.any(|(at, _)| is_whole(at)) && !others.any(|it| index.contains(it))
    }

    /// The partner that a package is.
    pub fn partner(&self, pin: &Pin) -> Option<&Partner> {
        let mut partners = self.partners.partners.iter();
        partners.find(|partner| partner.component == pin.component)
    }

    /// Whether a package is a partner whose version decides which framework is installed.
    pub fn decides_framework(&self, pin: &Pin) -> bool {
        self.partner(pin).is_some_and(|it| it.newest || it.bound)
    }

    /// What the releases of a partner require.
    pub fn requirements(&self, partner: &Partner) -> &[Requirement] {
        let known = self.requirements.get(&partner.component);
        known.map_or(&[], Vec::as_slice)
    }

    /// The releases of a version such as `2.8`.
    pub fn releases_of(&self, version: &str) -> Vec<&Release> {
        let releases = self.releases.iter();
        let meeting = releases.filter(|it| meets(&it.version, version) == Some(true));
        meeting.collect()
    }

    /// The releases that satisfy a specifier.
    pub fn releases_satisfying(&self, specifier: &str) -> Vec<&Release> {
        let releases = self.releases.iter();
        releases.filter(|it| it.satisfies(specifier)).collect()
    }
}

/// The rows of a list of a table.
fn rows<T: serde::de::DeserializeOwned>(lists: &HashMap<String, Value>, key: &str) -> Result<T> {
    let rows = lists.get(key).cloned().unwrap_or_default();
    serde_json::from_value(rows).map_err(|error| Error::Rule {
        problem: format!("{key}: {error}"),
    })
}

impl Partners {
    /// Whether a package installs the framework, in any release.
    pub fn installs_framework(&self, pin: &Pin) -> bool {
        pin.manager == "pip" && self.requires_framework.contains(&pin.name)
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
    fn of_row(row: &Value, partner: &Partner, framework: &str) -> Option<Self> {
        let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Requirement {
            version: text(&partner.component)?,
            framework: text(framework),
            extra: text("extra").unwrap_or_default(),
            is_declared: row.get("below").or(row.get("above")).is_none(),
            is_warning: text("severity").is_some_and(|it| it == "warning"),
            source: text("source").unwrap_or_default(),
        })
    }
}

impl Release {
    /// Whether it satisfies a PEP 440 specifier; one that cannot be read is not satisfied.
    pub fn satisfies(&self, specifier: &str) -> bool {
        satisfies(&self.version, specifier) == Ok(Some(true))
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
