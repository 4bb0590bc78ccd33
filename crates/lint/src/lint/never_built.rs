//! Frameworks that are pinned for a CUDA or a Python that no build exists for: `lint.never_built`.

use super::distributions;
use super::facts::{Base, Pin, Stage};
use super::faults::NeverBuilt;
use super::marker::PYTHONS;
use super::ngc;
use super::pin_knowledge::PinKnowledge;
use super::pin_tables::{Release, distinct, is_in, is_major_minor, is_release};
use imgcheck_base::version::{first_numbers, newer, satisfies};
use imgcheck_model::finding::Severity;

/// The pins of all stages that have no build for their CUDA or Python.
pub fn all(stages: &[Stage], knowledge: &PinKnowledge) -> Vec<NeverBuilt> {
    let pinned: Vec<Pinned<'_>> = stages
        .iter()
        .flat_map(|stage| pinned(stage, knowledge))
        .collect();
    let for_cuda = pinned.iter().filter_map(|it| it.for_cuda(knowledge));
    let for_python = pinned.iter().flat_map(Pinned::for_pythons);
    let wheels = stages.iter().flat_map(for_other_pythons);
    let of_stages = |faults: fn(&Stage, &PinKnowledge) -> Vec<NeverBuilt>| {
        stages
            .iter()
            .flat_map(move |stage| faults(stage, knowledge))
    };
    for_cuda
        .chain(of_stages(never_released))
        .chain(of_stages(after_channel))
        .chain(of_stages(without_extra))
        .chain(for_python)
        .chain(wheels)
        .chain(of_stages(without_wheel))
        .chain(of_stages(refused_by_python))
        .collect()
}

/// Other packages that have neither a wheel for the Python of the stage nor a source distribution.
fn without_wheel(stage: &Stage, knowledge: &PinKnowledge) -> Vec<NeverBuilt> {
    let pins: Vec<&Pin> = stage.pins.iter().collect();
    let certain = pins.iter().filter(|pin| {
        let is_from_pypi = pin.manager == "pip" && pin.index.is_none();
        let version = pin.version.as_deref().unwrap_or_default();
        let is_judged_by_release =
            || knowledge.is_framework(pin) && !knowledge.releases_of(version).is_empty();
        is_from_pypi && !pin.conditional && !pin.constraint && !is_judged_by_release()
    });
    let fault = |pin: &&Pin| {
        let tags = knowledge.wheel_tags(pin).filter(|it| !it.sdist)?;
        let range = tags.python.as_ref()?;
        let mut own = pythons(stage, &pins, pin).into_iter();
        let of_project = || {
            let pythons = project_pythons(stage);
            let none_fits = pythons.iter().all(|it| !range.contains(it));
            pythons.into_iter().next().filter(|_| none_fits)
        };
        let python = own.find(|it| !range.contains(it)).or_else(of_project)?;
        Some(for_python(pin, &python, range.written()))
    };
    certain.filter_map(fault).collect()
}

/// A package that is for other Pythons than that of the stage.
fn for_python(pin: &Pin, python: &str, built_for: String) -> NeverBuilt {
    NeverBuilt::new("python", Severity::Error, pin, python, vec![built_for])
}

/// Partners of a framework that pip does not install for the Python of the stage (`Requires-Python`). Those that are released with the framework
/// have the Pythons of the framework.
fn refused_by_python(stage: &Stage, knowledge: &PinKnowledge) -> Vec<NeverBuilt> {
    let pins: Vec<&Pin> = stage.pins.iter().collect();
    let certain = pins.iter().filter(|pin| {
        let is_exact = pin.manager == "pip" && pin.specifier.starts_with("==");
        is_exact && !pin.conditional && !pin.constraint
    });
    let fault = |pin: &&Pin| {
        let partner = knowledge.partner(pin).filter(|it| !it.bound)?;
        let version = pin.version.as_deref()?;
        let mut rows = knowledge.requirements(partner).iter();
        let required = rows.find(|it| it.version == version)?.python.as_deref()?;
        let accepts = |python: &String, patch: u32| {
            satisfies(&format!("{python}.{patch}"), required) != Ok(Some(false))
        };
        let tags = knowledge.wheel_tags(pin).filter(|it| !it.sdist);
        let range = tags.and_then(|it| it.python.as_ref());
        let has_wheel = |python: &String| range.is_none_or(|it| it.contains(python));
        let mut own = pythons(stage, &pins, pin).into_iter();
        let is_refused = |it: &String| has_wheel(it) && !accepts(it, 0) && !accepts(it, 99);
        let python = own.find(is_refused)?;
        Some(for_python(pin, &python, required.to_owned()))
    };
    certain.filter_map(fault).collect()
}

/// Pins of a release that does not exist, though older and newer ones do.
fn never_released(stage: &Stage, knowledge: &PinKnowledge) -> Vec<NeverBuilt> {
    let certain = stage.pins.iter().filter(|pin| {
        let is_from_pypi = pin.manager == "pip" && pin.index.is_none() && pin.local.is_none();
        let is_exact = pin.text.contains("==") && !pin.conditional && !pin.constraint;
        is_from_pypi && is_exact && knowledge.is_framework(pin)
    });
    let fault = |pin: &Pin| {
        let version = pin.version.as_deref().filter(|it| is_release(it))?;
        let mut releases = knowledge.releases.iter().map(|it| it.version.as_str());
        let has_older = releases.clone().any(|it| newer(version, it) == Some(true));
        let has_newer = releases.any(|it| newer(it, version) == Some(true));
        let is_none = has_older && has_newer && knowledge.releases_of(version).is_empty();
        let line = format!("=={}.*", first_numbers(version, 2)?);
        let beside = knowledge.releases_satisfying(&line);
        let mut beside: Vec<String> = beside.into_iter().map(|it| it.version.clone()).collect();
        beside.sort();
        is_none.then(|| NeverBuilt::new("release", Severity::Error, pin, version, beside))
    };
    certain.filter_map(fault).collect()
}

/// Releases of the framework after the last one of its channel of conda. Unless the package names the channel, conda may find another build in its
/// default channel.
fn after_channel(stage: &Stage, knowledge: &PinKnowledge) -> Vec<NeverBuilt> {
    let conda = &knowledge.partners.conda;
    // An image of another channel takes the package from there.
    let is_other = |base: &Base| {
        let mut others = conda.other_channels.iter();
        others.any(|it| base.repository.contains(&it.replace('-', "")))
    };
    if stage.base.as_ref().is_some_and(is_other) {
        return Vec::new();
    }
    let pins = stage.pins.iter().filter(|pin| {
        let is_certain = pin.manager == "conda" && !pin.conditional && !pin.constraint;
        is_certain && knowledge.is_framework(pin) && knowledge.is_on_channel(pin)
    });
    let fault = |pin: &Pin| {
        let version = pin.version.as_deref().filter(|it| is_release(it))?;
        let severity = match pin.text.contains("::") {
            true => Severity::Error,
            false => Severity::Warning,
        };
        let last = vec![conda.to.clone()];
        (newer(version, &conda.to) == Some(true))
            .then(|| NeverBuilt::new("channel", severity, pin, version, last))
    };
    pins.filter_map(fault).collect()
}

/// Extras that a release no longer has: pip warns, and installs the package without them.
fn without_extra(stage: &Stage, knowledge: &PinKnowledge) -> Vec<NeverBuilt> {
    let exact = stage.pins.iter().filter(|pin| {
        let is_certain = pin.manager == "pip" && !pin.conditional && !pin.constraint;
        is_certain && pin.specifier.starts_with("==")
    });
    let faults = exact.flat_map(|pin| {
        let version = pin.version.as_deref().unwrap_or_default();
        let removed = knowledge.removed_extras(pin, version);
        removed.map(|row| {
            let instead = vec![row.instead.clone()];
            NeverBuilt::new("extra", Severity::Error, pin, &row.extra, instead)
        })
    });
    faults.collect()
}

/// Wheel files that do not fit the Python of the stage.
fn for_other_pythons(stage: &Stage) -> Vec<NeverBuilt> {
    let pins: Vec<&Pin> = stage.pins.iter().collect();
    let files = pins.iter().filter(|pin| !pin.conditional);
    let fault = |pin: &&Pin| {
        let own = pin.python.as_ref()?;
        let first = pythons(stage, &pins, pin).into_iter().next();
        let other = first.filter(|it| it != own)?;
        Some(NeverBuilt::new(
            "wheel",
            Severity::Error,
            pin,
            &other,
            vec![own.clone()],
        ))
    };
    files.filter_map(fault).collect()
}

/// A framework, and what it is installed for.
struct Pinned<'s> {
    pin: &'s Pin,
    /// The known releases of its version.
    releases: Vec<&'s Release>,
    /// The versions of the package that chooses its CUDA.
    toolkits: Vec<&'s str>,
    /// The Pythons that it is installed into, as `3.12`.
    pythons: Vec<String>,
    /// The Pythons that a project admits.
    project_pythons: Vec<String>,
    /// Whether it comes from an index or channel that the tables are about.
    is_of_publisher: bool,
}

fn pinned<'s>(stage: &'s Stage, knowledge: &'s PinKnowledge) -> Vec<Pinned<'s>> {
    let conda = &knowledge.partners.conda;
    let versioned = |pin: &&Pin| pin.version.is_some() && !pin.constraint;
    let pins: Vec<&Pin> = stage.pins.iter().filter(versioned).collect();
    let is_released = |pin: &&&Pin| {
        let index = pin.index.as_deref().unwrap_or_default();
        let is_release = pin.version.as_deref().is_some_and(is_release);
        knowledge.is_framework(pin) && is_release && !index.contains("/nightly")
    };
    let of_partner = bound_in_conda(&pins, knowledge);
    let frameworks = pins.iter().filter(is_released);
    let of_pin = |pin: &&'s Pin| {
        let releases = knowledge.releases_of(pin.version.as_deref()?);
        let toolkits = pins.iter().filter(|it| it.name == conda.toolkit);
        let beside = toolkits.filter(|it| it.command == pin.command);
        let toolkits: Vec<&str> = beside.filter_map(|it| it.version.as_deref()).collect();
        let is_of_publisher = match pin.manager == "conda" {
            true => !toolkits.is_empty() || knowledge.is_on_channel(pin),
            false => knowledge.is_on_index(pin),
        };
        (!releases.is_empty()).then_some(Pinned {
            pin,
            releases,
            toolkits,
            pythons: pythons(stage, &pins, pin),
            project_pythons: project_pythons(stage),
            is_of_publisher,
        })
    };
    frameworks.filter_map(of_pin).chain(of_partner).collect()
}

/// Packages of conda that are released with a framework, beside the package that chooses the CUDA and without the framework: each requires the framework of
/// its release, for that CUDA.
fn bound_in_conda<'s>(pins: &[&'s Pin], knowledge: &'s PinKnowledge) -> Vec<Pinned<'s>> {
    let of_pin = |pin: &&'s Pin| {
        let partner = knowledge.partner(pin).filter(|it| it.bound)?;
        let beside = pins.iter().filter(|it| it.command == pin.command);
        let beside: Vec<&&Pin> = beside.collect();
        let toolkits = beside
            .iter()
            .filter(|it| it.name == knowledge.partners.conda.toolkit);
        let toolkits: Vec<&str> = toolkits.filter_map(|it| it.version.as_deref()).collect();
        if toolkits.is_empty() || beside.iter().any(|it| knowledge.is_framework(it)) {
            return None;
        }
        let exact = format!("=={}", pin.version.as_deref()?);
        let rows = knowledge.requirements(partner).iter();
        let required = rows.filter(|it| is_in(&it.version, &exact));
        let required = distinct(required.filter_map(|it| it.framework.as_deref()));
        let [framework] = *required else { return None };
        let releases = knowledge.releases_satisfying(framework);
        (framework.starts_with("==") && !releases.is_empty()).then_some(Pinned {
            pin,
            releases,
            toolkits,
            pythons: Vec::new(),
            project_pythons: Vec::new(),
            is_of_publisher: true,
        })
    };
    let by_conda = pins.iter().filter(|pin| pin.manager == "conda");
    by_conda.filter_map(of_pin).collect()
}

/// The Pythons that conda installs into the environment of a package, that of the environment, or that of the base image or its
/// distribution, as `3.12`.
pub fn pythons(stage: &Stage, pins: &[&Pin], pin: &Pin) -> Vec<String> {
    let is_python = |it: &Pin| it.manager == "conda" && it.component == "python";
    let installed = pins.iter().filter(|it| is_python(it) && !it.conditional);
    let beside = installed.filter(|it| it.environment == pin.environment);
    let mut found: Vec<&str> = beside.filter_map(|it| it.version.as_deref()).collect();
    let named = stage.pythons.get(&pin.environment).map(String::as_str);
    found.extend(named.filter(|it| !it.is_empty() && pin.manager == "pip"));
    let is_default = pin.environment.is_empty() && !stage.pythons.contains_key("");
    if (is_default || named == Some("")) && pin.manager == "pip" {
        let base = stage.base.iter().filter(|base| base.is_python());
        let claims = base.flat_map(|base| &base.claims);
        let claimed = claims.filter(|claim| claim.subject == "python");
        found.extend(claimed.map(|claim| claim.version.as_str()));
        found.extend(
            stage
                .base
                .as_ref()
                .and_then(|it| ngc::version_of(it, "python")),
        );
        let distribution = stage.base.as_ref().filter(|_| stage.system_python);
        found.extend(distribution.and_then(distributions::python_of));
    }
    let minors = found.into_iter().filter_map(|it| first_numbers(it, 2));
    minors.filter(|it| is_major_minor(it)).collect()
}

/// The Pythons of a project, as `3.12`: all that its `requires-python` admits. Empty if it does not say.
fn project_pythons(stage: &Stage) -> Vec<String> {
    let required = stage.requires_python.as_str();
    let is_admitted = |python: &&&str| {
        let newest = format!("{python}.99");
        satisfies(&newest, required) != Ok(Some(false))
    };
    let pythons = PYTHONS.iter().filter(|_| !required.is_empty());
    pythons
        .filter(is_admitted)
        .map(|it| (*it).to_owned())
        .collect()
}

impl Pinned<'_> {
    /// A CUDA that the release has no build for, although an older or newer one may have.
    fn for_cuda(&self, knowledge: &PinKnowledge) -> Option<NeverBuilt> {
        let toolkits = self.toolkits.join(" ");
        let cuda = self.pin.cuda.as_deref().unwrap_or(&toolkits);
        let builds = cudas(self.releases.iter().copied());
        let all = cudas(&knowledge.releases);
        let is_known = all.iter().any(|it| newer(cuda, it) == Some(false));
        if !self.is_of_publisher || !is_major_minor(cuda) || builds.contains(&cuda) || !is_known {
            return None;
        }
        let is_outside = builds.iter().all(|it| newer(it, cuda) == Some(true))
            || builds.iter().all(|it| newer(cuda, it) == Some(true));
        let is_complete = self
            .releases
            .iter()
            .all(|it| it.variants_complete.is_some());
        let is_never_built =
            is_outside || !all.contains(&cuda) || (self.pin.manager == "pip" && is_complete);
        let is_only_source =
            self.pin.local.is_some() || self.pin.only_index || self.pin.manager == "conda";
        let severity = match is_only_source {
            true => Severity::Error,
            false => Severity::Warning,
        };
        let mut built_for: Vec<String> = builds.into_iter().map(str::to_owned).collect();
        built_for.sort();
        is_never_built.then(|| NeverBuilt::new("variant", severity, self.pin, cuda, built_for))
    }

    /// The Pythons that no release with this version supports.
    fn for_pythons(&self) -> Vec<NeverBuilt> {
        let is_judged = self.pin.manager != "conda" || self.is_of_publisher;
        if !is_judged || self.pin.conditional {
            return Vec::new();
        }
        let is_unsupported = |python: &&String| {
            self.releases.iter().all(|it| it.is_after(python))
                || self.releases.iter().all(|it| it.is_before(python))
        };
        let own = self.pythons.iter().filter(is_unsupported);
        // A project may be for a Python that no release supports, if there is another one for it.
        let of_project = self.project_pythons.iter();
        let first = of_project.clone().take(1);
        let first = first.filter(|_| of_project.clone().all(|it| is_unsupported(&it)));
        let unsupported = own.chain(first);
        let supported = distinct(self.releases.iter().flat_map(|it| it.supported()));
        unsupported
            .map(|python| {
                let supported = supported.clone();
                NeverBuilt::new("python", Severity::Error, self.pin, python, supported)
            })
            .collect()
    }
}

fn cudas<'r>(releases: impl IntoIterator<Item = &'r Release>) -> Vec<&'r str> {
    let variants = releases.into_iter().flat_map(|it| &it.variants);
    distinct(variants.map(|it| it.cuda.as_str()))
}

impl Release {
    /// Whether its first Python is newer than this one.
    fn is_after(&self, python: &str) -> bool {
        newer(&self.python.from, python) == Some(true)
    }

    /// Whether its last Python is older, and this one not tried in a preview.
    fn is_before(&self, python: &str) -> bool {
        let mut previews = self.python.experimental.iter();
        newer(python, &self.python.to) == Some(true) && !previews.any(|it| it.starts_with(python))
    }

    /// Its Pythons, for a reader; those without the GIL (`3.14t`) are left out.
    fn supported(&self) -> Vec<String> {
        let previews = self.python.experimental.iter();
        let previews = previews.filter(|it| !it.ends_with('t'));
        let range = format!("{} to {}", self.python.from, self.python.to);
        let previews = previews.map(|it| format!("{it} (a preview)"));
        [range].into_iter().chain(previews).collect()
    }
}
