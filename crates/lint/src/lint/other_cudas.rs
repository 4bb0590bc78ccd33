//! Frameworks that are installed for a different CUDA than intended: `lint.other_cudas`.

use super::facts::{Pin, Stage};
use super::faults::OtherCuda;
use super::pin_knowledge::PinKnowledge;
use super::pin_tables::{Release, distinct, is_number, major};
use imgcheck_base::version::first_numbers;

/// The frameworks of all stages that are for a different CUDA than intended.
pub fn all(stages: &[Stage], knowledge: &PinKnowledge) -> Vec<OtherCuda> {
    let installed: Vec<Installed<'_>> = stages
        .iter()
        .flat_map(|stage| installed(stage, knowledge))
        .collect();
    let of_pypi = installed.iter().filter_map(Installed::of_pypi);
    let newest = installed.iter().filter_map(Installed::newest_of_all);
    let for_cpus = installed.iter().filter_map(Installed::for_cpus);
    let elsewhere = installed.iter().filter_map(|it| it.elsewhere(knowledge));
    let kept = installed.iter().filter_map(|it| it.kept(knowledge));
    let found = of_pypi
        .chain(newest)
        .chain(for_cpus)
        .chain(elsewhere)
        .chain(kept);
    found.collect()
}

/// A framework that pip installs.
struct Installed<'s> {
    stage: &'s Stage,
    pin: &'s Pin,
    /// The CUDA of the base image, if its tag names one.
    base: Option<String>,
    /// Whether another package decides its version.
    is_fixed: bool,
    /// The known releases that it may be, newest first.
    releases: Vec<&'s Release>,
}

fn installed<'s>(stage: &'s Stage, knowledge: &'s PinKnowledge) -> Vec<Installed<'s>> {
    let base = base_cuda(stage, knowledge);
    let is_installed = |pin: &&Pin| {
        let is_uncertain = pin.constraint || pin.conditional || pin.replaced || pin.present;
        knowledge.is_framework(pin) && pin.manager == "pip" && !is_uncertain
    };
    let pins = stage.pins.iter().filter(is_installed);
    let installed = pins.map(|pin| Installed {
        stage,
        pin,
        base: base.clone(),
        is_fixed: stage.pins.iter().any(|it| fixes(it, pin, knowledge)),
        releases: releases(pin, knowledge),
    });
    installed.filter(|it| !it.releases.is_empty()).collect()
}

/// The CUDA that the tag of an image with nothing but CUDA names; `None` if it names several.
pub fn base_cuda(stage: &Stage, knowledge: &PinKnowledge) -> Option<String> {
    let images = knowledge.partners.toolkit_images.as_str();
    let base = stage.base.as_ref();
    let base = base.filter(|base| base.repository.ends_with(images))?;
    let claims = base.claims.iter().filter(|it| it.subject == "cuda");
    let versions = claims.filter(|it| it.version.contains('.'));
    let cudas: Vec<String> = versions
        .filter_map(|it| first_numbers(&it.version, 2))
        .collect();
    <[String; 1]>::try_from(cudas).ok().map(|[cuda]| cuda)
}

/// Whether another package of the environment decides which framework is installed.
fn fixes(other: &Pin, pin: &Pin, knowledge: &PinKnowledge) -> bool {
    let requires = knowledge.decides_framework(other);
    let chooses = knowledge.is_framework(other) && (other.cuda.is_some() || other.constraint);
    other.version.is_some()
        && (requires || chooses)
        && other.environment == pin.environment
        && other.text != pin.text
}

fn releases<'k>(pin: &Pin, knowledge: &'k PinKnowledge) -> Vec<&'k Release> {
    match &pin.version {
        Some(version) => knowledge.releases_of(version),
        None if pin.specifier.is_empty() => knowledge.releases.iter().collect(),
        None if pin.specifier.starts_with(['<', '>', '!', '~']) => {
            knowledge.releases_satisfying(&pin.specifier)
        }
        None => Vec::new(),
    }
}

impl Installed<'_> {
    /// The build on PyPI for a different CUDA major than the base image has.
    fn of_pypi(&self) -> Option<OtherCuda> {
        let base = self.base.as_deref()?;
        let is_unlabelled = self.pin.cuda.is_none() && self.pin.index.is_none();
        if self.pin.version.is_none() || !is_unlabelled || self.is_fixed {
            return None;
        }
        let variants = self.releases.iter().flat_map(|it| it.pypi_variants());
        let cudas = distinct(variants.map(|it| it.cuda.as_str()));
        let is_other = cudas.iter().all(|it| major(it) != major(base));
        (is_other && !cudas.is_empty()).then(|| OtherCuda {
            built_for: cudas.into_iter().map(str::to_owned).collect(),
            ..self.found("pypi", base)
        })
    }

    /// An additional index that chooses nothing: pip takes the newest release of all indexes, and it has only older ones.
    fn newest_of_all(&self) -> Option<OtherCuda> {
        let cuda = self.pin.cuda.as_deref().filter(|it| it.contains('.'))?;
        let index = self.pin.index.as_deref()?;
        let is_exact = self.pin.local.is_some() || self.pin.version.is_some();
        if is_exact || self.pin.only_index || self.is_fixed || index.contains("/nightly") {
            return None;
        }
        let newest = self.releases.first()?;
        let is_built = newest.variants.iter().any(|it| it.cuda == cuda);
        let on_pypi: Vec<String> = newest.pypi_variants().map(|it| it.cuda.clone()).collect();
        (!is_built && !on_pypi.is_empty()).then(|| OtherCuda {
            built_for: on_pypi,
            release: newest.version.clone(),
            ..self.found("extra", cuda)
        })
    }

    /// A build for CPUs in an image that has CUDA.
    fn for_cpus(&self) -> Option<OtherCuda> {
        let base = self.base.as_deref()?;
        let is_for_cpus = self.pin.cuda.as_deref() == Some("cpu");
        (self.stage.shipped && is_for_cpus && self.pin.environment.is_empty())
            .then(|| self.found("cpu", base))
    }

    /// An address below the publisher's indexes that is not an index itself: those have names like `cu126`.
    fn elsewhere(&self, knowledge: &PinKnowledge) -> Option<OtherCuda> {
        let index = self.pin.index.as_deref()?;
        let scheme = index.strip_prefix("https://");
        let address = scheme.or_else(|| index.strip_prefix("http://"))?;
        let path = address.strip_prefix(&knowledge.partners.index_address)?;
        let channel = path.strip_prefix("nightly/");
        let path = channel
            .or_else(|| path.strip_prefix("test/"))
            .unwrap_or(path);
        let mut numbers = path.strip_suffix('/').unwrap_or(path).split('.');
        numbers.all(is_number).then(|| self.found("path", ""))
    }

    /// The framework of the base image, which pip keeps: it meets the requirement, whatever CUDA it is for.
    fn kept(&self, knowledge: &PinKnowledge) -> Option<OtherCuda> {
        let base = knowledge.kept_base(self.stage)?;
        let claim = |subject: &str| {
            let mut claims = base.claims.iter();
            claims
                .find(|it| it.subject == subject)
                .map(|it| it.version.as_str())
        };
        let pin = self.pin;
        let is_kept = pin.environment.is_empty()
            && !pin.upgrade
            && pin.local.is_none()
            && pin.version.is_some()
            && claim(&knowledge.partners.framework) == pin.version.as_deref();
        let (cuda, own) = (pin.cuda.as_deref()?, claim("cuda")?);
        let is_other = first_numbers(own, 2).as_deref() != Some(cuda);
        (is_kept && is_other).then(|| OtherCuda {
            built_for: vec![own.to_owned()],
            ..self.found("kept", cuda)
        })
    }

    fn found(&self, kind: &str, intended: &str) -> OtherCuda {
        let is_built = |it: &&&Release| {
            let mut variants = it.variants.iter();
            variants.any(|it| it.cuda == intended && it.status != "unknown")
        };
        let builds = self.releases.iter().filter(is_built);
        OtherCuda {
            kind: kind.to_owned(),
            name: self.pin.name.clone(),
            pin: self.pin.clone(),
            intended: intended.to_owned(),
            built_for: Vec::new(),
            release: String::new(),
            builds: builds.map(|it| it.version.clone()).collect(),
            location: self.pin.location.clone(),
        }
    }
}
